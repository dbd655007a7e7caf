#pragma once

#include <cstdint>
#include <string>

namespace infeed::detail {

struct GroupMemory {
  std::uint64_t in_use_bytes = 0;  ///< without the page cache, which the kernel takes back itself
  std::uint64_t limit_bytes = 0;   ///< 0: none
};

/// Returns the control group with the least room left, from this process's group up to the root.
/// Version 2's memory.high counts as its memory.max does: beyond it the kernel slows the group
/// down. Arguments as for cgroup_quota(). See cgroups(7).
GroupMemory group_memory(const std::string& mount, const std::string& groups_file);

}  // namespace infeed::detail
