#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <infeed/pipeline/dataset.h>
#include <infeed/records/detail/feature_codec.h>
#include <infeed/records/example_schema.h>

/// Why: a misspelt feature that fills a vector would give empty vectors for ever. So the first
/// records of a pass are looked at (judged_pass.h) until each expected feature
/// (ExampleSchema::expected) was seen: usually the first record is enough. parse.h says what the
/// parsing stages do then. Not for direct use.
namespace infeed::detail {

struct ExpectFeaturesSpec {
  std::string stage;  ///< the stage that needs the features
  ExpectedFeatures expected;
  std::string_view (*bytes_of)(const void* element);
};

NodePointer make_expect_features(ExpectFeaturesSpec spec, NodePointer input);

template <class In, class Schema>
Dataset<In> expect_features(std::string stage, const Schema& schema, const Dataset<In>& input) {
  ExpectedFeatures expected = schema.expected();
  if (expected.empty()) return input;
  const auto bytes = [](const void* element) {
    return std::string_view(bytes_of(*static_cast<const In*>(element)));
  };
  return Dataset<In>(
      make_expect_features({std::move(stage), std::move(expected), bytes}, input.node()));
}

}  // namespace infeed::detail
