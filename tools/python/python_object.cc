#include "python/python_object.h"

#include <chrono>

namespace infeed::python {
namespace {

/// Holds Python's state of this thread, without the GIL.
class KeptThreadState {
 public:
  KeptThreadState() : state_(PyGILState_Ensure()), thread_(PyEval_SaveThread()) {}
  ~KeptThreadState() {
    // Once Python is over, its state is gone, and asking for the GIL would hang.
    if (Py_IsInitialized() == 0) return;
    PyEval_RestoreThread(thread_);
    PyGILState_Release(state_);
  }
  KeptThreadState(const KeptThreadState&) = delete;
  KeptThreadState& operator=(const KeptThreadState&) = delete;

 private:
  PyGILState_STATE state_;
  PyThreadState* thread_;
};

}  // namespace

WithGil::WithGil() {
  const auto begun = std::chrono::steady_clock::now();
  // Python's own threads have a state already.
  if (PyGILState_GetThisThreadState() == nullptr) {
    static thread_local const KeptThreadState kept;
    static_cast<void>(kept);
  }
  state_ = PyGILState_Ensure();
  wait_ns_ = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count());
}

WithGil::~WithGil() { PyGILState_Release(state_); }

SharedObject share(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            if (Py_IsInitialized() == 0) return;  // Python has freed everything
            const WithGil gil;
            delete held;
          }};
}

}  // namespace infeed::python
