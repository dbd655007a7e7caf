#include "describe/stages/column_stage.h"

#include <algorithm>
#include <fmt/format.h>

#include "infeed/error.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed::describe {

ColumnSchema selected(const ColumnSchema& schema, const std::vector<std::string>& names) {
  ColumnSchema result;
  for (const std::string& name : names) {
    const auto& types = schema.columns();
    const auto found = std::find_if(types.begin(), types.end(),
                                    [&](const ColumnType& type) { return type.name == name; });
    if (found == types.end()) {
      std::vector<std::string> known;
      for (const ColumnType& type : types) known.push_back(type.name);
      const auto nearest = detail::names_by_distance(known, name);
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there is no column '{}'{}; there are {}", name,
                              detail::did_you_mean(nearest, name), detail::quoted_names(known)));
    }
    result.add(*found);
  }
  return result;
}

}  // namespace infeed::describe
