#pragma once

#include <array>
#include <cstddef>
#include <ucontext.h>
#include <vector>

namespace infeed::schedules {

/// A thread of a model, which runs on the system's thread of the test: its own stack, and the other
/// state of a thread: errno, the exceptions under way, the program's thread_local variables.
///
/// Destructors of thread_local variables don't run at a fiber's end. (The engine has none.)
class Fiber {
 public:
  /// The running context, which needs no stack of its own.
  Fiber();
  /// `main` never returns: it ends by switching to another fiber.
  explicit Fiber(void (*main)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on with `to`. Returns when another fiber goes on with this one, which is the running one.
  void switch_to(Fiber& to);
  /// Marks that it stopped in the middle: others may point to its stack, so that stays.
  void abandon() { is_abandoned_ = true; }

 private:
  struct Own {
    int error_number = 0;
    std::array<std::byte, sizeof(void*) + sizeof(unsigned)> exceptions{};
    std::vector<std::byte> thread_locals;
  };
  void save();
  void restore() const;

  ucontext_t context_{};
  void* stack_ = nullptr;
  Own own_;
  bool is_abandoned_ = false;
};

}  // namespace infeed::schedules
