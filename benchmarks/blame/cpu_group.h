#pragma once

#include <filesystem>

/// A control group for this process, whose CPU quota can be changed while it runs.
namespace infeed::blaming {

class CpuGroup {
 public:
  /// Moves all threads of the process into the group, which also takes the threads that they start.
  /// Throws std::runtime_error if no group can be made.
  CpuGroup();
  /// Returns to the group where the process was.
  ~CpuGroup();
  CpuGroup(const CpuGroup&) = delete;
  CpuGroup& operator=(const CpuGroup&) = delete;

  /// Takes the calling thread out: the quota no longer holds it back.
  void leave() const;
  /// Sets the milliseconds of CPU time in each tenth of a second; 0: no limit.
  void set_quota(int milliseconds) const;

 private:
  const std::filesystem::path folder_;
};

}  // namespace infeed::blaming
