#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/pipeline/cache.h>

#include "pipeline/suite/busy.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/random_knobs.h"
#include "pipeline/suite/random_seed.h"
#include "pipeline/suite/stream.h"
#include "pipeline/suite/terminal.h"
#include "pipeline/suite/test_sources.h"
#include "test_extent.h"

/// The stage suite's (stage_suite.h) checks of one way to make a pipeline.
namespace infeed::test {

struct StageSuiteOptions {
  bool ordered = true;  ///< false: the same elements, in any order
  /// False for a stage that rightly keeps an element until more come although it could be known.
  bool hands_over_early = true;
  /// Elements that the stage must have seen beyond those that determine an output: a shuffle's
  /// buffer.
  std::size_t lookahead = 0;
  /// Lengths of the inputs.
  std::vector<std::size_t> sizes = {0, 1, 2, 5, 33, 300};
  std::uint64_t memory_bytes_max = 0;
};

/// One way to make a pipeline, and what it must give.
template <class Out>
class StreamCheck {
 public:
  StreamCheck(std::function<Dataset<Out>()> make, Stream expected, const StageSuiteOptions& options,
              const Executors& executors, RandomSource& random)
      : make_(std::move(make)),
        expected_(std::move(expected)),
        options_(options),
        executors_(executors),
        random_(random) {}

  void run_straight(const NamedExecutor& executor) const {
    SCOPED_TRACE("executor " + executor.name);
    Iterator<Out> iterator = make_().iterate(options_for(executor));
    expect_stream(take(iterator), expected_);
    for (int i = 0; i < 3; ++i) expect_over(iterator);
    EXPECT_EQ(iterator.position(), elements_of(expected_));
    check_statistics(iterator.statistics());
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0) << "bytes in the account after the end";
  }

  /// With few threads, or none, by a consumer that asks again and again.
  void run_on_few_threads() const {
    IterateOptions options;
    options.memory_bytes_max = options_.memory_bytes_max;
    options.threads_max = static_cast<int>(random_.between(1, 8));
    SCOPED_TRACE("threads_max " + std::to_string(options.threads_max));
    Iterator<Out> iterator = make_().iterate(options);
    expect_stream(poll_stream(iterator), expected_);
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0) << "bytes in the account after the end";
  }

  /// At each step takes a checkpoint of an iterator that was itself resumed one step before. Of long
  /// streams the rest is taken at drawn steps, or at each with tests_all().
  void resume_at_every_step() const {
    constexpr std::size_t kShort = 8;
    const bool takes_each_rest = expected_.size() <= kShort || tests_all();
    Iterator<Out> straight = make_().iterate(options_for(any_executor()));
    Checkpoint checkpoint = straight.checkpoint();
    for (std::size_t step = 0;; ++step) {
      SCOPED_TRACE("resume at element " + std::to_string(step));
      const bool is_last = step == expected_.size();
      if (takes_each_rest || is_last || random_.chance(0.25)) check_tail(checkpoint);
      if (is_last || ::testing::Test::HasFailure()) return;
      Iterator<Out> one_more = resume(checkpoint);
      expect_stream(take(one_more, 1), {expected_[step]});
      checkpoint = one_more.checkpoint();
      take(straight, 1);
      expect_same_place(checkpoint, straight.checkpoint());
    }
  }

  void resume_at(std::size_t step) const {
    SCOPED_TRACE("resume at element " + std::to_string(step));
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    take(iterator, step);
    check_tail(iterator.checkpoint());
  }

  void resume_at_some_steps() const {
    if (expected_.size() <= 40) return resume_at_every_step();
    for (const std::size_t step : {std::size_t{1}, kChunkElementsMax - 1, kChunkElementsMax,
                                   expected_.size() - 1, expected_.size()}) {
      if (step <= expected_.size()) resume_at(step);
    }
    for (int i = 0; i < 6; ++i) resume_at(random_.below(expected_.size()));
  }

  void cancel_before_the_start() const {
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    iterator.cancel();
    for (int i = 0; i < 2; ++i) {
      try {
        iterator.next();
        ADD_FAILURE() << "a cancelled iterator went on";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
      }
    }
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
  }

  void destroy_anywhere() const {
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    take(iterator, random_.below(expected_.size() + 1));
  }

  /// Goes on from a checkpoint of a second iteration, whose cache the first one filled and which
  /// therefore never saw the input: in a dataset described anew, and in the same dataset.
  void resume_behind_a_full_cache() const {
    if constexpr (detail::kIsCopyable<Out>) {
      const Dataset<Out> dataset = make_() | cache();
      Iterator<Out> first = dataset.iterate(options_for(any_executor()));
      expect_stream(take(first), expected_);
      Iterator<Out> second = dataset.iterate(options_for(any_executor()));
      take(second, random_.below(expected_.size() + 1));
      const Checkpoint checkpoint = second.checkpoint();
      SCOPED_TRACE("resume behind a full cache at element " + std::to_string(checkpoint.position));
      check_tail(checkpoint, dataset);
      check_tail(checkpoint, make_() | cache());
    }
  }

  /// Bytes of calls under way on top of a limit: stretches of the input, and samples of 300 KB.
  static constexpr std::uint64_t kOnTopBytes = 512 * 1024;

  /// Runs under limits from 32 bytes to 2 MiB: refused at the start, ended by a terminal error from
  /// where it goes on without a limit, or as without one.
  void run_under_a_limit() const {
    IterateOptions options = options_for(any_executor());
    options.memory_bytes_max = (std::uint64_t{32} << random_.below(16)) + random_.below(32);
    SCOPED_TRACE("a limit of " + std::to_string(options.memory_bytes_max) + " bytes");
    const std::uint64_t limit = options.memory_bytes_max;
    std::optional<Iterator<Out>> iterator;
    try {
      iterator.emplace(make_().iterate(std::move(options)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      return;
    }
    run_until_stopped(*iterator, ErrorCode::resource_exhausted);
    EXPECT_LE(iterator->memory().peak_bytes(), limit + kOnTopBytes);
  }

  /// Cancels from another thread, at a random moment.
  void cancel_anywhere() const {
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    const auto pause = std::chrono::microseconds(random_.below(200));
    const std::jthread canceller([&iterator, pause] {
      be_busy_for(pause);
      iterator.cancel();
    });
    run_until_stopped(iterator, ErrorCode::cancelled);
  }

  /// `stalled` gives the same stream, but its source stops for ever at some place.
  void time_out(const Dataset<Out>& stalled) const {
    IterateOptions options = options_for(any_executor());
    options.watchdog = std::chrono::milliseconds(random_.between(1, 5));
    Iterator<Out> iterator = stalled.iterate(std::move(options));
    run_until_stopped(iterator, ErrorCode::deadline_exceeded);
  }

  const NamedExecutor& any_executor() const { return executors_.any(random_); }

 private:
  IterateOptions options_for(const NamedExecutor& executor) const {
    IterateOptions options;
    options.executor = executor.executor;
    options.memory_bytes_max = options_.memory_bytes_max;
    // Streams of some 300 elements have bookmarks only if these are closer than usual.
    constexpr std::array<std::uint64_t, 6> kBookmarkEvery{0, 1, 2, 7, 40, 1024};
    options.bookmark_every = kBookmarkEvery[random_.below(kBookmarkEvery.size())];
    // Nothing checked here may depend on the tuner.
    if (random_.chance(0.5)) options.tuner = random_knobs(random_());
    return options;
  }

  Iterator<Out> resume(const Checkpoint& checkpoint) const { return resume(checkpoint, make_()); }

  Iterator<Out> resume(const Checkpoint& checkpoint, const Dataset<Out>& dataset) const {
    const Checkpoint read = Checkpoint::from_text(checkpoint.to_text());
    EXPECT_EQ(read, checkpoint) << checkpoint.to_text();
    IterateOptions options = options_for(any_executor());
    options.resume = read;
    return dataset.iterate(std::move(options));
  }

  void check_tail(const Checkpoint& checkpoint) const { check_tail(checkpoint, make_()); }

  void check_tail(const Checkpoint& checkpoint, const Dataset<Out>& dataset) const {
    Iterator<Out> iterator = resume(checkpoint, dataset);
    expect_same_place(iterator.checkpoint(), checkpoint);
    const auto from = expected_.begin() + static_cast<std::ptrdiff_t>(checkpoint.position);
    expect_stream(take(iterator), Stream(from, expected_.end()));
    expect_over(iterator);
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0) << "bytes in the account after the end";
  }

  /// Checks that a stream, behind its last element, ends or fails in the same way for ever.
  void expect_over(Iterator<Out>& iterator) const {
    const bool failed = elements_of(expected_) < expected_.size();
    EXPECT_EQ(take(iterator, 1), failed ? Stream{expected_.back()} : Stream()) << "after the end";
  }

  /// Runs to the end, or to a terminal error with that code. Then an unlimited iteration from there
  /// must give the rest of the expected stream.
  void run_until_stopped(Iterator<Out>& iterator, ErrorCode code) const {
    Stream got;
    const std::uint64_t limit = expected_.size() + 5;
    while (got.size() < limit) {
      const std::uint64_t place = iterator.position();
      try {
        const std::optional<Out> element = iterator.next();
        if (!element) break;
        got.push_back(show(*element));
      } catch (const Error& error) {
        if (iterator.position() == place && error.code() == code && !is_expected_last(error)) {
          expect_sticky(iterator, error);
          EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
          expect_rest_behind(got, iterator.checkpoint());
          return;
        }
        got.push_back((error.is_terminal() ? "!! " : "! ") + error.message());
        if (error.is_terminal()) break;
      }
    }
    expect_stream(got, expected_);
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
  }

  /// True for a stage's own terminal error, which comes in any case.
  bool is_expected_last(const Error& error) const {
    return !expected_.empty() && expected_.back() == "!! " + error.message();
  }

  void expect_rest_behind(const Stream& got, const Checkpoint& checkpoint) const {
    ASSERT_LE(got.size(), expected_.size());
    EXPECT_EQ(checkpoint.position, got.size());
    if (!options_.ordered) {
      for (const std::string& element : got) {
        EXPECT_NE(std::find(expected_.begin(), expected_.end(), element), expected_.end())
            << element;
      }
      return;
    }
    EXPECT_EQ(got, Stream(expected_.begin(), expected_.begin() + std::ssize(got)));
    check_tail(checkpoint);
  }

  static void expect_same_place(const Checkpoint& a, const Checkpoint& b) {
    EXPECT_EQ(a.position, b.position);
    EXPECT_EQ(a.epoch, b.epoch);
    EXPECT_EQ(a.order_hash, b.order_hash);
    EXPECT_EQ(a.signature, b.signature);
  }

  /// Takes a few more than expected, so that a stage that doesn't end is a failure, not a hang.
  Stream take(Iterator<Out>& iterator, std::size_t count = kAll) const {
    return take_stream(iterator, std::min(count, expected_.size() + 5));
  }

  void expect_stream(Stream got, Stream expected) const {
    if (!options_.ordered) {
      std::sort(got.begin(), got.end());
      std::sort(expected.begin(), expected.end());
    }
    EXPECT_EQ(got, expected);
  }

  void check_statistics(const PipelineStatistics& statistics) const {
    if (statistics.stages.empty()) return;
    const StageStatistics& root = statistics.stages.front();
    EXPECT_EQ(root.depth, 0);
    EXPECT_EQ(root.elements, elements_of(expected_)) << statistics.table();
    const auto is_error = [](const std::string& text) { return text.starts_with("! "); };
    EXPECT_EQ(root.errors, std::count_if(expected_.begin(), expected_.end(), is_error));
    for (const StageStatistics& stage : statistics.stages) {
      SCOPED_TRACE(stage.path);
      EXPECT_TRUE(stage.path.ends_with(stage.label));
      EXPECT_LE(stage.errors, stage.elements);
      EXPECT_EQ(stage.buffered_elements, 0);
      EXPECT_EQ(stage.buffered_bytes, 0);
    }
  }

  const std::function<Dataset<Out>()> make_;
  const Stream expected_;
  const StageSuiteOptions& options_;
  const Executors& executors_;
  RandomSource& random_;
};

}  // namespace infeed::test
