#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/example.h>
#include <infeed/records/sequence_example.h>

#include "example.pb.h"

/// Our Example parser compared with libprotobuf's: for tests and for the fuzzer.
namespace infeed::test {

/// Returns the difference in one feature; empty if there is none.
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

/// Returns the names in a map of a message, and one that is in none.
template <class Map>
std::vector<std::string> names_and_another(const Map& map) {
  std::vector<std::string> names = {"not there"};
  for (const auto& [name, value] : map) {
    if (name != names[0]) names.push_back(name);
  }
  return names;
}

/// Returns the difference in a feature map; `views` are our results for `names`.
inline std::string difference_in_features(const reference::Features& expected,
                                          const std::vector<std::string>& names,
                                          const std::vector<FeatureView>& views) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = expected.feature().find(names[i]);
    if (found == expected.feature().end()) {
      if (views[i].is_present()) return "a feature is there that is not there";
      continue;
    }
    const std::string difference = difference_in_feature(found->second, views[i]);
    if (!difference.empty()) return "feature '" + names[i] + "': " + difference;
  }
  return {};
}

inline std::string difference_in_list(const reference::FeatureList* expected,
                                      const FeatureListView& list) {
  if (list.is_present() != (expected != nullptr)) return "the list is there or it is not";
  if (expected == nullptr) return {};
  const auto step_count = static_cast<std::size_t>(expected->feature().size());
  if (list.size() != step_count) return "another number of steps";
  FeatureSteps steps(list);
  FeatureView step;
  for (const reference::Feature& feature : expected->feature()) {
    if (!steps.next(step)) return "a step is missing";
    const std::string difference = difference_in_feature(feature, step);
    if (!difference.empty()) return step.subject() + ": " + difference;
  }
  return steps.next(step) ? "a step too many" : "";
}

/// Reads bytes that libprotobuf refuses: we may take them or report that they are no Example.
template <class Read>
Comparison compare_refused(Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data_loss) return {false, error.what()};
  }
  return {};
}

/// Checks that we take all that libprotobuf takes, with the same values. (We may take more:
/// features that nobody asks for aren't checked.)
inline Comparison compare_with_protobuf(std::string_view bytes) {
  reference::Example message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return compare_refused([&] { summarise_example(bytes); });
  }
  const std::vector<std::string> names = names_and_another(message.features().feature());
  const ExampleParser parser(names);
  std::vector<FeatureView> views(names.size());
  try {
    parser.parse(bytes, views);
    std::string difference = difference_in_features(message.features(), names, views);
    if (difference.empty() &&
        summarise_example(bytes).size() != message.features().feature().size()) {
      difference = "the summary has another number of features";
    }
    return {true, difference};
  } catch (const Error& error) {
    return {true, error.what()};
  }
}

/// The same for a SequenceExample.
inline Comparison compare_sequence_with_protobuf(std::string_view bytes) {
  reference::SequenceExample message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return compare_refused([&] { summarise_feature_lists(bytes); });
  }
  const auto& expected_lists = message.feature_lists().feature_list();
  const std::vector<std::string> context = names_and_another(message.context().feature());
  const std::vector<std::string> lists = names_and_another(expected_lists);
  const SequenceExampleParser parser(context, lists);
  std::vector<FeatureView> features(context.size());
  std::vector<FeatureListView> views(lists.size());
  try {
    parser.parse(bytes, features, views);
    std::string difference = difference_in_features(message.context(), context, features);
    for (std::size_t i = 0; i < lists.size() && difference.empty(); ++i) {
      const auto found = expected_lists.find(lists[i]);
      difference =
          difference_in_list(found == expected_lists.end() ? nullptr : &found->second, views[i]);
      if (!difference.empty()) difference = "list '" + lists[i] + "': " + difference;
    }
    if (difference.empty() && summarise_feature_lists(bytes).size() != expected_lists.size()) {
      difference = "the summary has another number of lists";
    }
    return {true, difference};
  } catch (const Error& error) {
    return {true, error.what()};
  }
}

}  // namespace infeed::test
