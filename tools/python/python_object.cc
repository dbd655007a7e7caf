#include "python/python_object.h"

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
  // Python's own threads have a state already.
  if (PyGILState_GetThisThreadState() == nullptr) {
    static thread_local const KeptThreadState kept;
    static_cast<void>(kept);
  }
  state_ = PyGILState_Ensure();
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
