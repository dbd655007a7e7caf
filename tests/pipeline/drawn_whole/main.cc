#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <latch>
#include <map>
#include <memory>
#include <stdexcept>
#include <sys/prctl.h>

#include <infeed/detail/parse_whole.h>

#include "pipeline/drawn_whole/checks.h"
#include "pipeline/drawn_whole/other_process.h"
#include "pipeline/drawn_whole/process_state.h"
#include "pipeline/drawn_whole/rounds.h"
#include "pipeline/drawn_whole/shrink.h"
#include "records/temporary_files.h"
#include "sanitizers.h"

namespace infeed::test {
namespace {

constexpr const char* kUsage = R"(infeed_drawn_stages [OPTION...]

Draws pipelines of all stages and sources and checks each against itself: its serial form, in
parallel, for several consumers, from checkpoints, in another process, under memory limits, and
ended at any moment, and recorded. What is found is printed with the command that repeats it.

  --pipelines N       so many (100); --first K: from number K on
  --seed S            of all that is drawn (1)
  --only K            that one alone, in this process
  --times N           it N times
  --seconds N         no further pipeline is begun after so many
  --hang-seconds N    what one check may take (60)
  --check-memory      hold the process to the memory limit; count what is left behind
  --check-refusals    memory that is refused must be refused in the same place each time
  --check-faults      system calls that fail, limits and numbers of hosts that change, and figures
                      of a run that must agree
  --plan TEXT         this pipeline instead of a drawn one, with --only K for all else
  --shrink N          with --only: make the pipeline smaller as long as it fails in one of N tries
  --quick             nothing behind the first finding of a pipeline, and no other processes
  --list              print the pipelines, run none
)";

struct Arguments {
  CaseOptions options = {};
  std::uint64_t first = 0;
  std::uint64_t pipelines = 100;
  std::uint64_t times = 1;
  std::uint64_t seconds = 0;
  std::uint64_t hang_seconds = 60;
  std::uint64_t shrinking_tries = 0;
  std::string stream_file = {};
  std::string checkpoint_file = {};
  bool is_alone = false;
  bool is_worker = false;
  bool is_listing = false;
};

std::uint64_t number_of(const std::string& text) {
  std::uint64_t number = 0;
  if (!detail::parse_whole(text, number)) throw std::runtime_error("no number: " + text);
  return number;
}

Arguments read_arguments(const std::vector<std::string>& words) {
  Arguments read;
  std::map<std::string, std::uint64_t*> numbers = {
      {"--seed", &read.options.seed},        {"--first", &read.first},
      {"--pipelines", &read.pipelines},      {"--times", &read.times},
      {"--seconds", &read.seconds},          {"--shrink", &read.shrinking_tries},
      {"--hang-seconds", &read.hang_seconds}};
  std::map<std::string, std::string*> texts = {{"--plan", &read.options.plan},
                                               {"--folder", &read.options.folder},
                                               {"--stream", &read.stream_file},
                                               {"--checkpoint", &read.checkpoint_file}};
  std::map<std::string, bool*> flags = {{"--check-memory", &read.options.checks_memory},
                                        {"--check-refusals", &read.options.checks_refusals},
                                        {"--check-faults", &read.options.checks_faults},
                                        {"--worker", &read.is_worker},
                                        {"--quick", &read.options.is_quick},
                                        {"--list", &read.is_listing}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto flag = flags.find(words[i]); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (i + 1 == words.size()) throw std::runtime_error("what shall " + words[i] + " be?");
    const std::string& name = words[i++];
    if (name == "--only") {
      read.first = number_of(words[i]);
      read.pipelines = 1;
      read.is_alone = true;
    } else if (const auto number = numbers.find(name); number != numbers.end()) {
      *number->second = number_of(words[i]);
    } else if (const auto text = texts.find(name); text != texts.end()) {
      *text->second = words[i];
    } else {
      throw std::runtime_error("no such option: " + name);
    }
  }
  return read;
}

/// Runs pipelines one after the other in this process.
class Worker {
 public:
  explicit Worker(const Arguments& arguments)
      : arguments_(arguments), watch_(std::chrono::seconds(arguments.hang_seconds)) {}

  /// Number of pipelines with findings.
  int run() {
    warm_up();
    int found = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments_.seconds);
    for (std::uint64_t i = 0; i < arguments_.pipelines; ++i) {
      if (arguments_.seconds != 0 && std::chrono::steady_clock::now() > end) break;
      const std::uint64_t number = arguments_.first + i;
      std::ofstream(arguments_.options.folder + "/progress") << number;
      for (std::uint64_t time = 0; time < arguments_.times; ++time) {
        found += run_and_look_behind(number) ? 1 : 0;
        if (found != 0 && arguments_.options.is_quick) return found;
        found += rounds_.note(i + 1) ? 1 : 0;
      }
    }
    fmt::print("{} pipelines of {} elements, {} of them refused; {} with findings\n",
               counts_.pipelines, counts_.elements, counts_.refused, found);
    std::fflush(stdout);
    return found;
  }

 private:
  /// Starts TBB's threads, which stay, and everything else that is made only once.
  void warm_up() {
    DrawnCase drawn(arguments_.options, 0);
    CaseOptions options = arguments_.options;
    Checks(drawn, options, watch_).run();
    std::filesystem::remove_all(drawn.surroundings.folder);
    if (test::kThreadSanitizer) return;
    const auto executor = Executor::tbb(2);
    // TBB's worker comes only if the own thread is busy. They may look at the latch after this returns.
    const auto all = std::make_shared<std::latch>(executor->concurrency());
    for (int i = 0; i < executor->concurrency(); ++i)
      executor->submit([all] { all->arrive_and_wait(); });
    all->wait();
  }

  bool run_and_look_behind(std::uint64_t number) {
    const ProcessState before = ProcessState::now();
    std::vector<Finding> findings = run_one(number, counts_);
    const bool has_ended = ProcessState::wait_for_threads(before.threads);
    ProcessState after = ProcessState::now();
    if (!has_ended) {
      findings.push_back(
          {"at the end", fmt::format("{} threads are left of {} before; {}", after.threads,
                                     before.threads, ProcessState::names())});
    }
    if (after.descriptors > before.descriptors || after.mapped_files > before.mapped_files ||
        after.live_pages > before.live_pages) {
      findings.push_back(
          {"at the end",
           fmt::format("{} descriptors, {} mapped files and {} live pages are left of {}, {} and "
                       "{} before; {}",
                       after.descriptors, after.mapped_files, after.live_pages, before.descriptors,
                       before.mapped_files, before.live_pages, ProcessState::names())});
    }
    after.bytes = ProcessState::wait_for_bytes(before.bytes + kLeftBytes);
    if (after.bytes > before.bytes + kLeftBytes && findings.empty()) {
      look_for_leak(number, after, findings);
    }
    print(number, findings);
    return !findings.empty();
  }

  static constexpr std::uint64_t kLeftBytes = 4096;

  /// Memory that is taken only once is no leak: a leak grows each time.
  void look_for_leak(std::uint64_t number, ProcessState before, std::vector<Finding>& findings) {
    std::string growths;
    Counts again;  // the pipeline counts once
    for (int round = 0; round < 4; ++round) {
      run_one(number, again);
      ProcessState::wait_for_threads(before.threads);
      const std::uint64_t bytes = ProcessState::wait_for_bytes(before.bytes + kLeftBytes);
      if (bytes <= before.bytes + kLeftBytes) return;
      growths += fmt::format(" {}", bytes - before.bytes);
      before.bytes = bytes;
    }
    findings.push_back({"at the end", "bytes that are never given back, each time:" + growths});
  }

  struct Counts {
    std::uint64_t pipelines = 0;
    std::uint64_t elements = 0;
    std::uint64_t refused = 0;
  };

  std::vector<Finding> run_one(std::uint64_t number, Counts& counts) {
    DrawnCase drawn(arguments_.options, number);
    watch_.begin(fmt::format("pipeline {} of seed {}: {}", number, arguments_.options.seed,
                             drawn.plan.text()),
                 drawn.command(arguments_.options));
    std::vector<Finding> findings;
    try {
      Checks checks(drawn, arguments_.options, watch_);
      findings = checks.run();
      ++counts.pipelines;
      counts.elements += checks.expected().size();
      if (!checks.refused().empty()) ++counts.refused;
      if (arguments_.is_alone) show(checks);
    } catch (const std::exception& error) {
      findings.push_back({"the checks", fmt::format("it threw {}", error.what())});
    }
    watch_.end();
    std::error_code ignored;
    std::filesystem::remove_all(drawn.surroundings.folder, ignored);
    return findings;
  }

  static void show(const Checks& checks) {
    if (!checks.refused().empty()) fmt::print("refused: {}\n", checks.refused());
    constexpr std::size_t kShown = 40;
    const Stream& stream = checks.expected();
    for (std::size_t i = 0; i < std::min(kShown, stream.size()); ++i) {
      fmt::print("  element {}: {}\n", i, stream[i]);
    }
    if (stream.size() > kShown) fmt::print("  ... {} elements\n", stream.size());
  }

  void print(std::uint64_t number, const std::vector<Finding>& findings) const {
    if (findings.empty()) return;
    const DrawnCase drawn(arguments_.options, number);
    fmt::print("\nFOUND: pipeline {} of seed {}: {}\n", number, arguments_.options.seed,
               drawn.plan.text());
    for (const Finding& finding : findings) {
      fmt::print("  {}:\n    {}\n", finding.check, finding.differs);
    }
    fmt::print("  again: {}\n", drawn.command(arguments_.options));
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  HangWatch watch_;
  Rounds rounds_{fmt::format("infeed_drawn_stages --seed {} --first {}{}", arguments_.options.seed,
                             arguments_.first, options_text(arguments_.options))};
  Counts counts_;
};

/// Runs the pipelines in a process that may die of one: then another process goes on behind it.
int supervise(const std::vector<std::string>& words, const Arguments& arguments) {
  const std::uint64_t end = arguments.first + arguments.pipelines;
  const auto begun = std::chrono::steady_clock::now();
  bool is_well = true;
  for (std::uint64_t first = arguments.first; first < end;) {
    std::vector<std::string> all = words;
    const auto add = [&all](const std::string& name, std::uint64_t number) {
      all.push_back(name);
      all.push_back(std::to_string(number));
    };
    add("--first", first);
    add("--pipelines", end - first);
    if (arguments.seconds != 0) {
      const auto gone = std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::steady_clock::now() - begun);
      if (static_cast<std::uint64_t>(gone.count()) >= arguments.seconds) break;
      add("--seconds", arguments.seconds - static_cast<std::uint64_t>(gone.count()));
    }
    all.insert(all.end(), {"--folder", arguments.options.folder, "--worker"});
    const int status = run_self(all);
    if (status == 0) return is_well ? 0 : 1;
    is_well = false;
    if (status == 1) return 1;
    std::uint64_t died_at = first;
    std::ifstream(arguments.options.folder + "/progress") >> died_at;
    if (status != kHungStatus) {
      const DrawnCase drawn(arguments.options, died_at);
      fmt::print("\nDIED with status {}: pipeline {} of seed {}: {}\n  again: {}\n", status,
                 died_at, arguments.options.seed, drawn.plan.text(),
                 drawn.command(arguments.options));
      std::fflush(stdout);
    }
    first = died_at + 1;
  }
  return is_well ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  Arguments arguments = read_arguments(words);
  std::optional<TemporaryFolder> folder;
  if (arguments.options.folder.empty()) {
    folder.emplace(test::memory_folder());
    arguments.options.folder = folder->path();
  } else {
    // The folder ends with the process that made it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  if (arguments.is_listing) {
    for (std::uint64_t i = 0; i < arguments.pipelines; ++i) {
      const DrawnCase drawn(arguments.options, arguments.first + i);
      fmt::print("{}: {}\n", arguments.first + i, drawn.plan.text());
    }
    return 0;
  }
  if (!arguments.stream_file.empty()) {
    DrawnCase drawn(arguments.options, arguments.first);
    write_stream(drawn, arguments.checkpoint_file, arguments.stream_file);
    return 0;
  }
  if (arguments.shrinking_tries != 0) {
    const DrawnCase failing(arguments.options, arguments.first);
    fmt::print("{}\n", failing.plan.text());
    print_shrunk(arguments.options, failing, static_cast<int>(arguments.shrinking_tries));
    return 1;
  }
  if (!arguments.is_alone && !arguments.is_worker) return supervise(words, arguments);
  return Worker(arguments).run() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace infeed::test

int main(int count, char** arguments) {
  try {
    return infeed::test::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), infeed::test::kUsage);
    return 2;
  }
}
