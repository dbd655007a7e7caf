#include "infeed/pipeline/bucket_by_sequence_length.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace infeed::detail {

void check_buckets(const BucketOptions& options, bool is_padded) {
  const bool says_padding = options.pad_to_boundary || !options.widths.empty() ||
                            options.padding != 0 || !options.paddings.empty();
  if (!is_padded && says_padding) {
    throw Error(ErrorCode::invalid_argument,
                "bucket_by_sequence_length: ragged batches have no padding; leave out "
                "pad_to_boundary, widths, padding and paddings, or take padded batches");
  }
  const auto& boundaries = options.boundaries;
  const auto not_ascending = [](std::int64_t a, std::int64_t b) { return a >= b; };
  const bool ascending =
      std::adjacent_find(boundaries.begin(), boundaries.end(), not_ascending) == boundaries.end();
  const bool sizes_are_positive =
      std::all_of(options.batch_sizes.begin(), options.batch_sizes.end(),
                  [](std::int64_t size) { return size > 0; });
  if (ascending && sizes_are_positive && (boundaries.empty() || boundaries.front() > 0) &&
      options.batch_sizes.size() == boundaries.size() + 1) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("bucket_by_sequence_length: boundaries are [{}] and batch_sizes [{}]; "
                          "boundaries must be above 0 and ascend, batch_sizes be at least 1 and "
                          "one more than the boundaries",
                          fmt::join(boundaries, ", "), fmt::join(options.batch_sizes, ", ")));
}

std::string buckets_signature(const BucketOptions& options) {
  return fmt::format("bucket_by_sequence_length(boundaries=[{}], batch_sizes=[{}]{}{}{})",
                     fmt::join(options.boundaries, " "), fmt::join(options.batch_sizes, " "),
                     padding_signature(options.widths, options.padding, options.paddings),
                     options.pad_to_boundary ? ", pad_to_boundary" : "",
                     options.drop_remainder ? ", drop_remainder" : "");
}

std::int64_t bucket_of(const BucketOptions& options, std::int64_t length) {
  const auto& boundaries = options.boundaries;
  return std::upper_bound(boundaries.begin(), boundaries.end(), length) - boundaries.begin();
}

std::int64_t bucket_width(const BucketOptions& options, std::int64_t bucket) {
  if (!options.pad_to_boundary) return -1;
  if (static_cast<std::size_t>(bucket) < options.boundaries.size()) {
    return options.boundaries[static_cast<std::size_t>(bucket)] - 1;
  }
  throw Error(ErrorCode::data_loss,
              fmt::format("bucket_by_sequence_length: a sequence is not below the last boundary "
                          "({}), so there is none to pad it to; add a boundary, or filter it out",
                          options.boundaries.empty() ? 0 : options.boundaries.back()));
}

}  // namespace infeed::detail
