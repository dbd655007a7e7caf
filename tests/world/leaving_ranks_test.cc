#include <atomic>
#include <chrono>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include <infeed/agree.h>
#include <infeed/equal_steps.h>

#include "world/local_world.h"

/// A rank that throws leaves the job, and the others hear of that: MPI's ranks tell each other.
namespace infeed::test {
namespace {

using testing::Each;
using testing::HasSubstr;

/// A rank that hears of those that have left. Rank 1 is slow to look for what the others sent.
class HearingRank final : public Communicator {
 public:
  HearingRank(Communicator& rank, const std::atomic<bool>& has_one_left)
      : rank_(rank), has_one_left_(has_one_left) {}

  World world() const override { return rank_.world(); }
  void exchange(detail::Outgoing outgoing, detail::Incoming incoming,
                std::string_view purpose) override {
    const std::size_t own = static_cast<std::size_t>(world().rank);
    std::vector<std::span<std::byte>> only_own(incoming.size());
    only_own[own] = incoming[own];
    rank_.exchange(outgoing, only_own, purpose);
    if (own == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (has_one_left_) throw RankLost(0, "rank 0 has left the job because of an error");
    std::vector<std::span<std::byte>> of_others(incoming.begin(), incoming.end());
    of_others[own] = {};
    rank_.exchange(std::vector<std::span<const std::byte>>(outgoing.size()), of_others, purpose);
  }
  [[noreturn]] void abort(std::string_view reason) override {
    rank_.abort(reason);
    std::terminate();
  }
  void send(int rank, int tag, std::span<const std::byte> bytes) override {
    rank_.send(rank, tag, bytes);
  }
  std::optional<Message> receive_any(std::chrono::nanoseconds limit) override {
    return rank_.receive_any(limit);
  }

 private:
  Communicator& rank_;
  const std::atomic<bool>& has_one_left_;
};

/// Returns the errors of three ranks.
std::vector<std::string> errors_of(const std::function<void(Communicator&)>& body) {
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

TEST(RanksThatLeave, HaveToldTheOthersHowTheyDiffer) {
  EXPECT_THAT(errors_of([](Communicator& rank) {
                agree(rank, "the start", {{"seed", rank.world().rank == 2 ? "43" : "42"}});
              }),
              Each(HasSubstr("rank 2 has '43', rank 0 has '42'")));
  EXPECT_THAT(errors_of([](Communicator& rank) {
                cross_check(rank, 5, [&](const World& place) -> std::uint64_t {
                  return place.rank == 2 && rank.world().rank == 2 ? 7 : 8;
                });
              }),
              Each(HasSubstr("rank 2 made a batch of hash")));
}

TEST(RanksThatLeave, HaveToldTheOthersWhyTheyFailed) {
  EXPECT_THAT(errors_of([](Communicator& rank) {
                EqualSteps<int> steps(
                    [&]() -> std::optional<int> {
                      if (rank.world().rank == 2) throw std::runtime_error("the disk is full");
                      return 1;
                    },
                    rank, StepsEnd::with_last);
                steps.next();
              }),
              Each(HasSubstr("the disk is full")));
}

}  // namespace
}  // namespace infeed::test
