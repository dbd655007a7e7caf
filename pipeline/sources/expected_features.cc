#include "infeed/pipeline/detail/expected_features.h"

#include <fmt/format.h>
#include <memory>
#include <set>
#include <vector>

#include <infeed/pipeline/detail/judged_pass.h>
#include <infeed/records/detail/nearest_names.h>
#include <infeed/records/sequence_example.h>

namespace infeed::detail {
namespace {

/// The number of records after which a pass is judged.
constexpr std::uint64_t kRecords = 1000;
/// The most names in the message; a record may have a million features.
constexpr std::size_t kNamesMax = 1000;

/// Compares the records of one pass with the expected features.
class Looker final : public PassJudge {
 public:
  explicit Looker(const ExpectFeaturesSpec& spec)
      : spec_(spec),
        missing_features_(spec.expected.features.begin(), spec.expected.features.end()),
        missing_lists_(spec.expected.lists.begin(), spec.expected.lists.end()) {}

  bool is_content() const override { return missing_features_.empty() && missing_lists_.empty(); }
  /// Counts the Examples; other records are an error of their own.
  std::uint64_t records() const override { return records_; }

  void look_at(const void* element) override {
    const std::string_view example = spec_.bytes_of(element);
    try {
      const auto features = summarise_example(example);
      const auto lists = spec_.expected.of_sequences ? summarise_feature_lists(example)
                                                     : std::vector<FeatureListSummary>();
      for (const auto& feature : features) note(feature.name, missing_features_, features_);
      for (const auto& list : lists) note(list.name, missing_lists_, lists_);
      ++records_;
    } catch (const Error&) {
    }
  }

  Error error() const override {
    const bool of_list = missing_features_.empty();
    const std::set<std::string>& missing = of_list ? missing_lists_ : missing_features_;
    const std::string& name = *missing.begin();
    const std::string noun = of_list ? "feature list" : "feature";
    const std::vector<std::string> nearest = by_distance(of_list ? lists_ : features_, name);
    std::string text = fmt::format(
        "{}: {}{} '{}' {} in none of the first {} record{}, which would all become empty vectors",
        spec_.stage, noun, missing.size() == 1 ? "" : "s", fmt::join(missing, "', '"),
        missing.size() == 1 ? "is" : "are", records_, records_ == 1 ? "" : "s");
    text += did_you_mean(nearest, name);
    text += fmt::format("; the records have {}", told(nearest, noun));
    if (spec_.expected.of_sequences) {
      text += of_list ? fmt::format(" and {}", told(by_distance(features_, name), "feature"))
                      : fmt::format(" and {}", told(by_distance(lists_, name), "feature list"));
    }
    text += fmt::format("; where it may be missing, say so: .{}(\"{}\", &T::member, {})",
                        of_list                       ? "list"
                        : spec_.expected.of_sequences ? "context"
                                                      : "feature",
                        name, of_list ? "{.allow_missing = true}" : "{}");
    return Error(ErrorCode::invalid_argument, std::move(text));
  }

 private:
  static void note(const std::string& name, std::set<std::string>& missing,
                   std::set<std::string>& names) {
    missing.erase(name);
    if (names.size() < kNamesMax) names.insert(name);
  }

  static std::vector<std::string> by_distance(const std::set<std::string>& names,
                                              const std::string& to) {
    return names_by_distance(std::vector<std::string>(names.begin(), names.end()), to);
  }

  /// Returns "the features 'a', 'b', ..."
  static std::string told(const std::vector<std::string>& names, std::string_view noun) {
    if (names.empty()) return fmt::format("no {}s", noun);
    return fmt::format("the {}{} {}", noun, names.size() == 1 ? "" : "s", quoted_names(names));
  }

  const ExpectFeaturesSpec& spec_;
  std::set<std::string> missing_features_;
  std::set<std::string> missing_lists_;
  std::set<std::string> features_;
  std::set<std::string> lists_;
  std::uint64_t records_ = 0;
};

}  // namespace

NodePointer make_expect_features(ExpectFeaturesSpec spec, NodePointer input) {
  const auto kept = std::make_shared<const ExpectFeaturesSpec>(std::move(spec));
  return make_judged_pass({.begin_pass = [kept] { return std::make_unique<Looker>(*kept); },
                           .records_max = kRecords,
                           .judges_shorter = true},
                          std::move(input));
}

}  // namespace infeed::detail
