#pragma once

#include <type_traits>
#include <utility>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/features.h>

namespace infeed {

struct FeaturesOptions {
  Count parallelism = 1;  ///< as in MapOptions
  StageName name = {};    ///< as in StageOptions
};

/// Applies feature operations (records/features.h) to batches of columns.
///
///     namespace f = infeed::feature;
///     auto inputs = infeed::csv("clicks-*.csv.gz", 1024)
///         | infeed::features({f::HashBuckets{.column = "user", .buckets = 1'000'000},
///                             f::Vocabulary{.column = "city", .file = "cities.txt", .oov_buckets = 1},
///                             f::Split{.column = "tags", .delimiter = "|"},
///                             f::HashBuckets{.column = "tags", .buckets = 50'000}},
///                            {.parallelism = infeed::autotune});
///
/// Features::from_json() reads the operations from a file. A value that an operation can't take is
/// an error in the place of its batch. Checkpoints are bound to the operations, their options and
/// the words of vocabularies.
inline auto features(Features steps, FeaturesOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_features(Features steps, Count parallelism, NodePointer input);

struct FeaturesStageFactory {
  using ComposesAsStage = void;
  Features steps;
  Count parallelism;

  template <class Element>
  Dataset<ColumnBatch> operator()(const Dataset<Element>& input) const {
    static_assert(std::is_same_v<Element, ColumnBatch>,
                  "infeed::features: the dataset's Element must be an infeed::ColumnBatch, as csv, "
                  "json_lines and parse_columns give them");
    if constexpr (std::is_same_v<Element, ColumnBatch>) {
      return Dataset<ColumnBatch>(make_features(steps, parallelism, input.node()));
    } else {
      return refused<ColumnBatch>();
    }
  }
};

}  // namespace detail

inline auto features(Features steps, FeaturesOptions options) {
  return named_stage(options.name,
                     detail::FeaturesStageFactory{std::move(steps), options.parallelism});
}

}  // namespace infeed
