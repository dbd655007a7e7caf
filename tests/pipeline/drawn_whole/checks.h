#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/drawn_whole/drawn_case.h"
#include "pipeline/drawn_whole/figures.h"
#include "pipeline/drawn_whole/hang_watch.h"

namespace infeed::test {

/// A violation.
struct Finding {
  std::string check;    ///< which check, with its settings
  std::string differs;  ///< found and expected, in words
};

/// Checks of any drawn pipeline: its stream is the same in its serial form, in parallel, from a
/// second iteration, for several consumers, described anew, in another process, behind any
/// checkpoint, and up to an early end. What the runs count and record agrees with it.
class Checks {
 public:
  Checks(DrawnCase& drawn, const CaseOptions& options, HangWatch& watch)
      : drawn_(drawn), words_(drawn.words), options_(options), watch_(watch) {}

  /// Empty: all is well.
  std::vector<Finding> run();
  /// Returns why the library refused the description; such a pipeline has no checks.
  const std::string& refused() const { return refused_; }
  const Stream& expected() const { return expected_; }

 private:
  bool set_expected();
  void check_passes();
  void check_consumers();
  void check_cardinality();
  void check_resumes();
  void check_resume_of_second_iteration();
  void check_other_process();
  // resize_checks.cc
  void check_hosts();
  void check_changing_limit();
  // fault_checks.cc
  void check_faults();
  // interruptions.cc
  void check_interruption();
  // memory_checks.cc
  void check_memory_limit();
  std::optional<std::uint64_t> measure_call_bytes();
  void check_allocator();
  void check_refusals();

  /// Returns a dataset that must give the expected stream, perhaps described for this.
  AnyDataset any_dataset();
  /// Returns one that must go on from a checkpoint of this pipeline.
  AnyDataset any_description(std::size_t place);
  std::size_t any_place() { return words_.below(expected_.size() + 1); }
  Settings settings();

  void begin(const std::string& check, const Settings& settings);
  void expect_stream(const Stream& got, std::size_t from);
  void expect_same(const Stream& got, const Stream& expected, std::size_t from);
  /// Expects a run that is over, unless it was cut, to have given all from that element on, to hold
  /// no memory, and its figures to agree.
  void expect_end(const Run& run, const Stream& got, std::size_t from);
  void expect_figures(const SeenRun& seen);
  /// Goes on from the checkpoint's text, with a few crashes on the way, to the end.
  void expect_rest(Checkpoint checkpoint, std::uint64_t order_hash);
  /// Runs to the end, or until something ends it; returns the error that did.
  void run_until_stopped(Run& run, Manner manner, ErrorCode allowed);
  /// Judges a run that is over: at its end, or ended by an error of the code `allowed`.
  void judge_stopped(Run& run, Stream got, ErrorCode allowed);
  void expect_rest_behind(Run& run, const Stream& got);
  void expect_account_empty(const Run& run);
  void find(std::string differs);

  DrawnCase& drawn_;
  Words& words_;
  const CaseOptions& options_;
  HangWatch& watch_;
  std::optional<SharedExecutors> executors_;
  std::optional<AnyDataset> shared_;  ///< shared by all its iterations
  Stream expected_;
  bool is_cut_ = false;  ///< expected_ is only the stream's begin
  bool has_errors_ = false;
  std::uint64_t expected_hash_ = 0;
  std::string check_;
  std::string refused_;
  std::vector<Finding> findings_;
};

/// True if what a stage may hold of a limit depends on time. Where two must hold memory, one is ahead of the
/// other. In one thread it is by a chunk, which ends when it has taken too long, or when other threads have no
/// more ready. Inner datasets that are read ahead hold memory beside a stage that grows with the stream, and
/// several that are open at once, with threads, beside each other. An optional cache may be on or off, and a
/// cache in files holds the errors that it reads, but none that it writes.
bool share_a_limit(const Plan& plan);
/// True if the rest of an input may be dropped with its batch. Then a limit that was too little for that
/// batch has ended no run, and yet a run with more may hold more of it than the limit.
bool may_drop_a_refused_batch(const Plan& plan);

}  // namespace infeed::test
