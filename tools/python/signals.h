#pragma once

#include <chrono>
#include <future>
#include <stop_token>

#include "python/nanobind_headers.h"

/// Ctrl-C and other signals during long calls.
namespace infeed::python {

/// The longest time between two looks for signals.
inline constexpr std::chrono::milliseconds kSignalSlice{100};

/// Runs Python's signal handlers. Throws what they raise: KeyboardInterrupt.
inline void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Calls a function in a thread of its own, without the GIL, and requests a stop of it if a signal
/// handler raises.
template <class Function>
auto answering_signals(std::stop_source& stop, const Function& function) {
  auto result = std::async(std::launch::async, function);
  while (result.wait_for(kSignalSlice) != std::future_status::ready) {
    try {
      check_signals();
    } catch (...) {
      stop.request_stop();
      result.wait();
      throw;
    }
  }
  return result.get();
}

}  // namespace infeed::python
