#include "pipeline/drawn_whole/process_state.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>
#include <vector>

#include "pipeline/suite/counted_memory.h"

#if defined(INFEED_TESTS_SANITIZED)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT
#endif

namespace infeed::test {
namespace {

namespace fs = std::filesystem;

std::uint64_t live_bytes() {
#if defined(INFEED_TESTS_SANITIZED)
  return __sanitizer_get_current_allocated_bytes();
#else
  return counted_bytes();
#endif
}

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

std::vector<std::string> mapped_file_names() {
  std::vector<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t name = line.find('/');
    if (name == std::string::npos) continue;
    const std::string file = line.substr(name);
    const bool is_of_program = file.find(".so") != std::string::npos ||
                               file.ends_with("/infeed_drawn_stages") || file.starts_with("/usr/");
    if (!is_of_program) files.push_back(file);
  }
  return files;
}

std::vector<std::string> live_page_names() {
  const std::string begin = "infeed-" + std::to_string(::getpid()) + ".";
  std::vector<std::string> pages;
  std::error_code gone;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm", gone)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(begin)) pages.push_back(std::move(name));
  }
  return pages;
}

}  // namespace

ProcessState ProcessState::now() {
  return {.threads = thread_names().size(),
          .descriptors = descriptor_targets().size(),
          .mapped_files = mapped_file_names().size(),
          .live_pages = live_page_names().size(),
          .bytes = live_bytes()};
}

bool ProcessState::wait_for_threads(std::size_t threads) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (thread_names().size() > threads) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

std::uint64_t ProcessState::wait_for_bytes(std::uint64_t bytes_max) {
  constexpr auto kStillFor = std::chrono::seconds(5);
  std::uint64_t least = live_bytes();
  auto end = std::chrono::steady_clock::now() + kStillFor;
  while (least > bytes_max && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    const std::uint64_t bytes = live_bytes();
    if (bytes >= least) continue;
    least = bytes;
    end = std::chrono::steady_clock::now() + kStillFor;
  }
  return live_bytes();
}

std::string ProcessState::names() {
  std::string text = "threads:";
  for (const std::string& name : thread_names()) text += " " + name;
  text += "; descriptors:";
  for (const std::string& target : descriptor_targets()) text += " " + target;
  text += "; mapped files:";
  for (const std::string& file : mapped_file_names()) text += " " + file;
  text += "; live pages:";
  for (const std::string& page : live_page_names()) text += " " + page;
  return text;
}

}  // namespace infeed::test
