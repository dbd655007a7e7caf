#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

/// A read-only file system (FUSE, spoken directly) that shows some files and delays each read by a
/// given time. Needs root.
namespace infeed::blaming {

class SlowMount {
 public:
  struct Read {
    std::string name;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  /// Returns the delay of the read; called in the file system's thread.
  using Delay = std::function<std::chrono::nanoseconds(const Read&)>;

  /// Shows `files` as `folder`/NAME, where `folder` is an empty one. Throws std::runtime_error if
  /// nothing can be mounted.
  SlowMount(std::string folder, std::vector<std::string> files, Delay delay);
  ~SlowMount();
  SlowMount(const SlowMount&) = delete;
  SlowMount& operator=(const SlowMount&) = delete;

 private:
  struct Shown {
    std::string name;
    int descriptor;
    std::uint64_t bytes;
  };

  void serve();
  void answer(const char* request);

  const std::string folder_;
  const Delay delay_;
  std::vector<Shown> files_;
  int device_ = -1;
  std::thread thread_;
};

}  // namespace infeed::blaming
