#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/records/file.h>

namespace infeed::detail {

/// How long, and how often, CPU quotas have held back a process's control groups. Each core counts
/// its own time.
struct Throttling {
  std::uint64_t held_back_ns = 0;
  std::uint64_t times = 0;
};

/// The accounts of this process's control groups and of those above them (cpu.stat, see
/// cgroups(7)). The files stay open, so a reading costs one system call per group.
///
/// Thread-safety: one thread at a time.
class ThrottlingAccounts {
 public:
  /// `mount` is the folder of the groups' folders (both versions). `groups_file` names the
  /// process's own groups.
  explicit ThrottlingAccounts(std::string mount = "/sys/fs/cgroup",
                              std::string groups_file = "/proc/self/cgroup");

  /// Returns the account of the group that was held back longest; zeros if there are no groups.
  Throttling read() const;
  /// Finds the groups again, since the process may have been moved to another one.
  void find_groups();

 private:
  const std::string mount_;
  const std::string groups_file_;
  std::vector<File> accounts_;
};

}  // namespace infeed::detail
