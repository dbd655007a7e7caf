#pragma once

namespace infeed::python {

/// Keeps this thread until the process has ended, if Python is over and another thread ends it.
/// Python before 3.14 ends a thread that asks for the GIL then by unwinding its stack, which C++ and
/// Python's own PyGILState_Release() answer with abort().
void stay_if_python_is_over();

/// Does so in its destructor. It stands between objects and the call of a Python function that they are
/// for: unwinding would let go of them without the GIL.
class StaysIfPythonIsOver {
 public:
  StaysIfPythonIsOver() = default;
  ~StaysIfPythonIsOver() { stay_if_python_is_over(); }
  StaysIfPythonIsOver(const StaysIfPythonIsOver&) = delete;
  StaysIfPythonIsOver& operator=(const StaysIfPythonIsOver&) = delete;
};

}  // namespace infeed::python
