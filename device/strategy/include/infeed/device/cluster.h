#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <infeed/device/slice.h>

/// Why: a program connects to its slice and initialises it once, before anything else; who forgets
/// it, or does it twice, learns that at once and not from a hang.
///
///     infeed::Cluster cluster = infeed::Cluster::connect("v3-8");
///     cluster.initialize();
///     cluster.devices()[3].name();       // "/job:worker/replica:0/task:0/device:TPU:3"
///
/// Ownership: a handle; copies are the same cluster.
/// Thread-safety: any thread.
/// Errors: invalid_argument for an unknown slice, with the nearest names; failed_precondition for
/// devices before initialize(), and for a second initialize(), which on a TPU drops all variables.
namespace infeed {

class Cluster {
 public:
  static Cluster connect(std::string_view slice);
  explicit Cluster(Slice slice);

  void initialize();
  bool is_initialized() const;
  const Slice& slice() const;
  /// One a replica, in replica order.
  std::vector<LogicalDevice> devices() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace infeed
