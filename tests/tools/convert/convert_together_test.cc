#include "convert/convert_together.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "convert/conversion_plan.h"
#include "test_seed.h"
#include "tools/convert/numbered_inputs.h"
#include "tools/convert/shared_conversion.h"
#include "world/local_world.h"

/// The ranks of a job convert together: as threads, and as processes of mpirun where that is.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tools::convert_together;
using tools::ConvertOptions;
using tools::ConvertResult;

class ConvertTogether : public ::testing::Test {
 protected:
  ConvertOptions options(const std::string& output) const {
    return {.prefix = folder_.file(output + "/data"),
            .shard_count = 24,
            .durability = Durability::leave_to_system,
            .threads = 2};
  }
  std::string differences() const {
    return difference(folder_content(folder_.file("whole")), folder_content(folder_.file("out")));
  }

  const TemporaryFolder folder_;
};

TEST_F(ConvertTogether, AnyNumberOfRanksMakesTheBytesOfOneProcess) {
  const auto input = numbered_input(folder_, 5'000);
  tools::convert(*input, options("whole"));
  for (const int size : {1, 2, 3, 5}) {
    SCOPED_TRACE(size);
    LocalWorld world(size);
    const auto errors = world.run([&](Communicator& ranks) {
      const ConvertResult made = convert_together(*input, options("out"), ranks);
      EXPECT_EQ(made.manifest.examples(), ranks.world().rank == 0 ? 5'000U : 0U);
      EXPECT_FALSE(made.was_complete);
      EXPECT_TRUE(convert_together(*input, options("out"), ranks).was_complete);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    EXPECT_EQ(differences(), "");
    fs::remove_all(folder_.file("out"));
  }
}

TEST_F(ConvertTogether, OverwritesWhatIsThere) {
  const auto input = numbered_input(folder_, 500);
  tools::convert(*input, options("whole"));
  ConvertOptions other = options("out");
  other.seed = 3;
  tools::convert(*input, other);
  LocalWorld world(3);
  ConvertOptions replacing = options("out");
  const auto refused =
      world.run([&](Communicator& ranks) { convert_together(*input, replacing, ranks); });
  EXPECT_THAT(refused, Each(HasSubstr("is there already")));
  replacing.existing = tools::ExistingDataset::replace;
  LocalWorld next(3);
  const auto errors =
      next.run([&](Communicator& ranks) { convert_together(*input, replacing, ranks); });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_EQ(differences(), "");
}

TEST_F(ConvertTogether, RanksWithOtherArgumentsAreNamed) {
  const auto input = numbered_input(folder_, 500);
  LocalWorld world(3);
  const auto errors = world.run([&](Communicator& ranks) {
    ConvertOptions own = options("out");
    if (ranks.world().rank == 2) own.seed = 3;
    convert_together(*input, own, ranks);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("rank 2"), HasSubstr("plan of the conversion"))));
  EXPECT_FALSE(fs::exists(folder_.file("out")));
}

/// After an error at one rank the others stop, and the next call of another number goes on.
TEST_F(ConvertTogether, AfterAFailedRankTheNextCallGoesOn) {
  std::stop_source stop;
  const NumberInput bad({2'000}, 1'000'000, stop, 3'000);
  const NumberInput good({}, 1'000'000, stop, 3'000);
  tools::convert(good, options("whole"));
  LocalWorld world(3);
  const auto errors = world.run([&](Communicator& ranks) {
    try {
      convert_together(bad, options("out"), ranks);
    } catch (const Error& error) {
      ranks.abort(error.what());
    }
  });
  EXPECT_THAT(errors, Each(HasSubstr("number 2000 is bad")));
  EXPECT_FALSE(fs::exists(folder_.file("out/data.manifest.json")));
  LocalWorld next(2);
  std::uint32_t found = 0;
  EXPECT_THAT(next.run([&](Communicator& ranks) {
    const ConvertResult made = convert_together(good, options("out"), ranks);
    if (ranks.world().rank == 0) found = made.shards_found;
  }),
              Each(IsEmpty()));
  EXPECT_GT(found, 0);
  EXPECT_EQ(differences(), "");
}

TEST_F(ConvertTogether, WithoutMpiTheProcessesAreToldWhatToDo) {
  write_whole(folder_.file("t.csv"), "a\n1\n2\n3\n");
  const auto run = [&](const std::vector<std::string>& more) {
    return run_infeed(with({"convert", folder_.file("t.csv"), "-o", folder_.file("out")}, more),
                      {.environment = {{"RANK", "1"}, {"WORLD_SIZE", "4"}}});
  };
  const ProgramResult refused = run({});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("process 1 of 4"), HasSubstr("WORLD_SIZE"),
                                 HasSubstr("--shard i/n"), HasSubstr("--alone")));
  EXPECT_FALSE(fs::exists(folder_.file("out")));
  EXPECT_EQ(run({"--shard", "1/4"}).status, 0);
  const ProgramResult alone = run({"--alone"});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_TRUE(fs::exists(folder_.file("out/data.manifest.json")));
}

/// A rank that takes part in the agreement and is silent from then on.
TEST_F(ConvertTogether, ASilentRankIsNamed) {
  const auto input = numbered_input(folder_, 500);
  for (const int silent : {0, 2}) {
    LocalWorld world(3);
    std::atomic<int> named{0};
    world.run([&](Communicator& ranks) {
      try {
        if (ranks.world().rank == silent) {
          require_equal(ranks, "plan of the conversion",
                        tools::make_plan(*input, options("out")).text);
          barrier(ranks, "begin of the conversion");
          barrier(ranks, "begin of the shards");
          for (int seen = named; seen < 2; seen = named) named.wait(seen);
          return;
        }
        convert_together(*input, options("out"), ranks, std::chrono::seconds(1));
      } catch (const Error& error) {
        if (error.message().find(fmt::format("rank {} has given no sign of life", silent)) !=
            std::string::npos) {
          ++named;
          named.notify_all();
        }
        if (ranks.world().rank == 0) ranks.abort(error.what());
      }
    });
    EXPECT_EQ(named, 2) << "the others know it, by themselves or from rank 0";
    fs::remove_all(folder_.file("out"));
  }
}

}  // namespace
}  // namespace infeed::test
