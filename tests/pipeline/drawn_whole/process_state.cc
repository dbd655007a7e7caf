#include "pipeline/drawn_whole/process_state.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "pipeline/drawn_whole/counting_allocator.h"

namespace infeed::test {
namespace {

namespace fs = std::filesystem;

std::string comm_of(const fs::path& task) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name;
}

/// Returns the names of all threads whose name differs from the program's.
std::vector<std::string> thread_names() {
  static const std::string kOwn = comm_of("/proc/self");
  std::vector<std::string> names;
  std::error_code gone;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/self/task", gone)) {
    std::string name = comm_of(task.path());
    if (!name.empty() && name != kOwn) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> descriptor_targets() {
  std::vector<std::string> targets;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    std::string target = fs::read_symlink(entry.path(), gone).string();
    // The listing itself has a descriptor.
    if (!gone && !target.ends_with("/fd")) targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace

ProcessState ProcessState::now() {
  return {thread_names().size(), descriptor_targets().size(), live_bytes()};
}

bool ProcessState::wait_for_threads(std::size_t threads) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (thread_names().size() > threads) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

std::string ProcessState::names() {
  std::string text = "threads:";
  for (const std::string& name : thread_names()) text += " " + name;
  text += "; descriptors:";
  for (const std::string& target : descriptor_targets()) text += " " + target;
  return text;
}

}  // namespace infeed::test
