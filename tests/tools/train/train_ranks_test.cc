#include "train/train_ranks.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace infeed::test {
namespace {

/// A rank that feeds others wrote PATH, which hid the trainers' recordings.
TEST(TrainRanks, EachRecordsToAFileOfItsOwn) {
  const auto file_of = [](const World& world, std::string_view role) {
    ::setenv("INFEED_PROFILE", "run.profile", 1);
    tools::record_by_rank(world, role);
    std::string file = std::getenv("INFEED_PROFILE");
    ::unsetenv("INFEED_PROFILE");
    return file;
  };
  EXPECT_EQ(file_of({.rank = 2, .size = 3}, "rank"), "run.profile.rank2");
  EXPECT_EQ(file_of({.rank = 1, .size = 3}, "feed"), "run.profile.feed1");
  EXPECT_EQ(file_of({}, "rank"), "run.profile");
  tools::record_by_rank({.rank = 1, .size = 2});
  EXPECT_EQ(std::getenv("INFEED_PROFILE"), nullptr) << "nobody asked for a recording";
}

}  // namespace
}  // namespace infeed::test
