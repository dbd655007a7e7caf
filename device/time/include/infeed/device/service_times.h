#pragma once

#include <cstdint>
#include <vector>

/// Why: how a slice is fed depends on how long a host needs for each batch, and more on the slow
/// batches than on the mean: all hosts wait for the slowest. This is where run_virtual() takes
/// those times from: measured ones, or made up.
///
///     auto times = infeed::ServiceTimes::drawn({900'000'000, 1'100'000'000}, 7);   // 0.9, 1.1 ms
///     times.ps(3, 41);     // what host 3 needs for its part of step 41
///
/// A pure function of host and step (and of the seed), so that a run may be repeated, and a host's
/// times don't depend on how many others there are.
///
/// Thread-safety: values; const access from any thread. Errors (invalid_argument): no time at all, a
/// negative one, or one above 10^18 ps (11 days).
namespace infeed {

class ServiceTimes {
 public:
  /// The same for each batch of each host.
  static ServiceTimes constant(std::int64_t ps);
  /// Each host takes all of them, in order, and begins again.
  static ServiceTimes in_order(std::vector<std::int64_t> ps);
  /// As in_order(), but each host begins at a place that the seed chooses: what follows each other
  /// in the recording does so here, and hosts are not slow together.
  static ServiceTimes replayed(std::vector<std::int64_t> ps, std::uint64_t seed);
  /// Each batch of each host takes one of them, drawn with the seed, independently.
  static ServiceTimes drawn(std::vector<std::int64_t> ps, std::uint64_t seed);
  /// Host h takes what `hosts[h]`, which is none of these itself, gives it.
  static ServiceTimes of_hosts(std::vector<ServiceTimes> hosts);

  std::int64_t ps(std::int32_t host, std::int64_t step) const;
  /// How many hosts have times, after of_hosts(); 0: any number of them.
  std::int32_t num_hosts() const { return static_cast<std::int32_t>(hosts_.size()); }

 private:
  enum class Choice { in_order, replayed, drawn };

  ServiceTimes() = default;
  ServiceTimes(std::vector<std::int64_t> ps, Choice choice, std::uint64_t seed);

  std::vector<std::int64_t> ps_;
  Choice choice_ = Choice::in_order;
  std::uint64_t seed_ = 0;
  std::vector<ServiceTimes> hosts_;
};

}  // namespace infeed
