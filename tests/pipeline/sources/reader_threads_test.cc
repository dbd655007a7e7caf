#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <infeed/infeed.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "cpu_time.h"
#include "no_threads.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// The threads that read ahead inside a file, as a knob of the tuner. The stage suite
/// (records_test.cc) shows that records, errors and checkpoints don't depend on it.
namespace infeed::test {
namespace {

/// Sets the only knob to this, and keeps what it saw.
class Fixed final : public TuningPolicy {
 public:
  explicit Fixed(std::int64_t value) : value_(value) {}
  TuningDecision observe(const TuningObservation& seen) override {
    const std::lock_guard lock(mutex_);
    seen_ = seen;
    TuningDecision decision;
    for (const KnobState& knob : seen.knobs) decision.settings.push_back({knob.id, value_});
    return decision;
  }
  /// Returns the last look, once the knob was set at it.
  std::optional<TuningObservation> seen_set() const {
    const std::lock_guard lock(mutex_);
    const bool is_set = seen_ && !seen_->knobs.empty() && seen_->knobs.front().value == value_;
    return is_set ? seen_ : std::nullopt;
  }

 private:
  const std::int64_t value_;
  mutable std::mutex mutex_;
  std::optional<TuningObservation> seen_;
};

class ReaderThreads : public ::testing::Test {
 protected:
  ReaderThreads() {
    RecordWriter writer(file_);
    for (int i = 0; i < 5000; ++i) writer.write(std::string(1000, 'x'));
    writer.close();
  }
  Dataset<Record> forever(const RecordsOptions& options) const {
    return records(file_, options) | repeat();
  }
  static IterateOptions with(std::shared_ptr<TuningPolicy> policy) {
    return {.executor = Executor::threads(4),
            .tuner = {.look_every = std::chrono::milliseconds(1), .policy = std::move(policy)}};
  }
  /// The policy's view at that time; the stage, and its knob, may be gone between two passes.
  static TuningObservation read_until_set(Iterator<Record>& iterator, const Fixed& policy) {
    while (true) {
      if (const auto seen = policy.seen_set()) return *seen;
      if (iterator.next()) continue;
      ADD_FAILURE() << "the records are over";
      return {};
    }
  }
  static const StageStatistics& reading(const PipelineStatistics& statistics) {
    return *std::find_if(statistics.stages.begin(), statistics.stages.end(),
                         [](const auto& stage) { return stage.name == "records"; });
  }

  TemporaryFolder folder_{test::memory_folder()};
  const std::string file_ = folder_.file("x");
};

TEST_F(ReaderThreads, AreAKnobWhereTheyAreLeftToTheTuner) {
  const auto policy = std::make_shared<Fixed>(3);
  auto iterator = forever({.parallelism = autotune}).iterate(with(policy));
  const TuningObservation seen = read_until_set(iterator, *policy);
  ASSERT_EQ(seen.knobs.size(), 1u);
  const KnobState& knob = seen.knobs.front();
  EXPECT_EQ(seen.stages[static_cast<std::size_t>(knob.stage)].label, "records");
  EXPECT_EQ(knob.shape, KnobShape::segments);
  EXPECT_EQ(knob.min, 0);
  EXPECT_EQ(knob.max, 4);
  const PipelineStatistics statistics = iterator.statistics();
  EXPECT_EQ(reading(statistics).parallelism, 3);
  EXPECT_TRUE(reading(statistics).is_tuned);
}

TEST_F(ReaderThreads, AreTheUsersWhereHeGivesANumber) {
  auto iterator = forever({.parallelism = 2}).iterate(with(std::make_shared<Fixed>(0)));
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(iterator.next());
  const PipelineStatistics statistics = iterator.statistics();
  EXPECT_EQ(reading(statistics).parallelism, 2);
  EXPECT_FALSE(reading(statistics).is_tuned);
}

/// The file's other records were left out behind an error that skip_errors drops.
TEST_F(ReaderThreads, ThatTheSystemDoesNotGiveEndTheIterationAndLoseNothing) {
  const auto dataset = records({file_, file_}, {.parallelism = 2});
  auto iterator = dataset.iterate({.executor = Executor::threads(2)});
  {
    const NoThreads none;
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error.message(), HasSubstr("the system gives no further thread"));
    EXPECT_TRUE(error.is_terminal());
  }
  EXPECT_EQ(dataset.count({.resume = iterator.checkpoint()}), 10'000);
}

TEST_F(ReaderThreads, TheirWorkAndThatOfTheSerialFormIsTheStages) {
  const auto begin = process_cpu_time();
  for (int i = 0; i < 4; ++i) {
    RecordReader reader(file_);
    Record record;
    while (reader.next(record)) {
    }
  }
  const auto reading_ns = static_cast<std::uint64_t>((process_cpu_time() - begin).count());
  for (const std::int64_t value : {0, 4}) {
    const auto policy = std::make_shared<Fixed>(value);
    auto iterator = forever({.parallelism = autotune}).iterate(with(policy));
    read_until_set(iterator, *policy);
    const std::uint64_t before_ns = reading(iterator.statistics()).work_ns;
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(iterator.next());
    const PipelineStatistics statistics = iterator.statistics();
    const StageStatistics& stage = reading(statistics);
    EXPECT_TRUE(stage.runs_ahead);
    EXPECT_GT(stage.work_ns - before_ns, reading_ns / 10) << value;
    ASSERT_TRUE(stage.cpu_ns);
    EXPECT_GT(*stage.cpu_ns, 0u) << value;
  }
}

}  // namespace
}  // namespace infeed::test
