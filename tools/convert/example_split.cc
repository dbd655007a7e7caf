#include "convert/example_split.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <vector>

#include <infeed/error.h>

#include "convert/example_order.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

/// Returns the same key for the same values, and another one for any others.
std::string value_key(const FeatureView& view) {
  std::string key(to_string(view.kind()));
  const auto add_number = [&key](const auto value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  switch (view.kind()) {
    case FeatureKind::bytes: {
      std::vector<std::string_view> values;
      view.append_bytes(values);
      for (const std::string_view value : values) {
        add_number(std::uint64_t{value.size()});
        key += value;
      }
      break;
    }
    case FeatureKind::integers: {
      std::vector<std::int64_t> values;
      view.append_integers(values);
      for (const std::int64_t value : values) add_number(value);
      break;
    }
    case FeatureKind::floats: {
      std::vector<float> values;
      view.append_floats(values);
      for (const float value : values) add_number(value);
      break;
    }
  }
  return key;
}

}  // namespace

ExampleSplit::ExampleSplit(const ConvertOptions& options)
    : part_(options.part),
      validation_share_(options.validation_share),
      column_(options.split_column),
      parser_(column_.empty() ? std::vector<std::string>() : std::vector<std::string>{column_}) {}

bool ExampleSplit::takes_name(std::string_view name) const {
  return takes_all() ||
         is_for_validation(name, validation_share_) == (part_ == SplitPart::validation);
}

bool ExampleSplit::takes_example(std::string_view name, std::string_view example) const {
  std::vector<FeatureView> views(1);
  try {
    parser_.parse(example, views);
    const bool has_value = views[0].is_present() && views[0].count() > 0;
    return takes_name(has_value ? value_key(views[0]) : std::string(name));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data_loss) throw;
    return takes_name(name);  // no tf.train.Example
  }
}

void require_split_column(const ExampleInput& input, const ConvertOptions& options) {
  if (options.part == SplitPart::all || options.split_column.empty()) return;
  const std::vector<std::string> columns = known_columns(input, {options.split_column});
  if (std::find(columns.begin(), columns.end(), options.split_column) != columns.end()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} names a column '{}', but there are {}", options.words.split_column,
                          options.split_column, fmt::join(columns, ", ")));
}

}  // namespace infeed::tools
