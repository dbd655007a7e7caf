#include "pipeline/suite/stream_check.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "pipeline/suite/busy.h"
#include "pipeline/suite/neighbours.h"
#include "pipeline/suite/random_knobs.h"
#include "pipeline/suite/terminal.h"
#include "test_extent.h"

namespace infeed::test {
namespace {

/// Bytes of calls under way on top of a limit: stretches of the input, and samples of 300 KB.
constexpr std::uint64_t kOnTopBytes = 512 * 1024;

void expect_same_place(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.position, b.position);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.order_hash, b.order_hash);
  EXPECT_EQ(a.signature, b.signature);
}

}  // namespace

StreamCheck::StreamCheck(std::function<ShownDataset()> make, Stream expected,
                         const StageSuiteOptions& options, const Executors& executors,
                         SeededRandom& random)
    : make_(std::move(make)),
      expected_(std::move(expected)),
      options_(options),
      executors_(executors),
      random_(random) {}

void StreamCheck::run_straight(const NamedExecutor& executor) const {
  SCOPED_TRACE("executor " + executor.name);
  const IteratorPointer iterator = make_().iterate(options_for(executor));
  expect_stream(take(*iterator), expected_);
  for (int i = 0; i < 3; ++i) expect_over(*iterator);
  EXPECT_EQ(iterator->position(), elements_of(expected_));
  check_statistics(iterator->statistics());
  EXPECT_EQ(iterator->memory().in_use_bytes(), 0) << "bytes in the account after the end";
}

void StreamCheck::run_on_few_threads() const {
  IterateOptions options;
  options.memory_bytes_max = options_.memory_bytes_max;
  options.threads_max = static_cast<int>(random_.between(1, 8));
  SCOPED_TRACE("threads_max " + std::to_string(options.threads_max));
  const IteratorPointer iterator = make_().iterate(options);
  expect_stream(random_.chance(0.5) ? poll_stream(*iterator) : look_and_take_stream(*iterator),
                expected_);
  EXPECT_EQ(iterator->memory().in_use_bytes(), 0) << "bytes in the account after the end";
}

void StreamCheck::resume_at_every_step() const {
  constexpr std::size_t kShort = 8;
  const bool takes_each_rest = expected_.size() <= kShort || tests_all();
  const IteratorPointer straight = begin();
  Checkpoint checkpoint = straight->checkpoint();
  for (std::size_t step = 0;; ++step) {
    SCOPED_TRACE("resume at element " + std::to_string(step));
    const bool is_last = step == expected_.size();
    if (takes_each_rest || is_last || random_.chance(0.25)) check_tail(checkpoint);
    if (is_last || ::testing::Test::HasFailure()) return;
    const IteratorPointer one_more = resume(checkpoint, make_());
    expect_stream(take(*one_more, 1), {expected_[step]});
    checkpoint = one_more->checkpoint();
    take(*straight, 1);
    expect_same_place(checkpoint, straight->checkpoint());
  }
}

void StreamCheck::resume_at(std::size_t step) const {
  SCOPED_TRACE("resume at element " + std::to_string(step));
  const IteratorPointer iterator = begin();
  take(*iterator, step);
  check_tail(iterator->checkpoint());
}

void StreamCheck::resume_at_some_steps() const {
  if (expected_.size() <= 40) return resume_at_every_step();
  for (const std::size_t step : {std::size_t{1}, kChunkElementsMax - 1, kChunkElementsMax,
                                 expected_.size() - 1, expected_.size()}) {
    if (step <= expected_.size()) resume_at(step);
  }
  for (int i = 0; i < 6; ++i) resume_at(random_.below(expected_.size()));
}

void StreamCheck::cancel_before_the_start() const {
  const IteratorPointer iterator = begin();
  iterator->cancel();
  for (int i = 0; i < 2; ++i) {
    try {
      iterator->next();
      ADD_FAILURE() << "a cancelled iterator went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    }
  }
  EXPECT_EQ(iterator->memory().in_use_bytes(), 0);
}

void StreamCheck::destroy_anywhere() const {
  const IteratorPointer iterator = begin();
  take(*iterator, random_.below(expected_.size() + 1));
}

void StreamCheck::resume_behind_a_full_cache() const {
  const ShownDataset uncached = make_();
  if (uncached.node()->type().copy_run == nullptr) return;
  const ShownDataset dataset = add_neighbour(uncached, Neighbour::cache);
  const IteratorPointer first = dataset.iterate(options_for(any_executor()));
  expect_stream(take(*first), expected_);
  const IteratorPointer second = dataset.iterate(options_for(any_executor()));
  take(*second, random_.below(expected_.size() + 1));
  const Checkpoint checkpoint = second->checkpoint();
  SCOPED_TRACE("resume behind a full cache at element " + std::to_string(checkpoint.position));
  check_tail(checkpoint, dataset);
  check_tail(checkpoint, add_neighbour(make_(), Neighbour::cache));
}

void StreamCheck::run_under_a_limit() const {
  IterateOptions options = options_for(any_executor());
  options.memory_bytes_max = (std::uint64_t{32} << random_.below(16)) + random_.below(32);
  SCOPED_TRACE("a limit of " + std::to_string(options.memory_bytes_max) + " bytes");
  const std::uint64_t limit = options.memory_bytes_max;
  IteratorPointer iterator;
  try {
    iterator = make_().iterate(std::move(options));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
    return;
  }
  run_until_stopped(*iterator, ErrorCode::resource_exhausted);
  EXPECT_LE(iterator->memory().peak_bytes(), limit + kOnTopBytes);
}

void StreamCheck::cancel_anywhere() const {
  const IteratorPointer iterator = begin();
  const auto pause = std::chrono::microseconds(random_.below(200));
  const std::jthread canceller([&iterator, pause] {
    be_busy_for(pause);
    iterator->cancel();
  });
  run_until_stopped(*iterator, ErrorCode::cancelled);
}

void StreamCheck::time_out(const ShownDataset& stalled) const {
  IterateOptions options = options_for(any_executor());
  options.watchdog = std::chrono::milliseconds(random_.between(1, 5));
  const IteratorPointer iterator = stalled.iterate(std::move(options));
  run_until_stopped(*iterator, ErrorCode::deadline_exceeded);
}

IterateOptions StreamCheck::options_for(const NamedExecutor& executor) const {
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

StreamCheck::IteratorPointer StreamCheck::begin() const {
  return make_().iterate(options_for(any_executor()));
}

StreamCheck::IteratorPointer StreamCheck::resume(const Checkpoint& checkpoint,
                                                 const ShownDataset& dataset) const {
  const Checkpoint read = Checkpoint::from_text(checkpoint.to_text());
  EXPECT_EQ(read, checkpoint) << checkpoint.to_text();
  IterateOptions options = options_for(any_executor());
  options.resume = read;
  return dataset.iterate(std::move(options));
}

void StreamCheck::check_tail(const Checkpoint& checkpoint, const ShownDataset& dataset) const {
  const IteratorPointer iterator = resume(checkpoint, dataset);
  expect_same_place(iterator->checkpoint(), checkpoint);
  const auto from = expected_.begin() + static_cast<std::ptrdiff_t>(checkpoint.position);
  expect_stream(take(*iterator), Stream(from, expected_.end()));
  expect_over(*iterator);
  EXPECT_EQ(iterator->memory().in_use_bytes(), 0) << "bytes in the account after the end";
}

/// Checks that a stream, behind its last element, ends or fails in the same way for ever.
void StreamCheck::expect_over(ShownIterator& iterator) const {
  const bool failed = elements_of(expected_) < expected_.size();
  EXPECT_EQ(take(iterator, 1), failed ? Stream{expected_.back()} : Stream()) << "after the end";
}

/// Runs to the end, or to a terminal error with that code. Then an unlimited iteration from there
/// must give the rest of the expected stream.
void StreamCheck::run_until_stopped(ShownIterator& iterator, ErrorCode code) const {
  Stream got;
  const std::uint64_t limit = expected_.size() + 5;
  while (got.size() < limit) {
    const std::uint64_t place = iterator.position();
    try {
      std::optional<std::string> element = iterator.next();
      if (!element) break;
      got.push_back(std::move(*element));
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

/// Returns true for a stage's own terminal error, which comes in any case.
bool StreamCheck::is_expected_last(const Error& error) const {
  return !expected_.empty() && expected_.back() == "!! " + error.message();
}

void StreamCheck::expect_rest_behind(const Stream& got, const Checkpoint& checkpoint) const {
  ASSERT_LE(got.size(), expected_.size());
  EXPECT_EQ(checkpoint.position, got.size());
  if (!options_.ordered) {
    for (const std::string& element : got) {
      EXPECT_NE(std::find(expected_.begin(), expected_.end(), element), expected_.end()) << element;
    }
    return;
  }
  EXPECT_EQ(got, Stream(expected_.begin(), expected_.begin() + std::ssize(got)));
  check_tail(checkpoint);
}

/// Takes a few more than expected, so that a stage that doesn't end is a failure, not a hang.
Stream StreamCheck::take(ShownIterator& iterator, std::size_t count) const {
  return take_stream(iterator, std::min(count, expected_.size() + 5));
}

void StreamCheck::expect_stream(Stream got, Stream expected) const {
  if (!options_.ordered) {
    std::sort(got.begin(), got.end());
    std::sort(expected.begin(), expected.end());
  }
  EXPECT_EQ(got, expected);
}

void StreamCheck::check_statistics(const PipelineStatistics& statistics) const {
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

}  // namespace infeed::test
