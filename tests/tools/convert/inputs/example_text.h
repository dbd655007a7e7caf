#pragma once

#include <fmt/format.h>
#include <string>
#include <vector>

#include <infeed/records/example.h>
#include <infeed/records/record_reader.h>

namespace infeed::test {

/// Returns a record as one line: "age=[3] name=['Ann']", sorted by name.
inline std::string example_text(std::string_view example) {
  std::string text;
  for (const FeatureSummary& feature : summarise_example(example)) {
    const ExampleParser parser({feature.name});
    std::vector<FeatureView> views(1);
    parser.parse(example, views);
    std::vector<std::string> values;
    if (views[0].kind() == FeatureKind::integers) {
      std::vector<std::int64_t> integers;
      views[0].append_integers(integers);
      for (const auto value : integers) values.push_back(fmt::format("{}", value));
    } else if (views[0].kind() == FeatureKind::floats) {
      std::vector<float> floats;
      views[0].append_floats(floats);
      for (const auto value : floats) values.push_back(fmt::format("{:.6}f", value));
    } else {
      std::vector<std::string_view> bytes;
      views[0].append_bytes(bytes);
      for (const auto value : bytes) values.push_back(fmt::format("'{}'", value));
    }
    text +=
        fmt::format("{}{}=[{}]", text.empty() ? "" : " ", feature.name, fmt::join(values, ", "));
  }
  return text;
}

inline std::vector<std::string> example_texts(const std::vector<std::string>& files) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    RecordReader reader(file);
    Record record;
    while (reader.next(record)) texts.push_back(example_text(record.bytes()));
  }
  return texts;
}

}  // namespace infeed::test
