#include "tools/profile/planted_stalls.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <random>

namespace infeed::test {

using tools::Cause;
using tools::LateStep;
using tools::SlowCall;

void StallLog::add(Stall stall) {
  const std::lock_guard lock(mutex_);
  stalls_.push_back(std::move(stall));
}

std::vector<Stall> StallLog::stalls() const {
  const std::lock_guard lock(mutex_);
  return stalls_;
}

PlantedRecords::PlantedRecords(const std::filesystem::path& folder, const Shape& shape)
    : shape_(shape) {
  for (int i = 0; i < shape.files; ++i) {
    const std::string name = (folder / fmt::format("part-{}.tfrecord", i)).string();
    RecordWriter writer(name);
    for (int record = 0; record < shape.records_per_file; ++record) {
      std::string content = fmt::format("{} {}", name, record);
      content.resize(static_cast<std::size_t>(shape.record_bytes) + name.size(), ' ');
      writer.write(content);
    }
    writer.close();
    files_.push_back(name);
  }
  framed_bytes_ = std::filesystem::file_size(files_.front()) /
                  static_cast<std::uint64_t>(shape.records_per_file);
}

void PlantedRecords::plant_every(std::uint64_t first, std::uint64_t every) {
  for (const std::string& file : files_) {
    for (std::uint64_t record = first; record < static_cast<std::uint64_t>(shape_.records_per_file);
         record += every) {
      slow_.insert({file, record});
    }
  }
}

void PlantedRecords::plant(double share, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_slow(share);
  for (const std::string& file : files_) {
    for (int record = 0; record < shape_.records_per_file; ++record) {
      if (is_slow(random)) slow_.insert({file, static_cast<std::uint64_t>(record)});
    }
  }
}

bool PlantedRecords::is_slow(const tools::RecordedPlace& place) const {
  for (std::uint64_t i = 0; i < place.count; ++i) {
    if (slow_.contains({place.file, place.record + i})) return true;
  }
  return false;
}

Place PlantedRecords::place_of(const Record& record) {
  const std::string_view text = record.bytes();
  const std::size_t space = text.find(' ');
  return {std::string(text.substr(0, space)), std::stoull(std::string(text.substr(space + 1, 20)))};
}

ExplainedRun explained_run(const std::string& file, StallClock::time_point first_step) {
  ExplainedRun explained{.run = tools::read_recorded_run(file), .report = {}, .begin = first_step};
  if (!explained.run.steps.empty()) {
    explained.begin -= std::chrono::nanoseconds(explained.run.steps.front().begin_ns);
  }
  explained.report = tools::explain(explained.run);
  return explained;
}

bool is_not_of_pipeline(const LateStep& late) {
  return late.cause == Cause::slow_step || late.cause == Cause::others_on_cores ||
         late.cause == Cause::paused_consumer || late.cause == Cause::quota ||
         late.cause == Cause::unknown;
}

Judgement& Judgement::operator+=(const Judgement& other) {
  injected += other.injected;
  blamed_right += other.blamed_right;
  false_blame += other.false_blame;
  of_machine += other.of_machine;
  wrong += other.wrong;
  return *this;
}

Judgement judge(const ExplainedRun& explained, const std::vector<Stall>& stalls,
                const IsRight& is_right, Lengthens lengthens) {
  Judgement judged;
  std::map<std::uint64_t, std::uint64_t> waits_ns;
  for (const tools::RecordedStep& step : explained.run.steps) {
    waits_ns[step.number] = step.infeed_wait_ns;
  }
  for (const LateStep& late : explained.report.late_steps) {
    const auto begin = explained.begin + std::chrono::nanoseconds(late.begin_ns);
    const auto end =
        begin + std::chrono::nanoseconds(lengthens == Lengthens::wait ? waits_ns.at(late.step)
                                                                      : late.length_ns);
    const SlowCall* const call =
        late.slow_call < 0 ? nullptr
                           : &explained.run.slow_calls[static_cast<std::size_t>(late.slow_call)];
    std::chrono::nanoseconds within{0};
    bool has_right = false;
    std::string planted;
    for (const Stall& stall : stalls) {
      const auto time = std::min(stall.end, end) - std::max(stall.begin, begin);
      if (time <= std::chrono::nanoseconds(0)) continue;
      within += time;
      has_right = has_right || is_right(late, call, stall);
      if (stall.place) planted += fmt::format(" {}:{}", stall.place->first, stall.place->second);
    }
    const bool is_planted = 2 * within >= std::chrono::nanoseconds(late.late_ns);
    if (is_planted) {
      ++judged.injected;
      if (has_right) {
        ++judged.blamed_right;
        continue;
      }
    } else if (is_not_of_pipeline(late)) {
      ++judged.of_machine;
      continue;
    } else {
      ++judged.false_blame;
    }
    judged.wrong += fmt::format(
        "{} step {} of {:.1f} ms ({:.1f} ms of{}): {}: {}\n", is_planted ? "planted" : "other",
        late.step, static_cast<double>(late.length_ns) / 1e6,
        static_cast<double>(within.count()) / 1e6, planted.empty() ? " stalls" : planted,
        name_of(late.cause), late.sentence);
  }
  return judged;
}

}  // namespace infeed::test
