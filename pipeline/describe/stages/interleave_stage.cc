#include <fmt/format.h>

#include <infeed/pipeline/interleave.h>

#include "describe/json.h"
#include "describe/stages/stages.h"
#include "infeed/describe/description.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct InterleaveStage : InterleaveOptions {
  Json each = Json::array();
};

/// Describes the pipeline of one file: `each`, whose source gets the file.
class EachFile {
 public:
  EachFile(Json each, std::shared_ptr<const StageTable> table, std::string place)
      : each_(std::move(each)), table_(std::move(table)), place_(std::move(place)) {
    if (!each_.is_array() || each_.empty() || !each_.front().is_object()) {
      refuse_value(place_, text_of(each_),
                   "a list of stages that begins with a source without \"files\"");
    }
    if (each_.front().contains("files")) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}[0].files is set; interleave gives each source its file", place_));
    }
    // The threads of interleave read the files; more in each would get in their way.
    if (each_.front()["stage"] == "records") {
      each_.front().emplace("parallelism", 1);
    }
  }

  Elements of(const std::string& file) const {
    Json stages = each_;
    stages.front()["files"] = Json::array({file});
    try {
      return Description::from_json(Json{{"stages", stages}}.dump(), table_).elements();
    } catch (const Error& error) {
      throw error.reworded(error.code(), with_own_places(error.message()));
    }
  }

 private:
  /// Returns the message with places in `each`: "$.stages[0]" is that of the description made of it.
  std::string with_own_places(std::string message) const {
    constexpr std::string_view kStages = "$.stages";
    for (std::size_t at = 0; (at = message.find(kStages, at)) != message.npos;
         at += place_.size()) {
      message.replace(at, kStages.size(), place_);
    }
    return message;
  }

  Json each_;
  std::shared_ptr<const StageTable> table_;
  std::string place_;
};

Elements interleaved(const InterleaveStage& stage, const Making& making) {
  const auto* files = std::get_if<Dataset<std::string>>(&making.input().dataset);
  if (files == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("interleave: it takes names of files, as files gives them, but its "
                            "input gives elements of the kind '{}'",
                            to_string(making.input().kind())));
  }
  const EachFile each(stage.each, std::make_shared<const StageTable>(making.table),
                      making.place + ".each");
  // A list of names may name a file that isn't there, so the kind of elements is known beforehand.
  const Elements like = each.of("any file");
  return std::visit(
      [&]<class T>(const Dataset<T>&) {
        const auto describe = [each](const std::string& file) {
          return std::get<Dataset<T>>(each.of(file).dataset);
        };
        return Elements{.dataset = *files | interleave(describe, stage),
                        .to_parse = like.to_parse,
                        .kept = like.kept,
                        .are_rows = like.are_rows,
                        .files = making.input().files,
                        .columns = like.columns};
      },
      like.dataset);
}

}  // namespace

template <>
struct OptionValue<Json> {
  static std::string type() { return "Callable[[str], Dataset]"; }
  static JsonText write(const Json& value) { return text_of(value); }
  static Json read(const JsonText& value, const std::string&) { return parsed(value); }
};

void add_interleave(StageTable& table) {
  InterleaveStage preset;
  preset.parallelism = autotune;
  table.add("interleave", "Reads several files at once and mixes their elements.", preset)
      .required("each", &InterleaveStage::each,
                "The pipeline of one file: a source without its files, and more stages.")
      .option("cycle_length", &InterleaveStage::cycle_length, "Files read side by side.")
      .option("block_length", &InterleaveStage::block_length,
              "Elements taken from one file before the next one's turn.")
      .tuned("parallelism", &InterleaveStage::parallelism, "Threads that read ahead.")
      .option("ordered", &InterleaveStage::ordered,
              "If false, elements come as they are ready: not repeatable.")
      .option("seed_by_position", &InterleaveStage::seed_by_position,
              "Whether inner stages draw by the file's position.")
      .makes(interleaved);
}

}  // namespace infeed::describe
