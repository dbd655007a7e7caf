#include "schedules/explore.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <string_view>

#include <infeed/detail/parse_whole.h>

#include "engine/threads/clock.h"

namespace infeed::schedules {
namespace {

/// Makes the default choice, except in some decisions.
class Changed final : public Chooser {
 public:
  explicit Changed(const Changes& changes) : changes_(changes) {}

  std::size_t choose(const Decision& decision) override {
    if (next_ == changes_.size() || changes_[next_].decision != decisions_++) return 0;
    const Change change = changes_[next_++];
    if (change.choice >= decision.threads.size()) has_diverged_ = true;
    return change.choice;
  }
  bool has_diverged() const { return has_diverged_ || next_ != changes_.size(); }

 private:
  const Changes& changes_;
  std::size_t next_ = 0;
  std::uint32_t decisions_ = 0;
  bool has_diverged_ = false;
};

/// Random priorities with a few changes of them: "A randomized scheduler with probabilistic guarantees of
/// finding bugs", Burckhardt et al. 2010.
class Random final : public Chooser {
 public:
  Random(std::uint64_t seed, std::uint64_t decisions) : random_(seed) {
    const std::uint64_t places = random_() % 6;
    for (std::uint64_t i = 0; i < places; ++i) {
      falls_at_.push_back(random_() % std::max<std::uint64_t>(1, decisions));
    }
  }

  std::size_t choose(const Decision& decision) override {
    const bool falls = std::ranges::find(falls_at_, decisions_++) != falls_at_.end();
    const std::size_t plain = decision.threads.size() - decision.surprises;
    if (decision.surprises > 0 && random_() % 32 == 0)
      return plain + random_() % decision.surprises;
    if (decision.kind == Decision::Kind::who_is_woken) return random_() % plain;
    if (falls) priority(decision.threads[best(decision, plain)]) = --lowest_;
    return best(decision, plain);
  }

 private:
  std::size_t best(const Decision& decision, std::size_t plain) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < plain; ++i) {
      if (priority(decision.threads[i]) > priority(decision.threads[best])) best = i;
    }
    return best;
  }
  std::int64_t& priority(int thread) {
    while (priorities_.size() <= static_cast<std::size_t>(thread)) {
      priorities_.push_back(static_cast<std::int64_t>(random_() >> 1));
    }
    return priorities_[static_cast<std::size_t>(thread)];
  }

  std::mt19937_64 random_;
  std::vector<std::uint64_t> falls_at_;
  std::uint64_t decisions_ = 0;
  std::vector<std::int64_t> priorities_;
  std::int64_t lowest_ = 0;
};

Changes changes_of(const RunResult& result) {
  Changes changes;
  for (std::size_t i = 0; i < result.decisions.size(); ++i) {
    const auto choice = static_cast<std::uint32_t>(result.decisions[i].chosen);
    if (choice != 0) changes.push_back({static_cast<std::uint32_t>(i), choice});
  }
  return changes;
}

class Exploration {
 public:
  Exploration(const std::function<void()>& body, const ExploreOptions& options)
      : body_(body), options_(options), random_(options.seed) {}

  Explored run() {
    const auto begin = std::chrono::steady_clock::now();
    // A process does some things once, such as measuring a tick: no schedule shall contain them.
    replay(body_, {}, options_.run);
    explore_by_changes();
    if (!explored_.finding && !explored_.is_complete) explore_at_random();
    explored_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(explored_);
  }

 private:
  /// Returns false if there is nothing more to do.
  bool note(const RunResult& result) {
    explored_.steps_most = std::max(explored_.steps_most, result.steps);
    explored_.decisions_most =
        std::max<std::uint64_t>(explored_.decisions_most, result.decisions.size());
    explored_.timeouts += result.timeouts;
    if (!result.finding) return true;
    RunOptions traced = options_.run;
    traced.is_traced = true;
    const Changes changes = shrunk(body_, changes_of(result), options_.run);
    const RunResult again = replay(body_, changes, traced);
    explored_.finding = {again.finding.value_or(*result.finding + " (but not when run again)"),
                         changes, again.trace};
    return false;
  }

  void explore_by_changes() {
    std::vector<Changes> level{{}};
    while (!level.empty() && explored_.schedules < options_.schedules_max) {
      const std::uint64_t left = options_.schedules_max - explored_.schedules;
      const bool is_whole = level.size() <= left && !is_sampled_;
      if (level.size() > left) {
        std::ranges::shuffle(level, random_);
        level.resize(left);
      }
      std::vector<Changes> next;
      for (const Changes& changes : level) {
        if (!try_one(changes, next)) return;
      }
      if (is_whole) ++explored_.changes_done;
      level = std::move(next);
    }
    explored_.is_complete = level.empty() && !is_sampled_;
  }

  /// Puts schedules with one change more into `next`.
  bool try_one(const Changes& changes, std::vector<Changes>& next) {
    Changed chooser(changes);
    const RunResult result = schedules::run(body_, chooser, options_.run);
    ++explored_.schedules;
    if (chooser.has_diverged()) ++explored_.diverged;
    if (!note(result)) return false;
    const std::size_t from = changes.empty() ? 0 : changes.back().decision + 1;
    for (std::size_t i = from; i < result.decisions.size(); ++i) {
      for (std::size_t choice = 1; choice < result.decisions[i].threads.size(); ++choice) {
        add({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(choice)}, changes, next);
      }
    }
    return true;
  }

  /// Keeps a fair sample if there are more than will be tried.
  void add(Change change, const Changes& before, std::vector<Changes>& next) {
    ++offered_;
    if (next.empty()) offered_ = 1;
    const std::uint64_t kept_max = options_.schedules_max;
    std::size_t place = next.size();
    if (next.size() >= kept_max) {
      is_sampled_ = true;
      place = random_() % offered_;
      if (place >= kept_max) return;
    } else {
      next.emplace_back();
    }
    next[place] = before;
    next[place].push_back(change);
  }

  void explore_at_random() {
    for (; explored_.random < options_.random; ++explored_.random) {
      Random chooser(options_.seed + explored_.random, explored_.decisions_most);
      if (!note(schedules::run(body_, chooser, options_.run))) return;
    }
  }

  const std::function<void()>& body_;
  const ExploreOptions& options_;
  std::mt19937_64 random_;
  std::uint64_t offered_ = 0;  ///< distance to the level that is being filled
  bool is_sampled_ = false;
  Explored explored_;
};

Changes parsed(std::string_view text) {
  Changes changes;
  Change change{};
  while (detail::take_number(text, change.decision) && text.starts_with(':')) {
    text.remove_prefix(1);
    detail::take_number(text, change.choice);
    changes.push_back(change);
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
  }
  return changes;
}

std::string test_name() {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{}.{}", test->test_suite_name(), test->name());
}

void print(const std::vector<std::string>& trace) {
  for (const std::string& line : trace) fmt::print("{}\n", line);
}

/// Returns "name@changes", or nothing.
std::string_view asked_for() {
  const char* const given = std::getenv("INFEED_SCHEDULE");
  return given != nullptr ? given : std::string_view();
}

/// The engine does it once a process; here by the time of a run, so that it is the same each time.
void measure_ticks_once() {
  replay([] { detail::ticks_per_ns(); }, {}, {});
}

void run_asked_for(const std::function<void()>& body, RunOptions options) {
  options.is_traced = true;
  measure_ticks_once();
  const std::string_view given = asked_for();
  replay(body, {}, options);  // as in explore()
  const RunResult result = replay(body, parsed(given.substr(given.find('@') + 1)), options);
  print(result.trace);
  EXPECT_FALSE(result.finding) << *result.finding;
}

std::uint64_t times() {
  const char* const given = std::getenv("INFEED_SCHEDULES_TIMES");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

}  // namespace

std::string Finding::schedule() const {
  std::string text;
  for (const Change& change : changes) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", change.decision, change.choice);
  }
  return text;
}

std::string Explored::text() const {
  return fmt::format(
      "{} schedules, {} with up to {} changes, and {} at random; {} steps and {} decisions at "
      "most, {} waits "
      "ended by their time; {:.1f} s",
      schedules, is_complete ? "all there are," : "all", changes_done, random, steps_most,
      decisions_most, timeouts, seconds);
}

RunResult replay(const std::function<void()>& body, const Changes& changes, RunOptions options) {
  Changed chooser(changes);
  return run(body, chooser, options);
}

Changes shrunk(const std::function<void()>& body, Changes changes, const RunOptions& options) {
  for (std::size_t size = std::max<std::size_t>(1, changes.size() / 2); size > 0; size /= 2) {
    for (std::size_t at = 0; at + size <= changes.size();) {
      Changes fewer = changes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                  fewer.begin() + static_cast<std::ptrdiff_t>(at + size));
      const RunResult result = replay(body, fewer, options);
      if (result.finding) {
        changes = changes_of(result);
        at = 0;
      } else {
        at += size;
      }
    }
  }
  return changes;
}

Explored explore(const std::function<void()>& body, const ExploreOptions& options) {
  measure_ticks_once();
  return Exploration(body, options).run();
}

void expect_no_finding(const std::string& name, const ExploreOptions& options,
                       const std::function<void()>& body) {
  if (!asked_for().empty()) {
    if (asked_for().starts_with(name + "@")) run_asked_for(body, options.run);
    return;
  }
  ExploreOptions more = options;
  more.schedules_max *= times();
  more.random *= times();
  const Explored explored = explore(body, more);
  fmt::print("{}: {}\n", name, explored.text());
  ::testing::Test::RecordProperty(name, explored.text());
  EXPECT_TRUE(explored.diverged == 0 || !CounterShows::is_possible())
      << explored.diverged << " schedules were not the same when they were run again";
  if (!explored.finding) return;
  print(explored.finding->trace);
  ADD_FAILURE() << name << ": " << explored.finding->what << "\nafter " << explored.text()
                << "\nagain: INFEED_SCHEDULE='" << name << "@" << explored.finding->schedule()
                << "' infeed_schedule_tests --gtest_filter=" << test_name();
}

}  // namespace infeed::schedules
