#include <functional>
#include <gmock/gmock.h>
#include <mutex>

#include "train/ranks/training_ranks.h"
#include "world/hearing_rank.h"

namespace infeed::test {
namespace {

using testing::Each;
using testing::HasSubstr;

std::vector<std::string> errors_of_training(
    const std::function<void(detail::TrainingRanks&)>& training) {
  return errors_of_leaving_ranks([&](Communicator& rank) {
    detail::TrainingRanks ranks(rank, 8, {});
    const std::lock_guard work(ranks.working());
    training(ranks);
  });
}

TEST(TrainingRanksThatLeave, HaveToldTheOthersThatTheyHaveOtherBatches) {
  EXPECT_THAT(errors_of_training([](detail::TrainingRanks& ranks) {
                ranks.agree({.step = 4, .order_hash = ranks.world().rank == 2 ? 7U : 8U});
              }),
              Each(HasSubstr("rank 2 begins step 5 with the order hash 0000000000000007")));
}

TEST(TrainingRanksThatLeave, HaveToldTheOthersWhyTheyFailed) {
  EXPECT_THAT(errors_of_training([](detail::TrainingRanks& ranks) {
                if (ranks.world().rank == 2) {
                  const Error error(ErrorCode::data_loss, "the disk of this host is bad");
                  ranks.tell_failure(error);
                  throw error;
                }
                ranks.agree({.step = 4});
              }),
              Each(HasSubstr("the disk of this host is bad")));
}

TEST(TrainingRanksThatLeave, HaveToldTheOthersHowTheirValuesDiffer) {
  EXPECT_THAT(errors_of_training([](detail::TrainingRanks& ranks) {
                ranks.require_equal("seed", ranks.world().rank == 2 ? "43" : "42");
              }),
              Each(HasSubstr("rank 2 has '43'")));
}

}  // namespace
}  // namespace infeed::test
