#include "measured_case.h"

#include <algorithm>
#include <fstream>
#include <malloc.h>
#include <stdexcept>

namespace infeed::memory_limit {
namespace {

using std::chrono::steady_clock;

/// Returns a figure of /proc/self/status.
std::uint64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + name);
}

/// Resident bytes, once the C library has given back what it can.
std::uint64_t trimmed_resident_bytes() {
  ::malloc_trim(0);
  return status_bytes("VmRSS");
}

void restart_resident_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

std::uint64_t beyond(std::uint64_t bytes, std::uint64_t base) {
  return bytes > base ? bytes - base : 0;
}

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
