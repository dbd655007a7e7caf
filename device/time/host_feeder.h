#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/detail/start_threads.h>
#include <infeed/device/infeed_queue.h>
#include <infeed/error.h>

#include "time/clock_units.h"

namespace infeed::detail {

/// Why: every loop of steps, paced or learning, takes its input from one bounded queue a replica,
/// which a thread of the host fills ahead. HostFeeder is that host: a source, the queues and the
/// thread.
///
/// Errors come in order: an exception of the source ends the steps behind those that were fetched
/// before. The destructor ends whatever is still running.
///
/// Thread-safety: one thread takes steps; any thread calls stop(). Only the feeder's thread calls
/// `source` (on demand: the thread that takes steps). The stopping thread calls `cancel`, once.
template <class T>
class HostFeeder {
 public:
  struct Options {
    std::int32_t replicas = 1;
    InfeedFeed feed = InfeedFeed::ahead;
    std::int32_t depth = 2;  ///< steps that each queue holds
  };
  struct Source {
    /// Puts one item a replica into the empty vector; returns false at the end.
    std::function<bool(std::vector<T>& step)> next = {};
    /// Makes a blocked next() return soon, false or with an error. May be empty.
    std::function<void()> cancel = {};
  };
  struct Arrival {
    T item = {};
    std::int64_t asked_ns = 0;  ///< when fetching began
    std::int64_t ready_ns = 0;  ///< when the host had it
  };

  HostFeeder(const Options& options, Source source)
      : source_(std::move(source)),
        feed_(options.feed),
        queues_({.replicas = options.replicas,
                 .depth = options.feed == InfeedFeed::ahead ? options.depth : 1}) {
    if (feed_ == InfeedFeed::on_demand) return;
    feeder_ = start_thread<std::jthread>([this] {
      while (fetch()) {
      }
    });
  }
  ~HostFeeder() {
    stop();
    if (feeder_.joinable()) feeder_.join();
  }
  HostFeeder(const HostFeeder&) = delete;
  HostFeeder& operator=(const HostFeeder&) = delete;

  /// Takes one arrival a replica. Returns false at the end of the data.
  bool next_step(std::vector<Arrival>& step) {
    if (feed_ == InfeedFeed::on_demand) fetch();
    return queues_.pop_step(step);
  }

  /// Any thread may call it: everybody wakes up, and queued steps are dropped.
  void stop() {
    std::call_once(stopped_, [this] {
      queues_.abort(stop_error_);
      if (source_.cancel) source_.cancel();
    });
  }

 private:
  /// Moves one step from the source to the queues.
  bool fetch() {
    try {
      const std::int64_t asked_ns = monotonic_ns();
      items_.clear();
      if (!source_.next(items_)) {
        queues_.close();
        return false;
      }
      const std::int64_t ready_ns = monotonic_ns();
      std::vector<Arrival> step;
      step.reserve(items_.size());
      for (T& item : items_) step.push_back({std::move(item), asked_ns, ready_ns});
      return queues_.push_step(std::move(step));
    } catch (const Error& error) {
      // Hands on a copy: threads that share an exception count its users where ThreadSanitizer
      // doesn't see it.
      queues_.fail(std::make_exception_ptr(Error(error)));
    } catch (...) {
      queues_.fail(std::current_exception());
    }
    return false;
  }

  Source source_;
  const InfeedFeed feed_;
  InfeedQueues<Arrival> queues_;
  std::vector<T> items_;
  /// Made ahead: the destructor stops, too, and may find no memory.
  const std::exception_ptr stop_error_ =
      std::make_exception_ptr(Error(ErrorCode::cancelled, "the run was stopped"));
  std::once_flag stopped_;
  std::jthread feeder_;
};

}  // namespace infeed::detail
