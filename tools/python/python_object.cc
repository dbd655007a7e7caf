#include "python/python_object.h"

#include <chrono>
#include <unistd.h>

#include <infeed/error.h>

#include "python/python_end.h"

namespace infeed::python {
namespace {

// Python may end while a thread waits for the GIL, often in a destructor. Those that are noexcept end the
// program without a look at their locals, so that who stays needs a function of its own around the wait.
[[gnu::noinline]] PyGILState_STATE take_gil() {
  const StaysIfPythonIsOver stays;
  return PyGILState_Ensure();
}
[[gnu::noinline]] void take_gil_again(PyThreadState* thread) {
  const StaysIfPythonIsOver stays;
  PyEval_RestoreThread(thread);
}

/// Holds Python's state of this thread, without the GIL.
class KeptThreadState {
 public:
  KeptThreadState() : state_(take_gil()), thread_(PyEval_SaveThread()) {}
  ~KeptThreadState() {
    // Once Python is over, its state is gone, and asking for the GIL would hang.
    if (Py_IsInitialized() == 0) return;
    take_gil_again(thread_);
    PyGILState_Release(state_);
  }
  KeptThreadState(const KeptThreadState&) = delete;
  KeptThreadState& operator=(const KeptThreadState&) = delete;

 private:
  PyGILState_STATE state_;
  PyThreadState* thread_;
};

}  // namespace

void stay_if_python_is_over() {
  while (Py_IsInitialized() == 0 && gettid() != getpid()) pause();
}

WithGil::WithGil() {
  const auto begun = std::chrono::steady_clock::now();
  stay_if_python_is_over();
  // Python's own threads have a state already.
  if (PyGILState_GetThisThreadState() == nullptr) {
    static thread_local const KeptThreadState kept;
    static_cast<void>(kept);
  }
  state_ = take_gil();
  wait_ns_ = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count());
}

WithGil::~WithGil() {
  stay_if_python_is_over();
  PyGILState_Release(state_);
}

nb::object referred(const nb::object& weak) {
  nb::object object = weak();
  if (!object.is_none()) return object;
  throw Error(ErrorCode::cancelled, "the Dataset whose Python function this is was let go of");
}

nb::object referred(const std::shared_ptr<void>& weak) {
  return referred(*static_cast<const nb::object*>(weak.get()));
}

SharedObject share(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            if (Py_IsInitialized() == 0) return;  // Python has freed everything
            const WithGil gil;
            delete held;
          }};
}

}  // namespace infeed::python
