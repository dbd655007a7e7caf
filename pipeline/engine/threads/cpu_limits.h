#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace infeed::detail {

/// The folders of this process's group and those above it, up to the hierarchy's root, with a slash
/// behind each. `controller` is "" for version 2.
std::vector<std::string> group_folders(const std::string& mount, const std::string& groups_file,
                                       const std::string& controller);
/// CPU time that the quotas of this process's control groups allow in a second; infinite when there
/// is none. Arguments as below.
double cgroup_quota(const std::string& mount, const std::string& groups_file);
/// The same for all limits together, affinity included; a quota may be less than one.
double usable_cpu_time();
/// Cores that the CPU quotas of this process's control groups allow, rounded up; INT_MAX when there
/// is none. `mount` is where the groups' folders are (/sys/fs/cgroup; both versions), `groups_file`
/// names this process's own (/proc/self/cgroup). See cgroups(7).
int cgroup_cores(const std::string& mount, const std::string& groups_file);
/// Of all cores of the machine since it was started; see proc(5), /proc/stat. What other guests of
/// the host took (steal) is busy, too.
std::uint64_t machine_busy_ns();

}  // namespace infeed::detail
