#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <infeed/communicator.h>

#include "world/local_world.h"

/// A rank that throws leaves the job, and the others hear of that: MPI's ranks tell each other.
namespace infeed::test {

/// A rank that hears of those that have left. Rank 1 is slow to look for what the others sent.
class HearingRank final : public ForwardingRank {
 public:
  HearingRank(Communicator& rank, const std::atomic<bool>& has_one_left)
      : ForwardingRank(rank), has_one_left_(has_one_left) {}

  void exchange(detail::Outgoing outgoing, detail::Incoming incoming,
                std::string_view purpose) override {
    const std::size_t own = static_cast<std::size_t>(world().rank);
    std::vector<std::span<std::byte>> only_own(incoming.size());
    only_own[own] = incoming[own];
    ForwardingRank::exchange(outgoing, only_own, purpose);
    if (own == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (has_one_left_) throw RankLost(0, "rank 0 has left the job because of an error");
    std::vector<std::span<std::byte>> of_others(incoming.begin(), incoming.end());
    of_others[own] = {};
    ForwardingRank::exchange(std::vector<std::span<const std::byte>>(outgoing.size()), of_others,
                             purpose);
  }

 private:
  const std::atomic<bool>& has_one_left_;
};

/// Returns the errors of three ranks, of which the first that throws leaves at once.
inline std::vector<std::string> errors_of_leaving_ranks(
    const std::function<void(Communicator&)>& body) {
  LocalWorld world(3);
  std::atomic<bool> has_one_left{false};
  return world.run([&](Communicator& rank) {
    HearingRank hearing(rank, has_one_left);
    try {
      body(hearing);
    } catch (...) {
      has_one_left = true;
      throw;
    }
  });
}

}  // namespace infeed::test
