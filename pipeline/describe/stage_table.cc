#include "infeed/describe/stage_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "describe/json.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed::describe {
namespace {

std::string_view to_string(StageRole role) {
  switch (role) {
    case StageRole::source:
      return "source";
    case StageRole::stage:
      return "stage";
    case StageRole::joins:
      return "joins";
    case StageRole::gathers:
      return "gathers";
  }
  return "";
}

}  // namespace

std::shared_ptr<void> Making::object(const ObjectId& id) const {
  if (const auto found = objects.find(id.id); found != objects.end()) return found->second;
  throw Error(ErrorCode::not_found,
              fmt::format("the function '{}' isn't here: JSON can't hold it; describe the pipeline "
                          "in the program that has it, or unpickle it",
                          id.id));
}

const StageKind& StageTable::kind(const std::string& name, const std::string& place) const {
  std::vector<std::string> names;
  for (const auto& kind : kinds_) {
    if (kind->name == name) return *kind;
    names.push_back(kind->name);
  }
  const auto nearest = detail::names_by_distance(names, name);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}.stage is '{}', which is no stage{}; there are {}", place, name,
                          detail::did_you_mean(nearest, name), fmt::join(names, ", ")));
}

std::string StageTable::to_json() const {
  Json list = Json::array();
  for (const auto& kind : kinds_) {
    Json options = Json::array();
    for (const StageOption& option : kind->options) {
      Json shown{{"name", option.name}, {"type", option.type}, {"doc", option.doc}};
      if (!option.is_required) shown["default"] = parsed(option.preset);
      options.push_back(std::move(shown));
    }
    list.push_back(Json{{"name", kind->name},
                        {"doc", kind->doc},
                        {"role", to_string(kind->role)},
                        {"options", std::move(options)}});
  }
  return list.dump();
}

StageTable native_stages() {
  StageTable table;
  add_record_sources(table);
  add_text_sources(table);
  add_other_sources(table);
  add_stream_stages(table);
  add_batch_stages(table);
  add_row_stages(table);
  add_bucket_stage(table);
  add_leave_out(table);
  add_cache_stages(table);
  add_combining_stages(table);
  add_interleave(table);
  add_column_functions(table);
  add_image_functions(table);
  return table;
}

}  // namespace infeed::describe
