#include "infeed/device/service_times.h"

#include <utility>

#include <infeed/pipeline/philox.h>

#include "refuse.h"

namespace infeed {
namespace {

constexpr std::int64_t kLongestPs = 1'000'000'000'000'000'000;

/// Returns a place below `count`, each as likely to within 2^-32: decided by the upper 32 of 64
/// random bits first.
std::size_t place_below(std::uint64_t random, std::size_t count) {
  const std::uint64_t bound = count;
  const std::uint64_t high = (random >> 32) * bound;
  const std::uint64_t low = ((random & 0xFFFFFFFF) * bound) >> 32;
  return static_cast<std::size_t>((high + low) >> 32);
}

}  // namespace

ServiceTimes::ServiceTimes(std::vector<std::int64_t> ps, Choice choice, std::uint64_t seed)
    : ps_(std::move(ps)), choice_(choice), seed_(seed) {
  if (ps_.empty()) detail::refuse("there is no service time; give at least one");
  for (std::size_t i = 0; i < ps_.size(); ++i) {
    if (ps_[i] >= 0 && ps_[i] <= kLongestPs) continue;
    detail::refuse("service time {} of {} is {} ps; expected 0 to {} ps", i, ps_.size(), ps_[i],
                   kLongestPs);
  }
}

ServiceTimes ServiceTimes::constant(std::int64_t ps) { return in_order({ps}); }

ServiceTimes ServiceTimes::in_order(std::vector<std::int64_t> ps) {
  return {std::move(ps), Choice::in_order, 0};
}

ServiceTimes ServiceTimes::replayed(std::vector<std::int64_t> ps, std::uint64_t seed) {
  return {std::move(ps), Choice::replayed, seed};
}

ServiceTimes ServiceTimes::drawn(std::vector<std::int64_t> ps, std::uint64_t seed) {
  return {std::move(ps), Choice::drawn, seed};
}

ServiceTimes ServiceTimes::of_hosts(std::vector<ServiceTimes> hosts) {
  if (hosts.empty()) {
    detail::refuse("there are service times of no host; give those of each host of the slice");
  }
  for (const ServiceTimes& host : hosts) {
    if (host.num_hosts() == 0) continue;
    detail::refuse(
        "the service times of one host are those of {} hosts; give one source of times for each "
        "host",
        host.num_hosts());
  }
  ServiceTimes times;
  times.hosts_ = std::move(hosts);
  return times;
}

std::size_t ServiceTimes::first_place(std::int32_t host) const {
  if (choice_ != Choice::replayed) return 0;
  return place_below(Philox(seed_, static_cast<std::uint64_t>(host)).word_pair(0), ps_.size());
}

std::int64_t ServiceTimes::ps(std::int32_t host, std::int64_t step) const {
  if (!hosts_.empty()) return hosts_.at(static_cast<std::size_t>(host)).ps(host, step);
  const auto at = static_cast<std::uint64_t>(step);
  if (choice_ == Choice::drawn) {
    const Philox words(seed_, static_cast<std::uint64_t>(host));
    return ps_[place_below(words.word_pair(at), ps_.size())];
  }
  return ps_[(first_place(host) + at % ps_.size()) % ps_.size()];
}

ServiceTimes::Reader::Reader(const ServiceTimes& times, std::int32_t host)
    : times_(times.hosts_.empty() ? &times : &times.hosts_.at(static_cast<std::size_t>(host))),
      host_(host),
      place_(times_->first_place(host)) {}

}  // namespace infeed
