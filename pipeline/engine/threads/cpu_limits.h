#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace infeed::detail {

/// Returns the folders of this process's control group and those above it, up to the root of the
/// hierarchy, each with a slash at the end. `controller` is "" for version 2.
std::vector<std::string> group_folders(const std::string& mount, const std::string& groups_file,
                                       const std::string& controller);
/// Returns the CPU time per second that the quotas of this process's control groups allow; infinite
/// if there is no quota. Arguments as for cgroup_cores().
double cgroup_quota(const std::string& mount, const std::string& groups_file);
/// Returns the CPU time per second that all limits allow, affinity included. It may be less than
/// one.
double usable_cpu_time();
/// Returns the cores that the CPU quotas of this process's control groups allow, rounded up;
/// INT_MAX if there is no quota. `mount` is the folder that holds the groups' folders
/// (/sys/fs/cgroup; both versions). `groups_file` names this process's groups (/proc/self/cgroup).
/// See cgroups(7).
int cgroup_cores(const std::string& mount, const std::string& groups_file);
/// Returns the busy time of all cores of the machine since it was started; see proc(5), /proc/stat.
/// Time that other guests of the host took (steal) counts as busy.
std::uint64_t machine_busy_ns();

}  // namespace infeed::detail
