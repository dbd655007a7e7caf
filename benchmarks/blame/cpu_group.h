#pragma once

#include <filesystem>

/// A control group of this process's own, whose CPU quota can be changed while it runs.
namespace infeed::blaming {

class CpuGroup {
 public:
  /// All threads of the process go into it, and those that they make. Throws std::runtime_error
  /// where no group can be made.
  CpuGroup();
  /// Back to where the process was.
  ~CpuGroup();
  CpuGroup(const CpuGroup&) = delete;
  CpuGroup& operator=(const CpuGroup&) = delete;

  /// The calling thread leaves it: it is held back no more.
  void leave() const;
  /// Milliseconds of CPU time in each tenth of a second; 0: as much as there is.
  void set_quota(int milliseconds) const;

 private:
  const std::filesystem::path folder_;
};

}  // namespace infeed::blaming
