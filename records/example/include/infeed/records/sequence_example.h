#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/records/example.h"

/// Why: videos, sentences and sensor logs are tf.train.SequenceExamples: a context, which is like
/// an Example, and feature lists, each with one Feature a step. SequenceExampleBuilder and
/// SequenceExampleParser write and read its bytes without message objects. For structs of your own
/// take SequenceExampleSchema (sequence_example_schema.h), which stands on them.
///
///     infeed::SequenceExampleBuilder builder;
///     builder.context().integers("label", 9);
///     infeed::FeatureListBuilder& frames = builder.list("frames");
///     for (const std::string& frame : jpegs) frames.bytes(frame);
///     std::string bytes = builder.encode();
///
///     infeed::SequenceExampleParser parser({"label"}, {"frames"});
///     std::array<infeed::FeatureView, 1> context;
///     std::array<infeed::FeatureListView, 1> lists;
///     parser.parse(bytes, context, lists);
///     infeed::FeatureSteps steps(lists[0]);
///     infeed::FeatureView frame;
///     while (steps.next(frame)) use(frame.single_bytes());
///
/// Rules, errors and thread-safety: as in example.h. Messages about a step name it: "step 3 of
/// feature list 'frames' holds 2 values, but 1 is wanted".
namespace infeed {

/// The steps of one feature list, in order. Each call adds a step.
class FeatureListBuilder {
 public:
  template <class Values>
  FeatureListBuilder& bytes(const Values& values) {
    steps_.bytes({}, values);
    return *this;
  }
  template <class Values>
  FeatureListBuilder& floats(const Values& values) {
    steps_.floats({}, values);
    return *this;
  }
  template <class Values>
  FeatureListBuilder& integers(const Values& values) {
    steps_.integers({}, values);
    return *this;
  }
  /// Adds a step that holds no values, of no kind.
  FeatureListBuilder& nothing();
  /// Adds a step as a FeatureCodec encodes it. If the codec encodes nothing, the step holds no
  /// values.
  template <class Codec, class Value>
  FeatureListBuilder& encoded(const Value& value) {
    const std::size_t before = steps_.features_.size();
    Codec::encode(name_, value, steps_);
    return steps_.features_.size() == before ? nothing() : *this;
  }

 private:
  friend class SequenceExampleBuilder;
  std::string name_;
  ExampleBuilder steps_;
};

/// Encodes context and lists sorted by name.
class SequenceExampleBuilder {
 public:
  ExampleBuilder& context() { return context_; }
  /// Adds a list without steps. The reference holds until the next list.
  FeatureListBuilder& list(std::string name);

  /// Throws invalid_argument when a name was given twice.
  std::string encode() const;
  void encode_to(std::string& out) const;

 private:
  ExampleBuilder context_;
  std::vector<FeatureListBuilder> lists_;
};

/// One feature list inside the bytes of a record, which must outlive it.
class FeatureListView {
 public:
  /// False when the record has no such list. A list without steps is present.
  bool is_present() const { return present_; }
  std::string_view name() const { return name_; }
  /// Number of steps; walks over them.
  std::size_t size() const;
  const Record* record() const { return record_; }

 private:
  friend class SequenceExampleParser;
  friend class FeatureSteps;

  // Content of a FeatureList; for a list in pieces, the map entry around them.
  std::string_view data_;
  std::string_view name_;
  const Record* record_ = nullptr;
  bool present_ = false;
  bool in_pieces_ = false;
};

/// Goes through the steps of a list. A step that holds no values is not present.
class FeatureSteps {
 public:
  explicit FeatureSteps(const FeatureListView& list);
  /// Returns false at the end; `step` is then untouched.
  bool next(FeatureView& step);

 private:
  bool next_bytes(std::string_view& feature);

  std::string_view list_;   // rest of this piece
  std::string_view entry_;  // rest of the map entry
  std::string_view name_;
  const Record* record_;
  std::uint32_t step_ = 0;
};

/// Finds wanted features of the context and wanted lists in one pass over a record. Made once.
class SequenceExampleParser {
 public:
  SequenceExampleParser() = default;
  SequenceExampleParser(const std::vector<std::string>& context_names,
                        const std::vector<std::string>& list_names);

  /// Add a name and return its place in the output of parse(). Throw invalid_argument for a name
  /// added before.
  std::size_t want_context(std::string name) { return context_.want(std::move(name)); }
  std::size_t want_list(std::string name) { return lists_.add(std::move(name), "feature list"); }
  const std::vector<std::string>& context_names() const { return context_.names(); }
  const std::vector<std::string>& list_names() const { return lists_.names(); }
  /// For looking up names. Not meant to be used directly.
  const detail::NameTable& list_name_table() const { return lists_; }

  /// Sets context[i] to the feature context_names()[i], and lists[i] to the list list_names()[i].
  /// The views name them by this parser's strings, so it must outlive them.
  void parse(std::string_view example, std::span<FeatureView> context,
             std::span<FeatureListView> lists) const;
  void parse(const Record& example, std::span<FeatureView> context,
             std::span<FeatureListView> lists) const;
  /// Deleted: the views would point into a string that is gone.
  void parse(std::string&& example, std::span<FeatureView> context,
             std::span<FeatureListView> lists) const = delete;

 private:
  void parse(std::string_view example, const Record* record, std::span<FeatureView> context,
             std::span<FeatureListView> lists) const;

  ExampleParser context_;
  detail::NameTable lists_;
};

/// Visits all feature lists of a SequenceExample, sorted by name.
void visit_feature_lists(std::string_view example,
                         const std::function<void(const FeatureListView&)>& visit);

/// A few words about a feature list, for messages. (For the context: summarise_example().)
struct FeatureListSummary {
  std::string name;
  std::size_t steps = 0;
  std::optional<FeatureKind> kind;  ///< kind of the first step that holds values
};
std::vector<FeatureListSummary> summarise_feature_lists(std::string_view example);

}  // namespace infeed
