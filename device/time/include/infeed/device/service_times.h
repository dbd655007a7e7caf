#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Why: all hosts wait for the slowest, so slow batches matter more than the mean time of a batch.
/// run_virtual() takes each host's time for each batch from here; the times are measured or made
/// up.
///
///     auto times = infeed::ServiceTimes::drawn({900'000'000, 1'100'000'000}, 7);   // 0.9, 1.1 ms
///     times.ps(3, 41);     // what host 3 needs for its part of step 41
///
/// A time depends only on host, step and seed. So a run can be repeated, and a host's times don't
/// depend on the number of hosts.
///
/// Thread-safety: values; const access from any thread. Errors (invalid_argument): an empty list, a
/// negative time, or one above 10^18 ps (11 days).
namespace infeed {

class ServiceTimes {
 public:
  /// Gives the same time to each batch of each host.
  static ServiceTimes constant(std::int64_t ps);
  /// Gives all times to each host, in order, and begins again.
  static ServiceTimes in_order(std::vector<std::int64_t> ps);
  /// Like in_order(), but each host begins at a place that the seed chooses: the order of the
  /// recording stays, and hosts are not slow together.
  static ServiceTimes replayed(std::vector<std::int64_t> ps, std::uint64_t seed);
  /// Draws a time for each batch of each host with the seed, independently.
  static ServiceTimes drawn(std::vector<std::int64_t> ps, std::uint64_t seed);
  /// Host h takes the times of `hosts[h]`, which must not come from of_hosts() itself.
  static ServiceTimes of_hosts(std::vector<ServiceTimes> hosts);

  std::int64_t ps(std::int32_t host, std::int64_t step) const;

  /// A host's times from step 0 on, one by one: quicker than ps(). Refers to the ServiceTimes.
  class Reader {
   public:
    Reader(const ServiceTimes& times, std::int32_t host);
    std::int64_t next() {
      if (times_->choice_ == Choice::drawn) return times_->ps(host_, step_++);
      const std::int64_t ps = times_->ps_[place_];
      place_ = place_ + 1 < times_->ps_.size() ? place_ + 1 : 0;
      return ps;
    }

   private:
    const ServiceTimes* times_;
    std::int32_t host_;
    std::int64_t step_ = 0;
    std::size_t place_ = 0;
  };

  /// Number of hosts that have times, after of_hosts(); 0: any number.
  std::int32_t num_hosts() const { return static_cast<std::int32_t>(hosts_.size()); }

 private:
  enum class Choice { in_order, replayed, drawn };

  ServiceTimes() = default;
  ServiceTimes(std::vector<std::int64_t> ps, Choice choice, std::uint64_t seed);

  /// Returns where the host begins in `ps_`, unless its times are drawn.
  std::size_t first_place(std::int32_t host) const;

  std::vector<std::int64_t> ps_;
  Choice choice_ = Choice::in_order;
  std::uint64_t seed_ = 0;
  std::vector<ServiceTimes> hosts_;
};

}  // namespace infeed
