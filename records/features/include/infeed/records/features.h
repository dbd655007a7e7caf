#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "infeed/count.h"
#include "infeed/error.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/dtype.h"

/// Why: a recommender's columns (cities, "a|b|c", prices) become the ids and numbers that a model
/// takes, without code of the user's. The operations are values with a name and options, so that
/// they can stand in a file beside the model and be the same in training and in serving.
///
///     namespace f = infeed::feature;
///     const infeed::Features features({
///         f::Split{.column = "genres", .delimiter = "|"},
///         f::Vocabulary{.column = "genres", .words = {"drama", "comedy"}, .oov_buckets = 1},
///         f::MultiHot{.column = "genres", .depth = 3, .to = "genres_hot"},
///         f::HashBuckets{.column = "city", .buckets = 1000},
///         f::Normalise{.column = "price", .mean = {20.0}, .deviation = {4.5}},
///     });
///     const infeed::ColumnBatch model_inputs = features(infeed::ColumnBatch({
///         {"genres", infeed::Column::of_bytes({"drama|comedy", "", "noir"})},
///         {"city", infeed::Column::of_bytes({"Rome", "Oslo", "Rome"})},
///         {"price", infeed::Column::dense(infeed::Tensor::copy_of({3}, {24.5F, 11.0F, 20.0F}))},
///     }));
///
/// In a pipeline it is the stage infeed::features() (pipeline/features.h).
///
/// Each operation reads its `column` and writes the column `to`; without `to` the result stands in
/// the place of `column`. Operations follow each other, so a later one may read what an earlier one
/// wrote. "Items" are the values of a column of any kind. An operation on items keeps the kind: rows
/// stay ragged with the same splits, or padded with the same lengths (padding keeps its number, and
/// is 0 where the result's type can't hold it).
///
/// Errors: invalid_argument for options that can't work, and for a column of a kind or type that
/// the operation doesn't take. A value that it can't take is data_loss: the message names
/// operation, column, row, item and value, and says what was expected. Thread-safety: immutable;
/// any threads may apply it at once.
namespace infeed {

namespace feature {

/// Gives each item a bucket from 0 to `buckets` - 1, as int64: fingerprint64() of the text modulo
/// `buckets` (tf.strings.to_hash_bucket_fast). Takes text, and whole numbers by their decimal text.
struct HashBuckets {
  std::string column;
  Count buckets = 0;
  std::string to = {};
};

/// Gives each item the place of its word, as int64: 0 for the first. A word that isn't there gets
/// one of the `oov_buckets` places behind the last word, by its hash, and is an error if there are
/// none (tf.lookup.StaticVocabularyTable). Takes text, and whole numbers by their decimal text.
struct Vocabulary {
  std::string column;
  /// File with a word a line, also compressed or a URL. It is read once, when the operation is
  /// described.
  std::string file = {};
  std::vector<std::string> words = {};  ///< in place of the file
  Count oov_buckets = 0;
  std::string to = {};
};

/// Cuts each text at the delimiters: bytes become ragged_bytes, which get one level more. An empty
/// text has no parts; otherwise there is a part more than delimiters, as Python's split() does it.
struct Split {
  std::string column;
  std::string delimiter = "|";
  std::string to = {};
};

/// Changes the items' type. Text is read as a number, with blanks around it or not. A value that the
/// type can't hold is an error: one beyond its range, a fraction or NaN as a whole number, what is
/// neither 0 nor 1 as a bool. Floats round to the nearest.
struct Cast {
  std::string column;
  DType dtype = DType::float32;
  std::string to = {};
};

/// Puts `value` in the place of NaN.
struct Fill {
  std::string column;
  double value = 0;
  std::string to = {};
};

/// Puts `min` in the place of lower items, and `max` in that of higher ones. The type stays; bounds
/// that it doesn't hold are those within them (whole numbers) or the nearest (floats). NaN stays.
struct Clip {
  std::string column;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string to = {};
};

/// Gives each item the number of boundaries that are not above it, as int64: 0 below the first one,
/// as many as there are from the last one on (numpy.digitize). NaN is an error; see Fill.
struct Bucketise {
  std::string column;
  std::vector<double> boundaries = {};  ///< ascending
  std::string to = {};
};

/// Gives (item - mean) / deviation: as float64 for float64, else as float32. It is computed in
/// float32 for float32 and shorter types, else in float64.
struct Normalise {
  std::string column;
  std::vector<double> mean = {0.0};       ///< one, or one for each number of an item's shape
  std::vector<double> deviation = {1.0};  ///< the same; standard deviations, above 0
  std::string to = {};
};

/// Gives each whole number i from 0 to `depth` - 1 (of 2^24 at most) a new last axis of that many: 1 at i, else 0. A
/// number beyond them is an error.
struct OneHot {
  std::string column;
  Count depth = 0;
  DType dtype = DType::float32;
  std::string to = {};
};

/// Makes one dense row [depth] of all whole numbers of a row: 1 at each of them, else 0, or with
/// `counts` how often it is there. A number beyond 0 to `depth` - 1 is an error.
struct MultiHot {
  std::string column;
  Count depth = 0;
  bool counts = false;
  DType dtype = DType::float32;
  std::string to = {};
};

using Step = std::variant<HashBuckets, Vocabulary, Split, Cast, Fill, Clip, Bucketise, Normalise,
                          OneHot, MultiHot>;

/// Returns "hash_buckets", "vocabulary", "split", "cast", "fill", "clip", "bucketise", "normalise",
/// "one_hot" or "multi_hot".
std::string_view name_of(const Step& step);

}  // namespace feature

class Features {
 public:
  Features(std::initializer_list<feature::Step> steps);
  explicit Features(std::vector<feature::Step> steps);

  /// Returns the batch with the results. Columns that no step writes are shared, not copied.
  ColumnBatch operator()(const ColumnBatch& batch) const;

  const std::vector<feature::Step>& steps() const;
  /// Hash of the steps and of all vocabularies' words. Features with equal hashes give equal
  /// results; it may differ in another version of infeed.
  std::uint64_t hash() const;

  /// Writes the steps, one a line. Options that have their default are left out:
  ///
  /// ```text
  ///     {"features": [
  ///       {"name": "split", "column": "genres", "delimiter": "|"},
  ///       {"name": "vocabulary", "column": "genres", "file": "genres.txt", "oov_buckets": 1},
  ///       {"name": "multi_hot", "column": "genres", "depth": 21, "to": "genres_hot"}]}
  /// ```
  std::string to_json() const;
  /// Throws invalid_argument with the place ("features[2].depth") and what is allowed there.
  static Features from_json(std::string_view text);

 private:
  struct State;

  std::shared_ptr<const State> state_;
};

}  // namespace infeed
