#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace infeed::schedules {

/// A thread of a model, as the system's thread that runs the test sees it: a stack of its own, and what a
/// thread owns beside it: errno, the exceptions under way, the program's thread_local variables.
///
/// Destructors of thread_local variables don't run at a fiber's end. (None of the engine's has one.)
class Fiber {
 public:
  /// The context that is running: no stack of its own.
  Fiber();
  /// `main` never returns: it ends by switching to another fiber.
  explicit Fiber(void (*main)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on with `to`; returns when somebody goes on with this one, which is the running one.
  void switch_to(Fiber& to);
  /// It stopped in the middle: what lies on its stack may be known elsewhere, so that stays.
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
