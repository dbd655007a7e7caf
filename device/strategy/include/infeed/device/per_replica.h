#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// Why: what the replicas of a step hold at the same time, one value each: shares of a batch, losses,
/// tensors.
///
///     infeed::PerReplica<double> losses({0.5, 0.25});
///     losses[1];                                                 // 0.25
///
/// Ownership and thread-safety: a value, as its values are.
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
  /// In replica order.
  const std::vector<T>& values() const { return values_; }
  /// Returns, for a step's shares, the time that each host's pipeline took; empty where nobody knows.
  std::span<const std::int64_t> service_ns() const { return service_ns_; }

 private:
  std::vector<T> values_;
  std::vector<std::int64_t> service_ns_;
};

/// How values of all replicas become one.
enum class Reduction : std::uint8_t {
  sum,
  /// x / replicas, then the sum. Of shares with different numbers of rows it is *not* the mean of the
  /// rows: for losses take the sum, divided by the examples of the whole batch (nn::average_loss).
  mean,
};

}  // namespace infeed
