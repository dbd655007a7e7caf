#pragma once

#include <cstdint>
#include <vector>

#include <infeed/pipeline/padded_batch.h>

namespace infeed {

struct BucketOptions {
  /// Ascending boundaries. Bucket i holds the elements with boundaries[i-1] <= length <
  /// boundaries[i]. The first bucket holds all below boundaries[0], the last one all from the last
  /// boundary on.
  std::vector<std::int64_t> boundaries = {};
  /// One size per bucket, so one more than boundaries.
  std::vector<std::int64_t> batch_sizes = {};
  /// Pads to the longest sequence that the bucket can hold, boundaries[i] - 1, so that few shapes
  /// occur. Elements from the last boundary on are then errors in their places.
  bool pad_to_boundary = false;
  /// Mean the same as in PaddedBatchOptions. A width overrides pad_to_boundary.
  std::vector<std::int64_t> widths = {};
  double padding = 0;
  std::vector<double> paddings = {};
  /// Leaves out the batches that aren't full at the end.
  bool drop_remainder = false;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Batches each sequence with others of about the same length, so that little is padding.
///
///     sentences | infeed::bucket_by_sequence_length(
///                     [](const Sentence& s) { return s.tokens.size(); },
///                     {.boundaries = {16, 64}, .batch_sizes = {64, 32, 8}})
///
/// A full batch leaves its bucket at once. At the end of the input the other batches leave,
/// shortest sequences first. A failed element, and one that can't be padded to its boundary, is an
/// error in its place. All elements in the buckets count in the iterator's memory limit.
///
/// It can also make RaggedBatches, without padding (TensorFlow's no_padding):
///
///     sentences | infeed::bucket_by_sequence_length<infeed::Ragged>(
///                     [](const Sentence& s) { return s.tokens.size(); },
///                     {.boundaries = {16}, .batch_sizes = {64, 8}})
template <template <class> class Sequence = Padded, class F>
auto bucket_by_sequence_length(F length, BucketOptions options);

// Only the library reads what follows.
namespace detail {

/// Throws Error(invalid_argument).
void check_buckets(const BucketOptions& options, bool is_padded);
std::string buckets_signature(const BucketOptions& options);
std::int64_t bucket_of(const BucketOptions& options, std::int64_t length);
/// Returns the width of the bucket's batches; -1: that of the longest row. Throws Error(data_loss)
/// if there is no boundary to pad to.
std::int64_t bucket_width(const BucketOptions& options, std::int64_t bucket);

template <class F>
struct BucketContext {
  BucketOptions options;
  std::shared_ptr<const F> length;
  std::vector<PaddingOfField> paddings = {};  ///< from the options, without pad_to_boundary
};

template <class T, template <class> class Sequence, class F>
struct BucketKernels {
  using Context = BucketContext<F>;

  static std::int64_t key(const void* context, const void* row) {
    const auto& bucket = *static_cast<const Context*>(context);
    return bucket_of(bucket.options,
                     static_cast<std::int64_t>((*bucket.length)(*static_cast<const T*>(row))));
  }
  static std::int64_t size(const void* context, std::int64_t key) {
    return static_cast<const Context*>(context)->options.batch_sizes[static_cast<std::size_t>(key)];
  }
  static std::vector<PaddingOfField> paddings(const void* context, std::int64_t key) {
    const auto& bucket = *static_cast<const Context*>(context);
    std::vector<PaddingOfField> all = bucket.paddings;
    for (PaddingOfField& field : all) {
      if (field.width < 0) field.width = bucket_width(bucket.options, key);
    }
    return all;
  }
  static void check(const void* context, std::int64_t key, const void* row) {
    check_widths("bucket_by_sequence_length", *static_cast<const T*>(row),
                 paddings(context, key).data());
  }
  static void assemble(const void* context, std::int64_t key, void* rows, std::size_t count,
                       void* out) {
    ::new (out) SequenceBatch<T, Sequence>(std::span<T>(static_cast<T*>(rows), count),
                                           paddings(context, key));
  }
  static std::uint64_t assembled_bytes(const void* context, std::int64_t key, const void* rows,
                                       std::size_t count) {
    return padded_bytes<T>(paddings(context, key), rows, count);
  }
};

template <template <class> class Sequence, class F>
struct BucketStageFactory {
  using ComposesAsStage = void;
  std::shared_ptr<const BucketContext<F>> context;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    static_assert(kCallable<F, const T&>,
                  "infeed::bucket_by_sequence_length: the length function must be callable as "
                  "const with const T&, and return an integer");
    static_assert(sequence_count<T>() > 0,
                  "infeed::bucket_by_sequence_length: the elements must be std::vectors, or "
                  "structs, pairs or tuples with a std::vector among their fields");
    using Kernels = BucketKernels<T, Sequence, F>;
    using Out = SequenceBatch<T, Sequence>;
    auto complete = std::make_shared<BucketContext<F>>(*context);
    complete->paddings = paddings_of<T>("bucket_by_sequence_length", context->options);
    GroupingSpec spec{.name = "bucket_by_sequence_length",
                      .signature = buckets_signature(context->options)};
    spec.out_type = &type_info<Out>();
    spec.context = complete;
    spec.key = &Kernels::key;
    spec.size = &Kernels::size;
    if (context->options.pad_to_boundary || !context->options.widths.empty()) {
      spec.check = &Kernels::check;
    }
    spec.assemble = &Kernels::assemble;
    if constexpr (std::is_same_v<Out, PaddedBatch<T>>) {
      spec.assembled_bytes = &Kernels::assembled_bytes;
    }
    spec.drop_remainder = context->options.drop_remainder;
    return Dataset<Out>(make_grouping(std::move(spec), input.node()));
  }
};

}  // namespace detail

template <template <class> class Sequence, class F>
auto bucket_by_sequence_length(F length, BucketOptions options) {
  detail::check_buckets(options, std::is_same_v<Sequence<int>, Padded<int>>);
  return named_stage(
      options.name,
      detail::BucketStageFactory<Sequence, F>{std::make_shared<const detail::BucketContext<F>>(
          detail::BucketContext<F>{options, std::make_shared<const F>(std::move(length))})});
}

}  // namespace infeed
