#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"
#include "seeded_random.h"

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
class StreamCheck {
 public:
  StreamCheck(std::function<ShownDataset()> make, Stream expected, const StageSuiteOptions& options,
              const Executors& executors, SeededRandom& random);

  void run_straight(const NamedExecutor& executor) const;

  /// With few threads, or none, by a consumer that asks again and again.
  void run_on_few_threads() const;

  /// At each step takes a checkpoint of an iterator that was itself resumed one step before. Of long
  /// streams the rest is taken at drawn steps, or at each with tests_all().
  void resume_at_every_step() const;
  void resume_at(std::size_t step) const;
  void resume_at_some_steps() const;

  void cancel_before_the_start() const;
  void destroy_anywhere() const;

  /// Goes on from a checkpoint of a second iteration, whose cache the first one filled and which
  /// therefore never saw the input: in a dataset described anew, and in the same dataset. Does
  /// nothing for elements that can't be copied.
  void resume_behind_a_full_cache() const;

  /// Runs under limits from 32 bytes to 2 MiB: refused at the start, ended by a terminal error from
  /// where it goes on without a limit, or as without one.
  void run_under_a_limit() const;

  /// Cancels from another thread, at a random moment.
  void cancel_anywhere() const;

  /// `stalled` gives the same stream, but its source stops for ever at some place.
  void time_out(const ShownDataset& stalled) const;

  const NamedExecutor& any_executor() const { return executors_.any(random_); }

 private:
  using IteratorPointer = std::unique_ptr<ShownIterator>;

  IterateOptions options_for(const NamedExecutor& executor) const;
  IteratorPointer begin() const;
  IteratorPointer resume(const Checkpoint& checkpoint, const ShownDataset& dataset) const;
  void check_tail(const Checkpoint& checkpoint) const { check_tail(checkpoint, make_()); }
  void check_tail(const Checkpoint& checkpoint, const ShownDataset& dataset) const;
  void expect_over(ShownIterator& iterator) const;
  void run_until_stopped(ShownIterator& iterator, ErrorCode code) const;
  bool is_expected_last(const Error& error) const;
  void expect_rest_behind(const Stream& got, const Checkpoint& checkpoint) const;
  Stream take(ShownIterator& iterator, std::size_t count = kAll) const;
  void expect_stream(Stream got, Stream expected) const;
  void check_statistics(const PipelineStatistics& statistics) const;

  const std::function<ShownDataset()> make_;
  const Stream expected_;
  const StageSuiteOptions& options_;
  const Executors& executors_;
  SeededRandom& random_;
};

}  // namespace infeed::test
