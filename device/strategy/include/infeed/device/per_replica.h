#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// Why: one value for each replica of a step: shares of a batch, losses, tensors.
///
///     infeed::PerReplica<double> losses({0.5, 0.25});
///     losses[1];                                                 // 0.25
///
/// Ownership and thread-safety: those of a vector of its values.
namespace infeed {

template <class T>
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<T> values, std::vector<std::int64_t> service_ns = {})
      : values_(std::move(values)), service_ns_(std::move(service_ns)) {}

  std::int32_t size() const { return static_cast<std::int32_t>(values_.size()); }
  const T& operator[](std::int32_t replica) const {
    return values_[static_cast<std::size_t>(replica)];
  }
  /// The values in replica order.
  const std::vector<T>& values() const { return values_; }
  /// Returns, for a step's shares, the time that each host's pipeline took; empty if not measured.
  std::span<const std::int64_t> service_ns() const { return service_ns_; }

 private:
  std::vector<T> values_;
  std::vector<std::int64_t> service_ns_;
};

/// The way in which the values of all replicas become one.
enum class Reduction : std::uint8_t {
  sum,
  /// x / replicas, then the sum. If the shares have different numbers of rows, this is *not* the
  /// mean of the rows: for losses take the sum, divided by the examples of the whole batch
  /// (nn::average_loss).
  mean,
};

}  // namespace infeed
