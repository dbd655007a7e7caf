#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string_view>

#include "pipeline/drawn_whole/checks.h"
#include "pipeline/suite/counted_memory.h"
#include "sanitizers.h"

/// Iterations under a memory limit.
namespace infeed::test {
namespace {

/// Bytes that an iteration may take beyond its limit and one element for each call under way:
/// threads' scratch, figures, the C library's store.
constexpr std::uint64_t kMemoryAllowanceBytes = std::uint64_t{16} << 20;
/// The largest value of autotune.
constexpr std::uint64_t kAutotunedCalls = 16;

std::uint64_t calls_of(const Plan& plan) {
  std::uint64_t calls = 1;
  for (const Step& step : plan.steps) {
    for (const char* const name : {"parallelism", "readers"}) {
      const std::int64_t number = step.get(name, 1);
      calls += number < 0 ? kAutotunedCalls : static_cast<std::uint64_t>(number);
    }
    for (const Plan& input : step.inputs) calls += calls_of(input);
  }
  return calls;
}

/// Returns the longest text of a source: if all its input is damaged, no element shows it.
std::uint64_t text_bytes_max(const Plan& plan) {
  std::int64_t most = 0;
  plan.any([&most](const Step& step) {
    most = std::max(most, step.get("text_bytes", 0));
    return false;
  });
  return static_cast<std::uint64_t>(most);
}

bool is_damaged(const Plan& plan) {
  return plan.any([](const Step& step) { return step.get("damage", 0) != 0; });
}

/// True for stages with a Reservation: of memory that they must hold.
bool must_hold(std::string_view op) {
  static const std::set<std::string_view> kOps = {
      "batch",          "batch_unbatch", "bucket",       "cache",         "group_by_window",
      "optional_cache", "pack",          "padded_batch", "ragged_batch",  "rebatch",
      "unique",         "shuffle",       "window",       "window_unbatch"};
  return kOps.contains(op) || op.starts_with("parse_") || op.ends_with("_into");
}

/// True for stages whose own threads take their input, or read inner datasets.
bool has_threads(const Step& step) {
  if (step.op == "interleaved_records") return step.get("readers", 1) != 1;
  return step.op == "prefetch" || step.get("parallelism", 1) != 1;
}

/// True if a stage that must hold memory works in another thread than the one that takes the plan's
/// elements.
bool holds_elsewhere(const Plan& plan) {
  bool is_elsewhere = false;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    is_elsewhere = is_elsewhere || has_threads(*step);
    if (is_elsewhere && must_hold(step->op)) return true;
    for (const Plan& input : step->inputs) {
      const bool holds = is_elsewhere
                             ? input.any([](const Step& inner) { return must_hold(inner.op); })
                             : holds_elsewhere(input);
      if (holds) return true;
    }
  }
  return false;
}

/// True if several inner datasets are open at once that must hold memory, and threads decide how much
/// each holds. If memory is short, a parallel interleave closes them until the consumer comes to them. So
/// it is refused only where it would be without threads, but one that is still closed may leave room.
bool holds_in_several(const Step& step) {
  const auto holds = [](const Plan& input) {
    return input.any([](const Step& inner) { return must_hold(inner.op); });
  };
  if (has_threads(step)) return std::any_of(step.inputs.begin(), step.inputs.end(), holds);
  return step.get("cycle_length", 1) > 1 &&
         std::any_of(step.inputs.begin(), step.inputs.end(), holds_elsewhere);
}

}  // namespace

bool share_a_limit(const Plan& plan) {
  static const std::set<std::string_view> kOnSomeRuns = {"optional_cache", "file_cache",
                                                         "snapshot"};
  int holding = 0;
  bool grows = false;
  bool reads_inner_ahead = false;
  bool depends_on_time = false;
  plan.any([&](const Step& step) {
    holding += must_hold(step.op) ? 1 : 0;
    grows = grows || step.op == "cache" || step.op == "unique";
    reads_inner_ahead = reads_inner_ahead || (has_threads(step) && !step.inputs.empty());
    depends_on_time = depends_on_time || kOnSomeRuns.contains(step.op) || holds_in_several(step);
    return false;
  });
  return holding > 1 || (grows && reads_inner_ahead) || depends_on_time;
}

bool may_drop_a_refused_batch(const Plan& plan) {
  return plan.any(
      [](const Step& step) { return must_hold(step.op) && step.get("drop_remainder", 0) != 0; });
}

void Checks::check_memory_limit() {
  // Damage and limits together may make threads lock each other out.
  const int rounds = is_damaged(drawn_.plan) ? 8 : 2;
  for (int round = 0; round < rounds; ++round) {
    Settings drawn = settings();
    const std::uint64_t limit = (std::uint64_t{4096} << words_.below(14)) + words_.below(4096);
    drawn.options.memory_bytes_max = limit;
    begin(fmt::format("a limit of {} bytes", limit), drawn);
    const AnyDataset dataset = any_dataset();
    std::unique_ptr<Run> run;
    try {
      run = drawn_.start(dataset, drawn);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::resource_exhausted) {
        find(fmt::format("iterate() threw {}", error.what()));
      }
      continue;
    }
    run_until_stopped(*run, drawn.manner, ErrorCode::resource_exhausted);
    check_ = fmt::format("a limit of {} bytes ({})", limit, drawn.text);
    const std::uint64_t peak = run->memory().peak_bytes();
    if (peak <= limit + kMemoryAllowanceBytes) continue;
    // Seldom, since most elements are of a few KB.
    const auto call_bytes = measure_call_bytes();
    if (call_bytes && peak > limit + kMemoryAllowanceBytes + calls_of(drawn_.plan) * *call_bytes) {
      find(fmt::format("the account's peak is {} bytes; {} calls may hold up to {}", peak,
                       calls_of(drawn_.plan), *call_bytes));
    }
  }
}

/// Returns the bytes that a call may hold: the largest element of any stage, and its input. Empty
/// if the pipeline can't be measured.
std::optional<std::uint64_t> Checks::measure_call_bytes() {
  Surroundings measured = drawn_.surroundings;
  measured.is_measured = true;
  measured.is_serial = true;
  measured.cache_folder = drawn_.surroundings.folder + "/caches-measured";
  take_largest_element_bytes();
  try {
    const std::unique_ptr<Run> run =
        drawn_.start(build(drawn_.plan, measured), serial_settings(*executors_, drawn_.epoch));
    take(*run, kElementsMax);
    return 2 * std::max({run->largest_element_bytes(), take_largest_element_bytes(),
                         text_bytes_max(drawn_.plan)});
  } catch (const Error&) {
    return std::nullopt;  // a stage that can't stand behind another one
  }
}

void Checks::check_allocator() {
  if (kAddressSanitizer || kThreadSanitizer) return;  // their allocator tells no peak
  begin("the largest element", {});
  const auto call_bytes = measure_call_bytes();
  if (!call_bytes) return;
  Settings drawn = settings();
  drawn.options.memory_bytes_max = std::uint64_t{4 << 20} << words_.below(5);
  begin(fmt::format("a limit of {} bytes, held by the allocator", drawn.options.memory_bytes_max),
        drawn);
  const AnyDataset dataset = drawn_.describe(false, true);
  const CountedMemory allocated;
  std::uint64_t in_account = 0;
  try {
    const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
    const HangWatch::Shown shown(watch_, *run);
    for (std::size_t i = 0; i < kElementsMax; ++i) {
      const auto text = run->next(drawn.manner);
      if (!text || is_terminal(*text)) break;
    }
    in_account = run->memory().peak_bytes();
  } catch (const Error&) {
    return;
  }
  const std::uint64_t peak = allocated.peak_bytes();
  const std::uint64_t beside = calls_of(drawn_.plan) * *call_bytes + kMemoryAllowanceBytes;
  if (peak > drawn.options.memory_bytes_max + beside || peak > in_account + beside) {
    find(
        fmt::format("{} bytes were allocated at once; the account's peak is {}, {} calls may hold "
                    "up to {} bytes",
                    peak, in_account, calls_of(drawn_.plan), *call_bytes));
  }
}

void Checks::check_refusals() {
  if (share_a_limit(drawn_.plan)) return;
  Settings drawn = settings();
  drawn.options.memory_bytes_max = (std::uint64_t{4096} << words_.below(10)) + words_.below(4096);
  std::vector<std::string> outcomes;
  std::vector<std::string> ended_by;
  for (int round = 0; round < 3; ++round) {
    begin(fmt::format("run {} with a limit of {} bytes", round, drawn.options.memory_bytes_max),
          drawn);
    const AnyDataset dataset = drawn_.has_seeds ? drawn_.describe(false, true) : *shared_;
    try {
      const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
      const HangWatch::Shown shown(watch_, *run);
      const Stream got = take(*run, kElementsMax, drawn.manner);
      outcomes.push_back(fmt::format("{} elements{}", got.size(),
                                     run->ended_by() ? ", the last a terminal error" : ""));
      ended_by.push_back(run->ended_by() ? got.back() : "nothing");
    } catch (const Error& error) {
      outcomes.push_back(std::string("refused: ") + std::string(to_string(error.code())));
      ended_by.push_back(error.message());
    }
    if (outcomes.back() != outcomes.front()) {
      return find(fmt::format("once {} ({}), once {} ({})", outcomes.front(), ended_by.front(),
                              outcomes.back(), ended_by.back()));
    }
  }
}

}  // namespace infeed::test
