#include <filesystem>
#include <random>

#include "fault_kind.h"
#include "slow_mount.h"
#include "tools/profile/slow_reads.h"

namespace infeed::blaming {
namespace {

using namespace std::chrono_literals;
using test::Judgement;
using test::PlantedRecords;
using test::run_recorded;
using test::SlowRead;
using test::SlowReads;
using test::StallLog;
using tools::Cause;

constexpr std::uint64_t kBlockBytes = 16 << 10;
constexpr PlantedRecords::Shape kShape{.files = 8, .records_per_file = 800, .record_bytes = 1000};
constexpr int kReadSteps = 390;

auto describe(const std::vector<std::string>& files) {
  // Little is read ahead of a step, or it would hide the reads of such small files.
  return records(files, {.block_bytes = kBlockBytes}) |
         map([](const Record& record) { return record.bytes().size(); }) | batch(16) | prefetch(2);
}

/// A read brings whole records and parts of others, which are handed over with this read or the
/// next one. So a traced range is right if it overlaps the read's bytes, widened by a block at each
/// end.
test::IsRight names_read(std::uint64_t framed_bytes) {
  return [framed_bytes](const tools::LateStep& late, const tools::SlowCall* call,
                        const test::Stall& stall) {
    if (late.cause != Cause::slow_read || call == nullptr || !call->place || !stall.place) {
      return false;
    }
    const auto& [file, record] = *stall.place;
    const std::uint64_t slack = kBlockBytes / framed_bytes + 1;
    return std::filesystem::path(call->place->file).filename() ==
               std::filesystem::path(file).filename() &&
           record + slack >= call->place->record &&
           record <= call->place->record + call->place->count + slack;
  };
}

Judgement slow_records(const Round& round) {
  const PlantedRecords planted(round.folder, kShape);
  std::mt19937_64 random(round.seed);
  std::uniform_int_distribution<std::uint64_t> any(0, kShape.records_per_file - 1);
  std::vector<SlowRead> reads;
  for (const std::string& file : planted.files()) {
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t begin = any(random) * planted.framed_bytes();
      reads.push_back({file, begin, begin + planted.framed_bytes(), 40ms});
    }
  }
  StallLog log;
  const SlowReads slow(reads, [&](const SlowRead& read, test::StallClock::time_point begin) {
    log.add({begin, test::StallClock::now(),
             test::Place{read.file_end, read.begin / planted.framed_bytes()}});
  });
  const auto explained = run_recorded(describe(planted.files()), round.folder + "/run.profile",
                                      {.steps_max = kReadSteps});
  return judge(explained, log.stalls(), names_read(planted.framed_bytes()));
}

Judgement slow_file(const Round& round) {
  const PlantedRecords planted(round.folder, kShape);
  const std::string& file = planted.files()[1 + round.seed % (planted.files().size() - 1)];
  StallLog log;
  const SlowReads slow({{file, 0, UINT64_MAX, 20ms}},
                       [&](const SlowRead&, test::StallClock::time_point begin) {
                         log.add({begin, test::StallClock::now(), test::Place{file, 0}});
                       });
  const auto explained = run_recorded(describe(planted.files()), round.folder + "/run.profile",
                                      {.steps_max = kReadSteps});
  return judge(
      explained, log.stalls(),
      [](const tools::LateStep& late, const tools::SlowCall* call, const test::Stall& stall) {
        return late.cause == Cause::slow_read && call != nullptr && call->place &&
               call->place->file == stall.place->first;
      });
}

/// In bursts the file system delivers a block only every 30 ms.
Judgement storage_bursts(const Round& round) {
  const PlantedRecords planted(round.folder, kShape);
  const std::string mounted = round.folder + "/mounted";
  std::filesystem::create_directory(mounted);
  std::mt19937_64 random(round.seed);
  std::uniform_int_distribution<std::uint64_t> reads_between(20, 50);
  StallLog log;
  std::uint64_t until_burst = reads_between(random);
  int left_of_burst = 0;
  const SlowMount mount(mounted, planted.files(), [&](const SlowMount::Read& read) {
    if (left_of_burst == 0 && --until_burst == 0) {
      left_of_burst = 4;
      until_burst = reads_between(random);
    }
    if (left_of_burst == 0) return 0ms;
    --left_of_burst;
    const auto begin = test::StallClock::now();
    log.add({begin, begin + 30ms,
             test::Place{read.name, (read.offset + read.bytes / 2) / planted.framed_bytes()}});
    return 30ms;
  });
  std::vector<std::string> files;
  for (const std::string& file : planted.files()) {
    files.push_back(mounted + "/" + std::filesystem::path(file).filename().string());
  }
  const auto explained =
      run_recorded(describe(files), round.folder + "/run.profile", {.steps_max = kReadSteps});
  return judge(explained, log.stalls(), names_read(planted.framed_bytes()));
}

}  // namespace

std::vector<FaultKind> storage_faults() {
  std::vector<FaultKind> kinds;
  if (test::kCanSlowReads) {
    kinds.push_back({"slow record", slow_records});
    kinds.push_back({"slow shard", slow_file});
  }
  kinds.push_back({"storage bursts by a throttled file system", storage_bursts});
  return kinds;
}

}  // namespace infeed::blaming
