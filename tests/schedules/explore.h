#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedules/scheduler.h"

/// Tries schedules of a small program:
///
///     TEST(Queue, HandsOver) {
///       expect_no_finding("queue", [] {
///         Queue queue;
///         std::thread producer([&] { queue.push(1); });
///         check(queue.pop() == 1, "what was pushed comes out");
///         producer.join();
///       });
///     }
///
/// A schedule is named by its changes: the places with another choice than the default. First comes
/// the schedule without a change, then all with one, then all with two, and so on, each once, until
/// there are no more or enough were tried (a sample of the last kind is drawn then). So a finding
/// has as few changes as possible. A change that stops a thread that could go on counts like one
/// where it couldn't: without a bound on these, a program that waits thirty times has too many
/// schedules.
///
/// Then come schedules at random: each thread has a priority, and the first of those that can go on
/// does. At a few places it gets the last priority. They find errors that need many changes.
///
/// The environment: INFEED_SCHEDULE, as a finding prints it, runs that schedule alone and prints
/// each step. INFEED_SCHEDULES_TIMES=N tries N times as many.
namespace infeed::schedules {

struct Change {
  std::uint32_t decision;  ///< the number of the decision in its run
  std::uint32_t choice;

  friend bool operator==(const Change&, const Change&) = default;
};
using Changes = std::vector<Change>;

struct ExploreOptions {
  std::uint64_t schedules_max = 10'000;  ///< tried one by one
  std::uint64_t random = 2'000;          ///< schedules drawn at random
  std::uint64_t seed = 20'240'511;
  RunOptions run = {};
};

struct Finding {
  std::string what;
  Changes changes;
  std::vector<std::string> trace;

  /// Returns "12:1,40:2", in the form of INFEED_SCHEDULE.
  std::string schedule() const;
};

struct Explored {
  std::uint64_t schedules = 0;
  std::uint64_t random = 0;
  int changes_done = -1;     ///< all schedules with so many changes were tried
  bool is_complete = false;  ///< true: none has more changes
  std::uint64_t steps_most = 0;
  std::uint64_t decisions_most = 0;
  std::uint64_t timeouts = 0;  ///< in all schedules
  std::uint64_t diverged = 0;  ///< schedules in which a change met another choice than the time
                               ///< before
  double seconds = 0;
  std::optional<Finding> finding;

  std::string text() const;
};

/// Ends with the first finding.
Explored explore(const std::function<void()>& body, const ExploreOptions& options = {});
RunResult replay(const std::function<void()>& body, const Changes& changes, RunOptions options);
/// Returns those changes of `finding` that it needs.
Changes shrunk(const std::function<void()>& body, Changes changes, const RunOptions& options);

/// Fails the test with the schedule of a finding; otherwise prints how many were tried. `name`
/// tells the programs of one test apart.
void expect_no_finding(const std::string& name, const ExploreOptions& options,
                       const std::function<void()>& body);
inline void expect_no_finding(const std::string& name, const std::function<void()>& body) {
  expect_no_finding(name, {}, body);
}

}  // namespace infeed::schedules
