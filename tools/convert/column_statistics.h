#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <infeed/convert/example_input.h>
#include <infeed/records/example.h>

/// Why: the manifest describes the content of a dataset, so that a wrong column, a label out of
/// range or a NaN is seen before a training.
///
/// Gathered a shard at a time and merged in the order of the shards, so that sums of floating-point
/// numbers don't depend on threads.
namespace infeed::tools {

/// Statistics of one feature over all examples.
struct Column {
  std::string name;
  FeatureKind kind = FeatureKind::bytes;
  std::uint64_t examples = 0;  ///< examples that have the feature, with at least an empty list
  std::uint64_t values = 0;
  std::uint64_t values_min = 0;  ///< fewest and most in one example
  std::uint64_t values_max = 0;
  /// Range of integers; for bytes, of their sizes. Meaningless without values.
  std::int64_t integer_min = 0;
  std::int64_t integer_max = 0;
  /// Range of the finite floats.
  double float_min = 0;
  double float_max = 0;
  std::uint64_t not_finite = 0;
  double sum = 0;
  std::uint64_t other_kinds = 0;  ///< examples in which the feature has another kind; not counted
  /// The input's facts about the values, which records don't show.
  ColumnCounts source = {};
  bool is_declared = false;  ///< the input has the column, even if no example does

  double mean() const { return finite() == 0 ? 0 : sum / static_cast<double>(finite()); }
  std::uint64_t finite() const { return values - not_finite; }
};

class ColumnStatistics {
 public:
  /// `names`: those of all features that can come; if empty, they are learnt from the examples.
  explicit ColumnStatistics(const std::vector<std::string>& names = {});

  void add(std::string_view example);
  void add_counts(const std::vector<ColumnCounts>& counts);
  /// Adds columns that belong here even if no example has them.
  void declare(const std::vector<ColumnKind>& kinds);
  void merge(const ColumnStatistics& later);

  /// Returns the columns that were seen or declared, sorted by name.
  std::vector<Column> columns() const;
  std::uint64_t examples() const { return examples_; }
  /// Number of records that are no tf.train.Example.
  std::uint64_t opaque_records() const { return opaque_records_; }

  nlohmann::json to_json() const;
  /// Throws nlohmann::json's errors unless the JSON comes from to_json().
  static ColumnStatistics from_json(const nlohmann::json& json);

 private:
  void add_values(Column& column, const FeatureView& view);
  /// Counts a name that is to be kept; throws resource_exhausted beyond limits::json_columns and
  /// their bytes.
  void count_name(const std::string& name);
  void learn_names(std::string_view example);
  void add_by_own_names(std::string_view example);
  Column& find_or_add(const std::string& name);

  bool names_are_known_;
  ExampleParser parser_;
  std::vector<Column> columns_;                          // as in the parser
  std::unordered_map<std::string, std::size_t> places_;  // indices of the first `indexed_` columns
  std::size_t indexed_ = 0;
  std::size_t names_bytes_ = 0;
  std::vector<FeatureView> views_;
  std::vector<std::int64_t> integers_;
  std::vector<double> floats_;
  std::vector<std::string_view> bytes_;
  std::uint64_t examples_ = 0;
  std::uint64_t opaque_records_ = 0;
};

}  // namespace infeed::tools
