#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace infeed::test {

/// Returns a figure that /proc/self/status gives in KiB, in bytes.
inline std::uint64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + name);
}

/// Lets the figure VmHWM count from here on.
inline void restart_resident_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace infeed::test
