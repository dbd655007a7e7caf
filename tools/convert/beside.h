#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include <infeed/detail/start_threads.h>

namespace infeed::tools {

/// Work on a thread beside the one that talks to the other ranks.
class Beside {
 public:
  explicit Beside(std::function<void()> work)
      : thread_(detail::start_thread<std::jthread>([this, work = std::move(work)] {
          try {
            work();
          } catch (...) {
            error_ = std::current_exception();
          }
          has_ended_ = true;
        })) {}
  /// Throws what the work threw.
  bool has_ended() {
    if (!has_ended_) return false;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }
  /// Waits for the end. Throws what the work threw.
  void finish() {
    thread_.join();
    has_ended();
  }

 private:
  std::exception_ptr error_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

/// The stop of this process's work: the user's, or one's own.
class WorkStop {
 public:
  explicit WorkStop(const std::stop_token& of_user)
      : at_users_(of_user, [this] { source_.request_stop(); }) {}
  void request() { source_.request_stop(); }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> at_users_;
};

/// Ends the work when the talk with the other ranks ends, also by an error.
struct StopAtEnd {
  WorkStop& stop;
  ~StopAtEnd() { stop.request(); }
};

}  // namespace infeed::tools
