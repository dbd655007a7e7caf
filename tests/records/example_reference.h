#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/example.h>

#include "example.pb.h"

/// Our Example parser beside libprotobuf's: for tests and for the fuzzer.
namespace infeed::testing {

/// What differs in one feature; empty when nothing does.
inline std::string difference_in_feature(const reference::Feature& expected,
                                         const FeatureView& view) {
  if (expected.kind_case() == reference::Feature::KIND_NOT_SET) {
    return view.is_present() ? "a feature without a list is there" : "";
  }
  if (!view.is_present()) return "a feature is not found";
  const auto equal = [](const auto& ours, const auto& theirs) {
    return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  };
  if (expected.has_bytes_list()) {
    if (view.kind() != FeatureKind::bytes) return "another kind than bytes";
    std::vector<std::string_view> bytes;
    view.append_bytes(bytes);
    if (view.count() != bytes.size()) return "another count of bytes";
    return equal(bytes, expected.bytes_list().value()) ? "" : "other bytes";
  }
  if (expected.has_float_list()) {
    if (view.kind() != FeatureKind::floats) return "another kind than floats";
    const auto& values = expected.float_list().value();
    std::vector<float> floats(view.count());
    view.read_floats(std::span(floats));
    if (floats.size() != static_cast<std::size_t>(values.size())) return "another count of floats";
    const bool same =
        floats.empty() || std::memcmp(floats.data(), values.data(), 4 * floats.size()) == 0;
    return same ? "" : "other floats";
  }
  if (view.kind() != FeatureKind::integers) return "another kind than integers";
  std::vector<std::int64_t> integers(view.count());
  view.read_integers(std::span(integers));
  return equal(integers, expected.int64_list().value()) ? "" : "other integers";
}

struct Comparison {
  bool is_valid = false;   ///< libprotobuf takes the bytes
  std::string difference;  ///< empty when there is none
};

/// What libprotobuf takes we must take, with the same values. (We may take more: what nobody asks
/// for is not looked into.)
inline Comparison compare_with_protobuf(std::string_view bytes) {
  reference::Example message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    try {
      summarise_example(bytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::data_loss) return {false, error.what()};
    }
    return {};
  }
  std::vector<std::string> names = {"not there"};
  for (const auto& [name, feature] : message.features().feature()) {
    if (name != names[0]) names.push_back(name);
  }
  const bool has_first = names.size() == message.features().feature().size();
  const ExampleParser parser(names);
  std::vector<FeatureView> views(names.size());
  try {
    parser.parse(bytes, views);
    for (std::size_t i = has_first ? 0 : 1; i < names.size(); ++i) {
      const std::string difference =
          difference_in_feature(message.features().feature().at(names[i]), views[i]);
      if (!difference.empty()) return {true, "feature '" + names[i] + "': " + difference};
    }
  } catch (const Error& error) {
    return {true, error.what()};
  }
  if (!has_first && views[0].is_present()) return {true, "a feature is there that is not there"};
  if (summarise_example(bytes).size() != message.features().feature().size()) {
    return {true, "the summary has another number of features"};
  }
  return {true, {}};
}

}  // namespace infeed::testing
