#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

/// A file system of one's own (FUSE, spoken directly) that shows some files, to be read only, and
/// takes as long for a read as one says. Needs root.
namespace infeed::blaming {

class SlowMount {
 public:
  struct Read {
    std::string name;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  /// How long the read takes longer; called in the file system's thread.
  using Delay = std::function<std::chrono::nanoseconds(const Read&)>;

  /// `files` become `folder`/NAME, where `folder` is an empty one. Throws std::runtime_error where
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
