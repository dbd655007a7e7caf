#include "train/ranks/run_as_rank.h"

#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <infeed/detail/start_threads.h>

namespace infeed::detail {
namespace {

/// Saves in a thread of its own, once the training was told to stop and waits for other ranks.
///
/// Invariant: `working` is held by the training's thread but while it waits for other ranks, and by
/// this thread while it saves. So nobody changes what is saved.
class SaveWhenStuck {
 public:
  SaveWhenStuck(TrainingRanks& ranks, const std::stop_token& stop, std::function<void()> save)
      : working_(ranks.working()),
        grace_(ranks.is_chief() ? kGrace : kGraceOfDeputy),
        save_(std::move(save)),
        thread_(start_thread<std::jthread>([this] { watch(); })),
        on_stop_(stop, [this] { set(is_stopped_); }) {}
  ~SaveWhenStuck() { set(is_over_); }
  SaveWhenStuck(const SaveWhenStuck&) = delete;
  SaveWhenStuck& operator=(const SaveWhenStuck&) = delete;

 private:
  /// Ranks that all live stop within a step, for which this is usually enough.
  static constexpr std::chrono::milliseconds kGrace{300};
  /// By then a chief that lives has begun to save.
  static constexpr std::chrono::milliseconds kGraceOfDeputy{500};

  void set(bool& flag) {
    const std::lock_guard lock(mutex_);
    flag = true;
    changed_.notify_all();
  }

  void watch() noexcept {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopped_ || is_over_; });
      if (changed_.wait_for(lock, grace_, [this] { return is_over_; })) return;
    }
    const std::lock_guard work(working_);
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
    }
    try {
      save_();
    } catch (...) {
      // The training's thread saves, too, and reports what goes wrong.
    }
  }

  std::mutex& working_;
  const std::chrono::milliseconds grace_;
  const std::function<void()> save_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  bool is_over_ = false;
  std::jthread thread_;
  std::stop_callback<std::function<void()>> on_stop_;
};

/// Returns the error as the other ranks are to take it. A rank that is stopped before its first step,
/// while it resumes, stops all; what was cancelled otherwise is a failure.
Error error_for_others(const Error& error, const std::stop_token& stop) {
  if (error.code() != ErrorCode::cancelled || stop.stop_requested()) return error;
  return error.reworded(ErrorCode::unavailable, error.message());
}

/// Runs, saving when another rank fails.
FitResult run_and_save(TrainingRanks& ranks, const std::stop_token& stop,
                       const RankedRun& training) {
  try {
    FitResult result = training.run();
    ranks.finish();
    return result;
  } catch (const Error& error) {
    ranks.tell_failure(error_for_others(error, stop));
    const bool saves =
        ranks.is_chief() ? ranks.has_lost_others() : ranks.is_deputy() && ranks.has_lost_chief();
    if (!saves) throw;
    try {
      training.save();
    } catch (const std::exception& of_saving) {
      const std::string text =
          fmt::format("{}; the last step couldn't be saved: {}", error.message(), of_saving.what());
      if (ranks.has_lost_chief()) throw RankLost(0, text);
      throw error.reworded(error.code(), text);
    }
    throw;
  } catch (const std::exception& error) {
    ranks.tell_failure(Error(ErrorCode::user_function, error.what()));
    throw;
  }
}

}  // namespace

FitResult run_as_rank(TrainingRanks& ranks, const std::stop_token& stop,
                      const RankedRun& training) {
  std::optional<SaveWhenStuck> saver;
  if (ranks.is_chief() || ranks.is_deputy()) saver.emplace(ranks, stop, training.save);
  const std::lock_guard work(ranks.working());
  return run_and_save(ranks, stop, training);
}

}  // namespace infeed::detail
