#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/detail/example_shapes.h"
#include "infeed/records/detail/name_table.h"
#include "infeed/records/record.h"

/// Why: most record files hold tf.train.Example, a protobuf map from names to lists of bytes,
/// floats or 64-bit integers. ExampleBuilder and ExampleParser write and read its bytes without
/// message objects. For structs of your own take ExampleSchema (example_schema.h), which stands on
/// them.
///
///     std::string bytes =
///         infeed::ExampleBuilder().bytes("image", pixels).integers("label", 9).encode();
///
///     const infeed::ExampleParser parser({"image", "label"});
///     std::array<infeed::FeatureView, 2> found;
///     parser.parse(bytes, found);
///     std::int64_t label;
///     found[1].read_integers(std::span(&label, 1));
///
/// Protobuf's rules hold: fields in any order, the last duplicate of a name wins, lists in several
/// pieces (packed or not) are one list, unknown fields are passed over. Features that nobody wants
/// are passed over without being looked into.
///
/// Errors name the feature: data_loss when bytes are no Example (cut, or an impossible field);
/// invalid_argument when a feature isn't as wanted (kind, count, range).
///
/// Thread-safety: any number of threads may read with one parser; a builder belongs to one thread.
namespace infeed {

enum class FeatureKind : std::uint8_t { bytes, floats, integers };

/// Returns "bytes", "floats" or "integers".
std::string_view to_string(FeatureKind kind);

/// Collects features and encodes them sorted by name: the same features give the same bytes, and a
/// reader that expects this order is 1.6 times faster.
class ExampleBuilder {
 public:
  ExampleBuilder& bytes(std::string_view name, std::string_view value);
  ExampleBuilder& bytes(std::string_view name, std::span<const std::string_view> values);
  ExampleBuilder& bytes(std::string_view name, std::span<const std::string> values);
  ExampleBuilder& floats(std::string_view name, float value);
  ExampleBuilder& floats(std::string_view name, std::span<const float> values);
  ExampleBuilder& integers(std::string_view name, std::int64_t value);
  ExampleBuilder& integers(std::string_view name, std::span<const std::int64_t> values);
  /// Adds the integers that cut other features, unless they are there. Throws invalid_argument if
  /// others are there by this name.
  ExampleBuilder& partition(std::string_view name, std::span<const std::int64_t> cuts);

  /// Throws invalid_argument when a name was given twice.
  std::string encode() const;
  /// Replaces the bytes in `out` and reuses its memory.
  void encode_to(std::string& out) const;
  /// Forgets the features, keeps the memory.
  void clear();

 private:
  friend class SequenceExampleBuilder;
  friend class FeatureListBuilder;
  struct Feature {
    std::size_t name_begin, value_begin, end;  // in scratch_: the name, then an encoded Feature
  };
  void begin_feature(std::string_view name);
  void end_feature(FeatureKind kind, std::size_t list_begin);

  std::string scratch_;
  std::vector<Feature> features_;
};

/// The values of one feature inside the bytes of a record, which must outlive it.
class FeatureView {
 public:
  FeatureView() = default;

  /// False when the record has no such feature, or has it without a list.
  bool is_present() const { return present_; }
  /// Kind of the values. Valid only if the feature is present.
  FeatureKind kind() const { return kind_; }
  std::string_view name() const { return name_; }
  /// Returns the name for messages: "feature 'label'", or "step 3 of feature list 'frames'".
  std::string subject() const;
  /// Number of values; walks over bytes and integers.
  std::size_t count() const;

  /// Reads exactly `out.size()` values. Another number, another kind, or a value that does not fit
  /// is an Error that says so. I: any integer type, or bool. F: float, double, float16 or bfloat16.
  template <class I, std::size_t N>
  void read_integers(std::span<I, N> out) const {
    read_integers_into(std::span<I>(out));
  }
  template <class F, std::size_t N>
  void read_floats(std::span<F, N> out) const {
    read_floats_into(std::span<F>(out));
  }
  void read_bytes(std::span<std::string_view> out) const;
  /// Returns the one value of a feature of bytes.
  std::string_view single_bytes() const;

  /// Appends all values to `out`; none when the feature is not present.
  template <class I>
  void append_integers(std::vector<I>& out) const;
  template <class F>
  void append_floats(std::vector<F>& out) const;
  void append_bytes(std::vector<std::string_view>& out) const;

  /// The record that was parsed; null when bare bytes were.
  const Record* record() const { return record_; }

 private:
  friend class ExampleParser;
  friend class FeatureSteps;
  /// Usually the list is one piece and data_ is its content. Otherwise data_ is the whole map entry
  /// or Feature around the pieces, and readers walk it again.
  enum class Holds : std::uint8_t { list, map_entry, feature };
  static constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

  void describe_feature(std::string_view feature);

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::string_view name_;
  const Record* record_ = nullptr;
  FeatureKind kind_ = FeatureKind::bytes;
  bool present_ = false;
  Holds holds_ = Holds::list;
  std::uint32_t step_ = kNoStep;  // number of the step in a feature list

  template <class I>
  void read_integers_into(std::span<I> out) const;
  template <class F>
  void read_floats_into(std::span<F> out) const;
  template <class Visitor>
  void visit_lists(Visitor&& visitor) const;
  void require(FeatureKind kind) const;
  [[noreturn]] void fail_count(std::size_t found, std::size_t wanted) const;
};

/// Finds wanted features in one pass over a record. Made once.
class ExampleParser {
 public:
  ExampleParser() = default;
  /// Throws invalid_argument for a name that comes twice.
  explicit ExampleParser(const std::vector<std::string>& names);

  /// Adds a name; returns its place in `out` of parse().
  std::size_t want(std::string name) {
    shapes_.clear();
    names_bytes_ += name.size();
    return names_.add(std::move(name), "feature");
  }
  /// Adds the names of all features of an Example that are not there yet. Throws resource_exhausted
  /// for more than limits::json_columns names, or more than limits::json_names_bytes in them: a
  /// record may have millions.
  void want_features_of(std::string_view example);
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_.names(); }
  const detail::NameTable& name_table() const { return names_; }
  /// Shapes of the records that the parser has met. Not meant to be used directly.
  detail::ExampleShapes& shapes() const { return shapes_; }

  /// Sets out[i] to the feature names()[i]. out.size() must be size(). The views name features by
  /// this parser's strings, so it must outlive them. Returns how many other features the example
  /// has.
  std::size_t parse(std::string_view example, std::span<FeatureView> out) const;
  std::size_t parse(const Record& example, std::span<FeatureView> out) const;
  /// Deleted: the views would point into a string that is gone.
  std::size_t parse(std::string&& example, std::span<FeatureView> out) const = delete;

 private:
  friend class SequenceExampleParser;
  std::size_t parse(std::string_view example, const Record* record,
                    std::span<FeatureView> out) const;

  detail::NameTable names_;
  std::size_t names_bytes_ = 0;
  mutable detail::ExampleShapes shapes_;  // has its own synchronisation
};

struct FeatureSummary {
  std::string name;
  std::optional<FeatureKind> kind;  ///< empty when the feature has no list
  std::size_t count = 0;
};

/// Summarises the features of an Example, sorted by name: for messages, inspection and inferring a
/// schema.
std::vector<FeatureSummary> summarise_example(std::string_view example);

}  // namespace infeed
