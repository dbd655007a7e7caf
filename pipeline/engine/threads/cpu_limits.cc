#include "engine/threads/cpu_limits.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sched.h>
#include <unistd.h>

#include "infeed/pipeline/executor.h"

namespace infeed {
namespace {

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::numeric_limits<int>::max();
  return CPU_COUNT(&set);
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

double cpu_time_of_quota(double quota, double period) {
  return quota <= 0 || period <= 0 ? kNoQuota : quota / period;
}

/// Returns this process's path in the hierarchy whose line in `groups_file` names `controller` (""
/// for the only hierarchy of version 2).
std::string cgroup_path(const std::string& groups_file, const std::string& controller) {
  std::ifstream groups(groups_file);
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names == ",," ? controller.empty() : names.find("," + controller + ",") != names.npos) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

/// Returns the smallest quota of this process's group and all groups above it.
template <class QuotaOf>
double tightest(const std::string& mount, const std::string& groups_file,
                const std::string& controller, QuotaOf quota_of) {
  double quota = kNoQuota;
  for (const std::string& folder : detail::group_folders(mount, groups_file, controller)) {
    quota = std::min(quota, quota_of(folder));
  }
  return quota;
}

double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return kNoQuota;
  return cpu_time_of_quota(std::atof(quota.c_str()), period);
}

double quota_v1(const std::string& folder) {
  double quota = -1;
  double period = 0;
  std::ifstream(folder + "cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "cpu.cfs_period_us") >> period;
  return cpu_time_of_quota(quota, period);
}

}  // namespace

namespace detail {

std::vector<std::string> group_folders(const std::string& mount, const std::string& groups_file,
                                       const std::string& controller) {
  std::vector<std::string> folders;
  std::string path = cgroup_path(groups_file, controller);
  while (true) {
    folders.push_back(mount + path + (path == "/" ? "" : "/"));
    if (path == "/" || path.empty()) return folders;
    path = parent_of(path);
  }
}

double cgroup_quota(const std::string& mount, const std::string& groups_file) {
  double quota = tightest(mount, groups_file, "", quota_v2);
  // Both versions may be mounted side by side. Inside a container the group is the mount's root.
  for (const char* controller : {"/cpu", "/cpu,cpuacct"}) {
    quota = std::min(quota, tightest(mount + controller, groups_file, "cpu", quota_v1));
  }
  return quota;
}

int cgroup_cores(const std::string& mount, const std::string& groups_file) {
  const double quota = cgroup_quota(mount, groups_file);
  if (quota >= std::numeric_limits<int>::max()) return std::numeric_limits<int>::max();
  return std::max(1, static_cast<int>(std::ceil(quota)));
}

std::uint64_t machine_busy_ns() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
  if (!(file >> cpu >> user >> nice >> system >> idle >> io >> irq >> soft >> steal)) return 0;
  const auto ticks_per_second = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return (user + nice + system + irq + soft + steal) * (1'000'000'000 / ticks_per_second);
}

double usable_cpu_time() {
  return std::min<double>(affinity_cores(), cgroup_quota("/sys/fs/cgroup", "/proc/self/cgroup"));
}

}  // namespace detail

int usable_cores() {
  return std::max(
      1, std::min(affinity_cores(), detail::cgroup_cores("/sys/fs/cgroup", "/proc/self/cgroup")));
}

}  // namespace infeed
