#include "measured_case.h"

#include <algorithm>
#include <malloc.h>

#include "process_memory.h"

namespace infeed::memory_limit {
namespace {

using namespace benchmarks;
using std::chrono::steady_clock;

}  // namespace

Meter::Meter() : resident_base_(trimmed_resident_bytes()) { restart_resident_peak(); }

void Meter::restart_peaks() {
  counted_.restart_peak();
  ::malloc_trim(0);
  restart_resident_peak();
}

void Meter::look(const PipelineStatistics& statistics) {
  std::uint64_t bytes = 0;
  for (const StageStatistics& stage : statistics.stages) bytes += stage.buffered_bytes;
  figures_.statistics_peak = std::max(figures_.statistics_peak, bytes);
}

void Meter::note_peaks() {
  figures_.counted_peak = std::max(figures_.counted_peak, counted_.peak_bytes());
  figures_.resident_peak =
      std::max(figures_.resident_peak, beyond(status_bytes("VmHWM"), resident_base_));
}

Figures Meter::end() {
  note_peaks();
  figures_.counted_after = counted_.held_bytes();
  figures_.resident_after = beyond(trimmed_resident_bytes(), resident_base_);
  figures_.seconds = std::chrono::duration<double>(steady_clock::now() - begin_).count();
  return figures_;
}

}  // namespace infeed::memory_limit
