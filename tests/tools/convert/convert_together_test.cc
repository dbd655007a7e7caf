#include "convert/convert_together.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>

#include "convert/conversion_plan.h"
#include "matchers.h"
#include "quiet_run.h"
#include "tools/convert/numbered_inputs.h"
#include "tools/convert/shared_conversion.h"
#include "world/local_world.h"

/// The ranks of a job convert together: as threads, and as processes of mpirun where that is.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using tools::ConvertOptions;
using tools::ConvertRanks;
using tools::ConvertResult;

/// Converts as the command does, which ends the job after an error.
void convert_or_end(const ExampleInput& input, const ConvertOptions& options, Communicator& ranks) {
  try {
    ConvertRanks(ranks).convert(input, options);
  } catch (const Error& error) {
    ranks.abort(error.what());
  }
}

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
      ConvertRanks together(ranks);
      const ConvertResult made = together.convert(*input, options("out"));
      EXPECT_EQ(made.manifest.examples(), ranks.world().rank == 0 ? 5'000U : 0U);
      EXPECT_FALSE(made.was_complete);
      EXPECT_TRUE(together.convert(*input, options("out")).was_complete);
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
      world.run([&](Communicator& ranks) { convert_or_end(*input, replacing, ranks); });
  EXPECT_THAT(refused, Each(HasSubstr("is there already")));
  replacing.existing = tools::ExistingDataset::replace;
  LocalWorld next(3);
  const auto errors =
      next.run([&](Communicator& ranks) { convert_or_end(*input, replacing, ranks); });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_EQ(differences(), "");
}

TEST_F(ConvertTogether, RanksWithOtherArgumentsAreNamed) {
  const auto input = numbered_input(folder_, 500);
  LocalWorld world(3);
  const auto errors = world.run([&](Communicator& ranks) {
    ConvertOptions own = options("out");
    if (ranks.world().rank == 2) own.seed = 3;
    ConvertRanks(ranks).convert(*input, own);
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
  const auto errors =
      world.run([&](Communicator& ranks) { convert_or_end(bad, options("out"), ranks); });
  EXPECT_THAT(errors, Each(HasSubstr("number 2000 is bad")));
  EXPECT_FALSE(fs::exists(folder_.file("out/data.manifest.json")));
  LocalWorld next(2);
  std::uint32_t found = 0;
  EXPECT_THAT(next.run([&](Communicator& ranks) {
    const ConvertResult made = ConvertRanks(ranks).convert(good, options("out"));
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

/// A process that is stopped and woken, as by SIGSTOP and SIGCONT.
class Pause {
 public:
  /// Stops it, but only once.
  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = !was_stopped_;
    was_stopped_ = true;
  }
  void wake() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = false;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_stopped_; });
  }
  bool was_stopped() {
    const std::lock_guard lock(mutex_);
    return was_stopped_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  bool was_stopped_ = false;
};

/// A rank's communicator that does nothing during a pause.
class PausedRank final : public ForwardingRank {
 public:
  PausedRank(Communicator& rank, Pause& pause) : ForwardingRank(rank), pause_(pause) {}
  void send(int rank, int tag, std::span<const std::byte> bytes) override {
    pause_.pass();
    ForwardingRank::send(rank, tag, bytes);
  }
  std::optional<Message> receive_any(std::chrono::nanoseconds limit) override {
    auto message = ForwardingRank::receive_any(limit);
    pause_.pass();
    return message;
  }

 private:
  Pause& pause_;
};

/// Numbers whose reader, at one rank, pauses in the middle of a shard.
class PausingInput final : public ExampleInput {
 public:
  PausingInput(const ExampleInput& input, Pause& pause) : input_(input), pause_(pause) {}
  std::uint64_t size() const override { return input_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<Reader>(input_.open_reader(), pause_);
  }
  std::vector<std::string> columns() const override { return input_.columns(); }
  std::string describe() const override { return input_.describe(); }
  std::string name_of(std::uint64_t index) const override { return input_.name_of(index); }
  std::vector<InputFile> files() const override { return input_.files(); }

 private:
  class Reader final : public ExampleReader {
   public:
    Reader(std::unique_ptr<ExampleReader> reader, Pause& pause)
        : reader_(std::move(reader)), pause_(pause) {}
    void read(std::uint64_t index, std::string& out) override {
      if (++examples_ == 3) pause_.stop();
      pause_.pass();
      reader_->read(index, out);
    }

   private:
    const std::unique_ptr<ExampleReader> reader_;
    Pause& pause_;
    int examples_ = 0;
  };

  const ExampleInput& input_;
  Pause& pause_;
};

/// A rank is stopped in the middle of shards, whose files it holds. The others make them. It may wake
/// up before the end or behind it.
TEST_F(ConvertTogether, OthersMakeTheShardsOfAStoppedRank) {
  std::stop_source stop;
  const NumberInput input({}, 1'000'000, stop, 3'000);
  tools::convert(input, options("whole"));
  const auto is_of_rank_2 = [](const std::string& note) {
    return note.find("rank 2 ") != std::string::npos;
  };
  // Returns false if the others had made all shards before the rank had begun one.
  const auto convert_beside_a_stopped_rank = [&](bool wakes_before_the_end) {
    fs::remove_all(folder_.file("out"));
    Pause pause;
    const PausingInput pausing(input, pause);
    std::set<int> lost;
    std::vector<std::string> notes;
    LocalWorld world(3);
    const auto errors = world.run([&](Communicator& ranks) {
      const int rank = ranks.world().rank;
      if (rank == 2) {
        PausedRank paused(ranks, pause);
        convert_or_end(pausing, options("out"), paused);
        return;
      }
      ConvertRanks together(ranks, {.silence_max = std::chrono::milliseconds(300),
                                    .on_note = [&](const std::string& note) {
                                      notes.push_back(note);
                                      if (wakes_before_the_end && is_of_rank_2(note)) pause.wake();
                                    }});
      together.convert(input, options("out"));
      if (rank == 1) return;
      lost = together.lost();
      EXPECT_EQ(differences(), "");
      pause.wake();
      ranks.abort("it is complete");
    });
    if (!pause.was_stopped()) return false;
    // On a busy machine another rank may seem silent, too.
    EXPECT_THAT(notes, Contains(AllOf(HasSubstr("rank 2 has given no sign of life for "),
                                      HasSubstr("others make the"))));
    if (!wakes_before_the_end) {
      EXPECT_THAT(lost, Contains(2));
    }
    EXPECT_EQ(differences(), "") << "what the rank did when it woke up; rank 0: " << errors[0];
    return true;
  };
  for (const bool wakes_before_the_end : {false, true}) {
    SCOPED_TRACE(wakes_before_the_end);
    EXPECT_TRUE(
        holds_in_a_quiet_run([&] { return convert_beside_a_stopped_rank(wakes_before_the_end); }));
  }
}

/// Rank 0 takes part in the agreement and is silent from then on.
TEST_F(ConvertTogether, ASilentChiefIsNamed) {
  const auto input = numbered_input(folder_, 500);
  LocalWorld world(3);
  std::atomic<int> named{0};
  const auto errors = world.run([&](Communicator& ranks) {
    try {
      if (ranks.world().rank == 0) {
        require_equal(ranks, "plan of the conversion",
                      tools::make_plan(*input, options("out")).text);
        for (int seen = named; seen < 2; seen = named) named.wait(seen);
        return;
      }
      ConvertRanks(ranks, {.silence_max = std::chrono::seconds(1)}).convert(*input, options("out"));
    } catch (const Error&) {
      ++named;
      named.notify_all();
      throw;
    }
  });
  for (const int rank : {1, 2}) {
    EXPECT_THAT(errors[rank], HasSubstr("rank 0 has given no sign of life"));
  }
}

}  // namespace
}  // namespace infeed::test
