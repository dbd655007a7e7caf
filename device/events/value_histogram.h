#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace infeed::detail {

/// The distribution of values, in the buckets of TensorFlow's histograms
/// (tensorflow/core/lib/histogram): their limits are 0 and +-1e-12 * 1.1^k up to 1e20, and the last
/// ones are open.
struct ValueHistogram {
  struct Bucket {
    double limit = 0;  ///< the excluded right end; the left one is the limit before
    std::int64_t count = 0;
  };

  explicit ValueHistogram(std::span<const float> values);

  std::int64_t count = 0;
  std::int64_t not_finite = 0;  ///< NaN and infinity, which count nowhere else
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  /// Buckets from the first to the last one with values; adjacent empty ones are merged. Without
  /// values there is a single bucket.
  std::vector<Bucket> buckets;
};

}  // namespace infeed::detail
