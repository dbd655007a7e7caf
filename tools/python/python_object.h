#pragma once

#include <cstdint>
#include <memory>

#include "python/nanobind_headers.h"

/// Python objects in the engine's hands, which lets go of them in any thread.
namespace infeed::python {

/// Takes the GIL. The first time in a thread it makes Python's state of the thread, which stays for
/// the thread's life: making one for each call would cost 7 to 12 us instead of 0.1.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

  /// How long it took to get the GIL: some 50 ns if the thread had it, or it was free.
  std::uint64_t wait_ns() const { return wait_ns_; }

 private:
  PyGILState_STATE state_;
  std::uint64_t wait_ns_ = 0;
};

/// Returns the object that a weak reference is to. Throws Error cancelled where it is gone: whoever kept
/// it has gone, too.
nb::object referred(const nb::object& weak);

/// Does so for the weak references that stages have as their objects.
nb::object referred(const std::shared_ptr<void>& weak);

/// Keeps an object. The last holder takes the GIL to let go of it.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject share(nb::object object);

}  // namespace infeed::python
