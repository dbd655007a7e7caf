#pragma once

#include <string>

namespace infeed::detail {

/// Cores that the CPU quotas of this process's control groups allow, rounded up; INT_MAX when there
/// is none. `mount` is where the groups' folders are (/sys/fs/cgroup; both versions), `groups_file`
/// names this process's own (/proc/self/cgroup). See cgroups(7).
int cgroup_cores(const std::string& mount, const std::string& groups_file);

}  // namespace infeed::detail
