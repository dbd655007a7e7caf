#include "cpu_group.h"

#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace infeed::blaming {
namespace {

// Version 1, in which a single thread can leave.
const std::filesystem::path kGroups = "/sys/fs/cgroup/cpu";

void write_to(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  if (!stream) throw std::runtime_error(fmt::format("can't write {} to {}", text, file.string()));
}

}  // namespace

CpuGroup::CpuGroup() : folder_(kGroups / fmt::format("infeed-blame-{}", ::getpid())) {
  std::error_code error;
  std::filesystem::create_directory(folder_, error);
  if (error || !std::filesystem::exists(folder_ / "cpu.cfs_quota_us")) {
    throw std::runtime_error(fmt::format(
        "can't make a control group with a CPU quota at {}: {}; it needs root and version 1 of the "
        "groups",
        folder_.string(), error.message()));
  }
  write_to(folder_ / "cgroup.procs", std::to_string(::getpid()));
}

CpuGroup::~CpuGroup() {
  std::ofstream(kGroups / "cgroup.procs") << ::getpid() << std::flush;
  ::rmdir(folder_.c_str());
}

void CpuGroup::leave() const { write_to(kGroups / "tasks", std::to_string(::syscall(SYS_gettid))); }

void CpuGroup::set_quota(int milliseconds) const {
  write_to(folder_ / "cpu.cfs_quota_us",
           std::to_string(milliseconds == 0 ? -1 : milliseconds * 1000));
}

}  // namespace infeed::blaming
