#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/device/slice.h>

/// Why: a program connects to its slice and initialises it once, before anything else. A program
/// that forgets it, or does it twice, gets an error at once instead of a hang.
///
///     infeed::Cluster cluster = infeed::Cluster::connect("v3-8");
///     cluster.initialize();
///     cluster.devices()[3].name();       // "/job:worker/replica:0/task:0/device:TPU:3"
///
/// Ownership: a handle; copies refer to the same cluster.
/// Thread-safety: any thread.
/// Errors: invalid_argument for an unknown slice, with the nearest names; failed_precondition for
/// devices before initialize(), and for a second initialize(), which on a TPU drops all variables.
namespace infeed {

class Cluster {
 public:
  static Cluster connect(std::string_view slice);
  explicit Cluster(Slice slice) : slice_(std::move(slice)) {}

  void initialize();
  bool is_initialized() const { return *is_initialized_; }
  const Slice& slice() const { return slice_; }
  /// Returns one device a replica, in replica order.
  std::vector<LogicalDevice> devices() const;

 private:
  Slice slice_;
  std::shared_ptr<std::atomic<bool>> is_initialized_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace infeed
