#include <cstdint>
#include <gmock/gmock.h>
#include <optional>
#include <stdexcept>

#include <infeed/agree.h>
#include <infeed/equal_steps.h>

#include "world/hearing_rank.h"

namespace infeed::test {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(RanksThatLeave, HaveToldTheOthersHowTheyDiffer) {
  EXPECT_THAT(errors_of_leaving_ranks([](Communicator& rank) {
                agree(rank, "the start", {{"seed", rank.world().rank == 2 ? "43" : "42"}});
              }),
              Each(HasSubstr("rank 2 has '43', rank 0 has '42'")));
  EXPECT_THAT(errors_of_leaving_ranks([](Communicator& rank) {
                cross_check(rank, 5, [&](const World& place) -> std::uint64_t {
                  return place.rank == 2 && rank.world().rank == 2 ? 7 : 8;
                });
              }),
              Each(HasSubstr("rank 2 made a batch of hash")));
}

TEST(RanksThatLeave, HaveToldTheOthersWhyTheyFailed) {
  EXPECT_THAT(errors_of_leaving_ranks([](Communicator& rank) {
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
