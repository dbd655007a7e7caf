#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/example.h"
#include "infeed/records/record_reader.h"
#include "infeed/records/sequence_example.h"

/// Why: record files don't say what is in them. An inference looks at records and says which
/// features there are, of which kind, how many values they have and whether every record has them,
/// so that one can write an ExampleSchema.
///
///     const auto schema = infeed::infer_schema({"train-00000-of-00016.tfrecord"});
///     std::puts(schema.to_text().c_str());
///
/// It prints:
///
/// ```text
///     1000 records of 1000 are Examples
///       image  bytes     1 value of 784 bytes
///       label  integers  1 value
///       words  bytes     0 to 7 values of 1 to 12 bytes; in 998 records
/// ```
///
/// The result holds only for the records that were looked at. Thread-safety: an inference belongs
/// to one thread; several can be merged.
namespace infeed {

/// The smallest and largest of the values seen.
struct ValueRange {
  std::uint64_t min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;

  bool is_empty() const { return min > max; }
  bool is_one_value() const { return min == max; }
  void add(std::uint64_t value);
  void merge(const ValueRange& other);
  bool operator==(const ValueRange&) const = default;
};

struct InferredFeature {
  std::string name;
  /// Kind of the first feature seen; empty when no step of a list holds values.
  std::optional<FeatureKind> kind;
  std::uint64_t examples = 0;     ///< records that have the feature, of this kind
  std::uint64_t other_kinds = 0;  ///< records that have it of another kind; not counted below
  std::uint64_t values = 0;
  ValueRange value_count;  ///< values in one record
  ValueRange value_bytes;  ///< bytes in one value, for features of bytes

  /// Adds a feature. Returns false, and counts it, when it is of another kind.
  bool add(const FeatureView& view);
  void merge(const InferredFeature& later);
  /// True if all records that have the feature have the same number of values, and of bytes in
  /// each: a std::array.
  bool is_fixed_length() const;
};

struct InferredFeatureList {
  std::string name;
  std::uint64_t examples = 0;     ///< records that have the list
  ValueRange step_count;          ///< steps in one record
  std::uint64_t empty_steps = 0;  ///< steps of all records that hold no list of values
  /// Values of all steps, as if each were a record of one feature: `examples` counts steps.
  InferredFeature steps;
};

struct InferredSchema {
  std::uint64_t records = 0;
  std::uint64_t opaque_records = 0;  ///< records that are no tf.train.Example
  /// Features that have values, or empty lists of them, somewhere, sorted by name. For
  /// SequenceExamples these are the features of the context.
  std::vector<InferredFeature> features;
  /// Feature lists sorted by name. If there are any, the records are SequenceExamples.
  std::vector<InferredFeatureList> lists;

  /// Returns a text for people: a line a feature, as above.
  std::string to_text() const;
  /// Returns one JSON object: records, opaque_records, features and feature_lists. Bytes of names
  /// that aren't UTF-8 become the characters U+0080 to U+00FF.
  std::string to_json() const;
};

class SchemaInference {
 public:
  /// Adds a record. Throws resource_exhausted when all records together have more names than
  /// limits::json_columns, or more bytes of them than limits::json_names_bytes.
  void add(std::string_view example);
  /// Adds an inference of records that come behind those of this one.
  void merge(const SchemaInference& later);
  InferredSchema schema() const;

 private:
  void add_list(const FeatureListView& view);
  InferredFeatureList& list_of(std::string_view name);

  ExampleParser context_;
  std::vector<InferredFeature> features_;  // in the parser's order
  std::vector<FeatureView> views_;
  std::map<std::string, InferredFeatureList, std::less<>> lists_;
  std::size_t list_names_bytes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t opaque_records_ = 0;
};

struct InferSchemaOptions {
  std::uint64_t records_max = 1000;  ///< number of records to look at, from the first on; 0: all
  RecordReaderOptions reader = {};
};
/// Infers the schema of files. Errors: those of RecordReader and SchemaInference.
InferredSchema infer_schema(const std::vector<std::string>& files, InferSchemaOptions options = {});

}  // namespace infeed
