#include "engine/tuning/group_memory.h"

#include <algorithm>
#include <fstream>

#include "engine/threads/cpu_limits.h"

namespace infeed::detail {
namespace {

// Version 1 says "no limit" with the largest number of pages that there is.
constexpr std::uint64_t kUnlimitedBytes = std::uint64_t{1} << 60;

/// Returns the limit in `file`; 0 if there is none.
std::uint64_t limit_in(const std::string& file) {
  std::uint64_t bytes = 0;
  if (!(std::ifstream(file) >> bytes)) return 0;  // "max", or no such file
  return bytes < kUnlimitedBytes ? bytes : 0;
}

/// Returns the usage in `usage_file` without the pages of files, whose names begin with `prefix`.
std::uint64_t usage_in(const std::string& folder, const char* usage_file,
                       const std::string& prefix) {
  std::uint64_t usage = 0;
  if (!(std::ifstream(folder + usage_file) >> usage)) return 0;
  std::ifstream statistics(folder + "memory.stat");
  std::string name;
  for (std::uint64_t bytes = 0; statistics >> name >> bytes;) {
    const bool is_file = name == prefix + "inactive_file" || name == prefix + "active_file";
    if (is_file) usage -= std::min(usage, bytes);
  }
  return usage;
}

GroupMemory memory_v2(const std::string& folder) {
  std::uint64_t limit = limit_in(folder + "memory.max");
  const std::uint64_t high = limit_in(folder + "memory.high");
  if (limit == 0 || (high != 0 && high < limit)) limit = high;
  if (limit == 0) return {};
  return {usage_in(folder, "memory.current", ""), limit};
}

GroupMemory memory_v1(const std::string& folder) {
  const std::uint64_t limit = limit_in(folder + "memory.limit_in_bytes");
  if (limit == 0) return {};
  return {usage_in(folder, "memory.usage_in_bytes", "total_"), limit};
}

std::uint64_t room(const GroupMemory& group) {
  if (group.limit_bytes == 0) return UINT64_MAX;
  return group.limit_bytes - std::min(group.limit_bytes, group.in_use_bytes);
}

}  // namespace

GroupMemory group_memory(const std::string& mount, const std::string& groups_file) {
  GroupMemory tightest;
  const auto look = [&](const std::string& hierarchy, const char* controller, auto memory_of) {
    for (const std::string& folder : group_folders(hierarchy, groups_file, controller)) {
      const GroupMemory group = memory_of(folder);
      if (room(group) < room(tightest)) tightest = group;
    }
  };
  look(mount, "", memory_v2);
  look(mount + "/memory", "memory", memory_v1);
  return tightest;
}

}  // namespace infeed::detail
