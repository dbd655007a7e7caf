#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <type_traits>

#include <infeed/detail/start_threads.h>

#include "python/nanobind_headers.h"

/// Ctrl-C and other signals during long calls.
namespace infeed::python {

/// The longest time between two looks for signals.
inline constexpr std::chrono::milliseconds kSignalSlice{100};
/// The most seconds of a time that a caller gives: 30 years, which nanoseconds can count.
inline constexpr double kSecondsMax = 1e9;

/// Runs Python's signal handlers. Throws what they raise: KeyboardInterrupt.
inline void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Calls a function in a thread of its own, without the GIL, and requests a stop of it if a signal
/// handler raises. Throws resource_exhausted if the system gives no thread.
template <class Function>
auto answering_signals(std::stop_source& stop, const Function& function) {
  std::packaged_task<std::invoke_result_t<const Function&>()> task(std::cref(function));
  auto result = task.get_future();
  const auto thread = detail::start_thread<std::jthread>(std::move(task));
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

/// Does the same with a function that knows no stop: if a signal handler raises, it goes on by itself,
/// so it must own all that it uses.
template <class Function>
auto left_behind_by_signals(const Function& function) {
  std::packaged_task<std::invoke_result_t<const Function&>()> task(function);
  auto result = task.get_future();
  const nb::gil_scoped_release without_gil;
  std::thread thread = detail::start_thread<std::thread>(std::move(task));
  try {
    while (result.wait_for(kSignalSlice) != std::future_status::ready) check_signals();
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  return result.get();
}

}  // namespace infeed::python
