#include "pipeline/drawn_whole/faults.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <dlfcn.h>
#include <pthread.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "sanitizers.h"

namespace infeed::test {
namespace {

// Read by any thread while faults are on; written only before and after.
std::string faults_folder;
std::uint64_t faults_seed = 0;
std::uint64_t faults_each = 1;
Fault faults_kind = Fault::short_io;
std::atomic<bool> are_on = false;
std::atomic<std::uint64_t> calls = 0;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EB;
  return x ^ (x >> 31U);
}

/// Returns a drawn number if it is this call's turn to fail, or else 0.
[[maybe_unused]] std::uint64_t struck() {
  const std::uint64_t drawn = mixed(faults_seed + calls.fetch_add(1) * 0x9E3779B97F4A7C15);
  return drawn % faults_each == 0 ? drawn / faults_each | 1U : 0;
}

[[maybe_unused]] bool is_in_folder(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, 4096> path{};
  const long size = syscall(SYS_readlink, link.c_str(), path.data(), path.size());
  return size > 0 &&
         std::string_view(path.data(), static_cast<std::size_t>(size)).starts_with(faults_folder);
}

}  // namespace

bool Faults::are_possible() { return !test::kAddressSanitizer && !test::kThreadSanitizer; }

Faults::Faults(Fault fault, const std::string& folder, std::uint64_t seed, std::uint64_t each) {
  faults_kind = fault;
  faults_folder = folder;
  faults_seed = seed;
  faults_each = each;
  are_on = true;
}

Faults::~Faults() { are_on = false; }

#if !defined(INFEED_TESTS_SANITIZED)

namespace {

/// Returns how many of the bytes are read or written; -1 with errno if the call fails.
ssize_t allowed(int descriptor, std::size_t bytes, int error) {
  const auto all = static_cast<ssize_t>(bytes);
  if (!are_on || faults_kind == Fault::no_thread || !is_in_folder(descriptor)) return all;
  const std::uint64_t drawn = struck();
  if (drawn == 0) return all;
  if (drawn % 8 < 4 && bytes > 1) return static_cast<ssize_t>(1 + drawn / 8 % (bytes - 1));
  errno = faults_kind == Fault::io_error && drawn % 8 < 7 ? error : EINTR;
  return -1;
}

using StartThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

}  // namespace
}  // namespace infeed::test

// The C library's functions of these names are replaced. NOLINTBEGIN
extern "C" {

ssize_t pread(int descriptor, void* into, std::size_t bytes, off_t offset) {
  const ssize_t most = infeed::test::allowed(descriptor, bytes, EIO);
  return most < 0 ? most : syscall(SYS_pread64, descriptor, into, most, offset);
}

ssize_t write(int descriptor, const void* from, std::size_t bytes) {
  const ssize_t most = infeed::test::allowed(descriptor, bytes, ENOSPC);
  return most < 0 ? most : syscall(SYS_write, descriptor, from, most);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) noexcept {
  static const auto kReal =
      reinterpret_cast<infeed::test::StartThread>(dlsym(RTLD_NEXT, "pthread_create"));
  const bool fails = infeed::test::are_on &&
                     infeed::test::faults_kind == infeed::test::Fault::no_thread &&
                     infeed::test::struck() != 0;
  return fails ? EAGAIN : kReal(thread, attributes, work, argument);
}

}  // extern "C". NOLINTEND

#else
}  // namespace infeed::test
#endif
