#include "schedules/fiber.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <link.h>
#include <span>
#include <sys/mman.h>

namespace infeed::schedules {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr std::size_t kGuardBytes = 4096;

/// The running thread's block of the program's thread_local variables, and its initial content.
struct ThreadLocals {
  std::span<std::byte> block;
  std::span<const std::byte> begins_with;
};

ThreadLocals thread_locals_of_program() {
  ThreadLocals found;
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_TLS || info->dlpi_tls_data == nullptr) continue;
      *static_cast<ThreadLocals*>(data) = {
          {static_cast<std::byte*>(info->dlpi_tls_data), header.p_memsz},
          {reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr), header.p_filesz}};
    }
    return 1;  // the program comes first; libraries keep theirs
  };
  dl_iterate_phdr(look, &found);
  return found;
}

const ThreadLocals& thread_locals() {
  static const ThreadLocals found = thread_locals_of_program();
  return found;
}

std::vector<void*>& free_stacks() {
  static std::vector<void*> stacks;
  return stacks;
}

void* take_stack() {
  if (!free_stacks().empty()) {
    void* const stack = free_stacks().back();
    free_stacks().pop_back();
    return stack;
  }
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, kGuardBytes, PROT_NONE) != 0) {
    std::perror("a fiber's stack");
    std::abort();
  }
  return stack;
}

}  // namespace

Fiber::Fiber() { own_.thread_locals.resize(thread_locals().block.size()); }

Fiber::Fiber(void (*main)()) : Fiber() {
  std::ranges::copy(thread_locals().begins_with, own_.thread_locals.begin());
  stack_ = take_stack();
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, main, 0);
}

Fiber::~Fiber() {
  if (stack_ != nullptr && !is_abandoned_) free_stacks().push_back(stack_);
}

void Fiber::save() {
  own_.error_number = errno;
  std::memcpy(own_.exceptions.data(), abi::__cxa_get_globals(), own_.exceptions.size());
  std::ranges::copy(thread_locals().block, own_.thread_locals.begin());
}

void Fiber::restore() const {
  std::ranges::copy(own_.thread_locals, thread_locals().block.begin());
  std::memcpy(abi::__cxa_get_globals(), own_.exceptions.data(), own_.exceptions.size());
  errno = own_.error_number;
}

void Fiber::switch_to(Fiber& to) {
  save();
  to.restore();
  swapcontext(&context_, &to.context_);
}

}  // namespace infeed::schedules
