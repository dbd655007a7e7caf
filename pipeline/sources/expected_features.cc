#include "infeed/pipeline/detail/expected_features.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <vector>

#include <infeed/pipeline/statistics.h>
#include <infeed/records/detail/nearest_names.h>
#include <infeed/records/sequence_example.h>

#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

/// The number of records after which a pass is judged.
constexpr std::uint64_t kRecords = 1000;
/// The number of elements behind which a pass isn't judged any more, whether they were skipped or too
/// few of them were records. Looking further would cost a shuffle's jump.
constexpr std::uint64_t kLookedAtMax = 4 * kRecords;
/// The most names in the message; a record may have a million features.
constexpr std::size_t kNamesMax = 1000;

/// Compares the records of one pass with the expected features.
class Looker {
 public:
  explicit Looker(const ExpectFeaturesSpec& spec)
      : spec_(spec),
        missing_features_(spec.expected.features.begin(), spec.expected.features.end()),
        missing_lists_(spec.expected.lists.begin(), spec.expected.lists.end()) {}

  bool has_seen_all() const { return missing_features_.empty() && missing_lists_.empty(); }
  /// Number of records that are Examples; others are an error of their own.
  std::uint64_t records() const { return records_; }

  void look_at(std::string_view example) {
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

  Error error() const {
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

/// Counters that are never shown: elements pass through unchanged. They have the input's label, since
/// messages name by it whose elements these are.
struct HiddenCounters {
  StageCounters hidden;
  StageContext context_of(StageContext context, const TypeInfo& type) {
    context.counters = &hidden;
    context.type = &type;
    return context;
  }
};

/// Looks at skipped records, too. The verdict depends only on the records of the pass, so a resumed
/// run ends as the original run would.
class ExpectFeaturesStage final : private HiddenCounters, public PassThroughStage {
 public:
  ExpectFeaturesStage(const StageContext& consumer, std::shared_ptr<const ExpectFeaturesSpec> spec,
                      NodePointer input_node)
      : PassThroughStage(context_of(consumer, input_node->type()), input_node->open(consumer)),
        spec_(std::move(spec)),
        consumer_(consumer),
        input_node_(std::move(input_node)),
        looker_(*spec_) {
    hidden.consumer = consumer.counters;
    hidden.label = input().label();
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!goes_on_looking()) return input().pull(out, want);
    require_more();
    const Pull pulled = input().pull(out, std::min<std::uint64_t>(want, records_left()));
    if (pulled == Pull::end) require_all();
    look_at(out);
    return pulled;
  }

  RecordBlockSource* record_blocks() override {
    return goes_on_looking() ? nullptr : input().record_blocks();
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const bool is_source = input_node_->inputs().empty();
    // A checkpoint far into the pass was taken after the verdict.
    if (is_looking_ && passed_ + count > kLookedAtMax && !is_source) is_looking_ = false;
    if (!is_looking_) return input().skip(count, known);
    const std::uint64_t before = passed_;
    const std::uint64_t skipped = skip_and_look(count);
    if (is_looking_ || skipped == count) return skipped;
    // A source that was begun may have to read what a fresh one could jump over.
    if (is_source && count > kLookedAtMax) {
      replace_input(input_node_->open(consumer_));
      const std::uint64_t all = input().skip(before + count, known);
      return all - std::min(all, before);
    }
    return skipped + input().skip(count - skipped, known);
  }

  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    if (is_looking_ && look_from_begin() == Pull::cancelled) return Pull::cancelled;
    return input().pull_at(out, positions);
  }

 private:
  bool goes_on_looking() {
    is_looking_ = is_looking_ && passed_ <= kLookedAtMax;
    return is_looking_;
  }
  std::uint64_t records_left() const { return kRecords - looker_.records(); }

  [[noreturn]] void fail() const { throw looker_.error().at_stage(consumer_.counters->path()); }
  /// Called before another element.
  void require_more() const {
    if (looker_.records() == kRecords) fail();
  }
  /// Called at the end of the pass.
  void require_all() const {
    if (looker_.records() > 0) fail();
  }

  void look_at(Chunk& chunk) {
    for (std::size_t i = 0; i < chunk.size() && is_looking_; ++i) {
      looker_.look_at(spec_->bytes_of(chunk.value(i)));
      is_looking_ = !looker_.has_seen_all();
    }
    passed_ += chunk.slots();
  }

  /// Skips until there is nothing more to look for. Returns how many elements it skipped.
  std::uint64_t skip_and_look(std::uint64_t count) {
    Chunk dropped(type());
    std::uint64_t skipped = 0;
    // One record first: it usually has everything.
    for (std::uint64_t block = 1; skipped < count && goes_on_looking();
         block = dropped.capacity()) {
      require_more();
      const std::uint64_t want = std::min({block, count - skipped, records_left()});
      const Pull pulled = input().pull(dropped, static_cast<std::size_t>(want));
      if (pulled == Pull::end) require_all();
      if (pulled != Pull::values) break;
      look_at(dropped);
      skipped += dropped.slots();
      dropped.clear();
    }
    return skipped;
  }

  /// Looks at the pass from its beginning, before a random access.
  Pull look_from_begin() {
    Chunk chunk(type());
    const std::uint64_t end = input_node_->cardinality().count();
    for (std::uint64_t position = 0; position < end && goes_on_looking();) {
      require_more();
      std::array<std::uint64_t, 16> positions;
      std::iota(positions.begin(), positions.end(), position);
      const auto count = static_cast<std::size_t>(
          std::min<std::uint64_t>({positions.size(), chunk.capacity(), end - position,
                                   position == 0 ? 1 : records_left()}));
      const Pull pulled = input().pull_at(chunk, std::span(positions).first(count));
      if (pulled != Pull::values) return pulled;
      position += chunk.slots();
      look_at(chunk);
      chunk.clear();
    }
    if (is_looking_) require_all();
    return Pull::values;
  }

  const std::shared_ptr<const ExpectFeaturesSpec> spec_;
  const StageContext consumer_;
  const NodePointer input_node_;
  Looker looker_;
  std::uint64_t passed_ = 0;  ///< elements, while it is looking
  bool is_looking_ = true;
};

class ExpectFeaturesNode final : public Node {
 public:
  ExpectFeaturesNode(ExpectFeaturesSpec spec, NodePointer input)
      : Node("expect_features", input->type(), {input}),
        spec_(std::make_shared<const ExpectFeaturesSpec>(std::move(spec))) {}

  std::string signature() const override { return {}; }
  bool has_counters() const override { return false; }
  Cardinality cardinality() const override { return input().cardinality(); }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override { return given; }
  bool is_indexable() const override { return input().is_indexable(); }
  std::unique_ptr<Stage> open(const StageContext& consumer) const override {
    return std::make_unique<ExpectFeaturesStage>(consumer, spec_, inputs().front());
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return open(context);
  }

 private:
  const std::shared_ptr<const ExpectFeaturesSpec> spec_;
};

}  // namespace

NodePointer make_expect_features(ExpectFeaturesSpec spec, NodePointer input) {
  return std::make_shared<ExpectFeaturesNode>(std::move(spec), std::move(input));
}

}  // namespace infeed::detail
