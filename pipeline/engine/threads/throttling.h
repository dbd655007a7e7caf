#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/records/file.h>

namespace infeed::detail {

/// For how long, and how often, CPU quotas have held back a process's control groups. Each core
/// counts its own.
struct Throttling {
  std::uint64_t held_back_ns = 0;
  std::uint64_t times = 0;
};

/// The accounts of this process's control groups and of those above them (cpu.stat, see cgroups(7)).
/// They stay open, so that looking costs a system call a group.
///
/// Thread-safety: one thread at a time.
class ThrottlingAccounts {
 public:
  /// `mount` is where the groups' folders are (both versions), `groups_file` names the process's own.
  explicit ThrottlingAccounts(std::string mount = "/sys/fs/cgroup",
                              std::string groups_file = "/proc/self/cgroup");

  /// Of the group that was held back longest. Nothing at all where there are no groups.
  Throttling read() const;
  /// The process may have been moved to another group.
  void find_groups();

 private:
  const std::string mount_;
  const std::string groups_file_;
  std::vector<File> accounts_;
};

}  // namespace infeed::detail
