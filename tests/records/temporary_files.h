#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <unistd.h>

#include "temporary_folder.h"

/// Shared parts of this module's tests: a folder that removes itself, whole files, random bytes.
namespace infeed::test {

/// Returns a folder for thousands of small files: in memory, if the system offers it.
inline std::filesystem::path memory_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                         : std::filesystem::temp_directory_path();
}

/// Runs in a folder, for a page's relative names.
class InFolder {
 public:
  explicit InFolder(const std::filesystem::path& folder) { std::filesystem::current_path(folder); }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

inline std::string random_bytes(std::mt19937_64& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

}  // namespace infeed::test
