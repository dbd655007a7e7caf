#pragma once

#include <infeed/pipeline/padded_batch.h>

namespace infeed {

struct RaggedBatchOptions {
  /// Leaves out the last batch if it is short.
  bool drop_remainder = false;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Puts `size` consecutive sequences of different lengths into one RaggedBatch: all values one
/// after the other, and where each sequence begins. Nothing is padded.
///
///     sentences | infeed::ragged_batch(32)
///
/// An error comes in its element's place, and the batch goes on filling.
inline auto ragged_batch(std::int64_t size, RaggedBatchOptions options = {});

// Only the library reads what follows.
namespace detail {

std::string ragged_batch_signature(std::int64_t size, const RaggedBatchOptions& options);

struct RaggedBatchStageFactory {
  using ComposesAsStage = void;
  std::int64_t size;
  RaggedBatchOptions options;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    require_columns<T>();
    static_assert(sequence_count<T>() > 0 || has_no_columns<T>(),
                  "infeed::ragged_batch: the elements must be std::vectors, or structs, pairs or "
                  "tuples with a std::vector among their fields; for others use infeed::batch");
    if constexpr (sequence_count<T>() == 0) {
      return refused();
    } else {
      GroupingSpec spec{.name = "ragged_batch", .signature = ragged_batch_signature(size, options)};
      spec.drop_remainder = options.drop_remainder;
      PaddedBatchContext context{
          size, std::vector<PaddingOfField>(leaf_count<T>(), {.memory = options.memory})};
      return group_sequences<RaggedBatch<T>>(std::move(spec), std::move(context), input.node());
    }
  }
};

}  // namespace detail

inline auto ragged_batch(std::int64_t size, RaggedBatchOptions options) {
  return named_stage(options.name, detail::RaggedBatchStageFactory{size, options});
}

}  // namespace infeed
