#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <infeed/pipeline/range.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/recorder.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "matchers.h"
#include "records/temporary_files.h"

// Calls of a function within a pull: which of them are counted, and which are kept as slow. The times
// are made up.
namespace infeed::test {
namespace {

using detail::CallWatch;
using detail::OwnTime;

/// A stage that gives nothing, and notes what it is asked to trace.
class AskedForPlaces final : public Stage {
 public:
  using Stage::Stage;
  std::vector<std::uint64_t> take_asked() { return std::exchange(asked_, {}); }

 protected:
  Pull do_pull(Chunk&, std::size_t) override { return Pull::end; }
  TracedPlace do_trace(std::uint64_t position) const override {
    asked_.push_back(position);
    return {RecordPlace{"a", position}, {}};
  }

 private:
  mutable std::vector<std::uint64_t> asked_;
};

class NotedCalls : public ::testing::Test {
 protected:
  /// Ends a watched call that took so long.
  void end_call(std::uint64_t ticks, std::uint64_t position, std::uint64_t count) {
    const std::uint64_t begin = detail::ticks_now();
    CallWatch watch(&recorder_, counters_, begin);
    detail::note_calls(run_, counters_, watch, begin + ticks,
                       {.pass = 0, .position = position, .count = count}, input_);
  }
  std::uint64_t calls() const {
    return std::accumulate(counters_.calls_by_log2_ns.begin(), counters_.calls_by_log2_ns.end(),
                           std::uint64_t{0});
  }
  /// Notes an unwatched call behind one that ended at `last_end`. Returns its part that counts.
  std::uint64_t note_slow(std::uint64_t last_end, const OwnTime& time, std::uint64_t count = 1) {
    detail::WatchedThread& thread = *recorder_.threads().this_thread();
    thread.last = {last_end - 100, 100};
    const std::uint64_t before = thread.accounted_ticks;
    detail::note_slow_calls(recorder_, counters_, time, {.pass = 0, .position = 7, .count = count},
                            input_);
    return thread.accounted_ticks - before;
  }

  const TemporaryFolder folder_;
  const Dataset<std::int64_t> dataset_ = range(3);
  IteratorContext run_{IterateOptions{.recording = {.file = folder_.file("run.profile")}}};
  detail::StageCounters& counters_ = run_.counters().of_stage(*dataset_.node(), nullptr, 0);
  AskedForPlaces input_{{.run = run_, .counters = &counters_, .type = &type_info<std::int64_t>()}};
  detail::Recorder& recorder_ = *run_.recorder();
  const std::uint64_t slow_ticks_ = recorder_.clock().slow_ticks();
};

TEST_F(NotedCalls, AreCountedOneByOneAndTracedIfTheyAreSlow) {
  end_call(slow_ticks_ - 1, 3, 2);
  EXPECT_EQ(calls(), 2U);
  EXPECT_THAT(input_.take_asked(), IsEmpty());
  end_call(slow_ticks_, 7, 3);
  EXPECT_EQ(calls(), 5U);
  EXPECT_THAT(input_.take_asked(), ElementsAre(7U, 9U, 8U)) << "the ends, then between them";
  end_call(2 * slow_ticks_, 10, 0);
  EXPECT_EQ(calls(), 5U);
  EXPECT_THAT(input_.take_asked(), IsEmpty());
}

TEST_F(NotedCalls, TakeTheirShareOfTheTimeEach) {
  end_call(detail::ticks_of_us(3e6), 0, 4);
  EXPECT_EQ(counters_.calls_by_log2_ns[29], 4U) << "750 ms each";
}

TEST_F(NotedCalls, ThatNobodyWatchedCountFromTheEndOfTheLastWatchedOne) {
  EXPECT_EQ(note_slow(1000, {2000, slow_ticks_}), slow_ticks_);
  EXPECT_THAT(input_.take_asked(), ElementsAre(7U));
  EXPECT_EQ(note_slow(2000, {2000, slow_ticks_ - 1}), 0U);
  EXPECT_EQ(note_slow(2500, {2000, slow_ticks_ + 499}), 0U);
  EXPECT_EQ(note_slow(slow_ticks_ + 9000, {2000, slow_ticks_ + 500}), 0U);
  EXPECT_THAT(input_.take_asked(), IsEmpty());
  EXPECT_EQ(note_slow(2500, {2000, slow_ticks_ + 500}, 2), slow_ticks_);
  EXPECT_THAT(input_.take_asked(), ElementsAre(7U, 8U));
  EXPECT_EQ(note_slow(1000, {2000, slow_ticks_}, 0), slow_ticks_);
  EXPECT_THAT(input_.take_asked(), IsEmpty()) << "no element is to blame";
}

}  // namespace
}  // namespace infeed::test
