#pragma once

#include <cstdint>
#include <fstream>
#include <malloc.h>
#include <stdexcept>
#include <string>

namespace infeed::test {

/// Returns a figure of /proc/self/status, in its own unit.
inline std::uint64_t status_value(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1));
  }
  throw std::runtime_error("/proc/self/status has no " + name);
}

/// Returns a figure that /proc/self/status gives in KiB, in bytes.
inline std::uint64_t status_bytes(const std::string& name) { return status_value(name) * 1024; }

/// Returns the resident bytes, once the C library has given back what it can.
inline std::uint64_t trimmed_resident_bytes() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  return status_bytes("VmRSS");
}

/// Lets the figure VmHWM count from here on.
inline void restart_resident_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

inline std::uint64_t beyond(std::uint64_t bytes, std::uint64_t base) {
  return bytes > base ? bytes - base : 0;
}

}  // namespace infeed::test
