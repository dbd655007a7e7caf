#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <unistd.h>

#include "temporary_folder.h"

/// Shared parts of this module's tests: a folder that removes itself, whole files, one seed.
namespace infeed::test {

using infeed::read_whole;
using infeed::TemporaryFolder;

/// Returns a folder for thousands of small files: in memory, if the system offers it.
inline std::filesystem::path memory_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                         : std::filesystem::temp_directory_path();
}

/// Returns the seed of a random test; INFEED_TEST_SEED overrides it. Print it on failure
/// (SCOPED_TRACE).
inline std::uint64_t test_seed() {
  const char* const text = std::getenv("INFEED_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

inline std::string random_bytes(std::mt19937_64& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

}  // namespace infeed::test
