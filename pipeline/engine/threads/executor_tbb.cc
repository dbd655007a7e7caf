#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <thread>
#include <utility>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/start_threads.h>

#include "infeed/pipeline/executor.h"

#if defined(__SANITIZE_ADDRESS__)
#define INFEED_LEAKS_ARE_CHECKED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INFEED_LEAKS_ARE_CHECKED
#endif
#endif
#if defined(INFEED_LEAKS_ARE_CHECKED)
#include <sanitizer/lsan_interface.h>
#endif

namespace infeed {
namespace {

// The longest idle time of the own thread. Starting it again takes 30 us.
constexpr std::chrono::seconds kOwnThreadIdleMax{1};

using Task = std::function<void()>;
using OnThreadStart = std::function<void(std::string_view)>;

/// The tasks that wait, for the executor's own thread and for TBB's workers.
///
/// They wait here, since TBB can't take back a task that was enqueued. All workers of the process
/// may be busy, for example with tasks that use this executor and then drop it. Tasks that have not
/// begun would then never run, and a destructor that waited for them would wait for ever.
struct WaitingTasks {
  std::mutex mutex;
  std::condition_variable changed;   ///< for the destructor
  std::condition_variable has_more;  ///< for the own thread
  std::deque<Task> waiting;
  int running = 0;
  int held_by_tbb = 0;  ///< calls of run_for_tbb() that have not begun
  bool own_is_there = false;
  bool own_is_idle = false;  ///< it is there and waits, or is just starting
  bool ended = false;
  bool is_abandoned = false;
  const OnThreadStart on_thread_start;
  std::set<std::thread::id> known_workers;

  explicit WaitingTasks(OnThreadStart tell) : on_thread_start(std::move(tell)) {}

  /// Runs the next one. The lock is held before and after.
  void run_next(std::unique_lock<std::mutex>& lock) {
    Task task = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    lock.unlock();
    // A parallel loop in the task waits for its own parts only, and takes no other task meanwhile.
    tbb::this_task_arena::isolate(task);
    task = nullptr;  // destroys what it holds outside the lock
    lock.lock();
    if (--running == 0) changed.notify_all();
  }

  void run_for_tbb() {
    std::unique_lock lock(mutex);
    // Behind the destructor the user's function may be gone, and so it waits for a running one.
    if (on_thread_start && !ended && known_workers.insert(std::this_thread::get_id()).second) {
      ++running;
      lock.unlock();  // the user's function may submit tasks
      on_thread_start("tbb worker");
      lock.lock();
      if (--running == 0) changed.notify_all();
    }
    --held_by_tbb;
    if (!waiting.empty()) return run_next(lock);
    const bool is_last = held_by_tbb == 0;
    if (is_last && is_abandoned) {
      lock.unlock();
      delete this;
    } else if (is_last) {
      changed.notify_all();
    }
  }

  void run_for_own_thread() {
    std::unique_lock lock(mutex);
    const auto has_news = [this] { return ended || !waiting.empty(); };
    bool is_in_time = true;
    while (!ended && is_in_time) {
      own_is_idle = waiting.empty();
      if (own_is_idle) {
        is_in_time = has_more.wait_for(lock, kOwnThreadIdleMax, has_news);
      } else {
        run_next(lock);
      }
    }
    own_is_idle = own_is_there = false;
  }
};

/// Runs tasks in an arena of TBB: in the host's workers, and in one thread of its own. TBB starts
/// one worker fewer than there are cores, since it expects its caller to work. Here the consumer
/// waits, so the own thread takes that part: all cores work, and no limit of the process is changed.
/// It also takes the first task, so that tasks run if all workers are busy with the host's work. It
/// starts with a task, and ends when there has been none for a while. Where the system gives TBB no
/// thread, it takes all tasks.
///
/// Invariant: the destructor returns when no task runs. Tasks that have not begun are dropped.
class TbbExecutor final : public Executor {
 public:
  TbbExecutor(int thread_count, OnThreadStart on_thread_start)
      : thread_count_(std::min(thread_count, workers_there_may_be() + 1)),
        arena_(thread_count_, /*reserved_for_masters=*/1),
        tasks_(std::make_unique<WaitingTasks>(std::move(on_thread_start))) {}

  ~TbbExecutor() override {
    std::deque<Task> dropped;  // destroyed after the mutex is unlocked
    {
      const std::lock_guard lock(tasks_->mutex);
      dropped.swap(tasks_->waiting);
      tasks_->ended = true;
    }
    tasks_->has_more.notify_all();
    if (own_thread_.joinable()) own_thread_.join();
    std::unique_lock lock(tasks_->mutex);
    tasks_->changed.wait(lock, [this] { return tasks_->running == 0; });
    // Calls that TBB still holds find nothing to do and end within microseconds. At the program's
    // end, however, TBB never makes them, so the wait has a limit. A worker doesn't wait at all,
    // since all workers may be busy.
    constexpr std::chrono::milliseconds kGrace{50};
    const auto are_gone = [this] { return tasks_->held_by_tbb == 0; };
    if (is_worker() ? !are_gone() : !tasks_->changed.wait_for(lock, kGrace, are_gone)) {
      tasks_->is_abandoned = true;
      leave_to_tbb(tasks_.release());
    }
  }

  void submit(Task task) override {
    bool own_comes = false;
    bool needs_worker = false;
    {
      const std::lock_guard lock(tasks_->mutex);
      tasks_->waiting.push_back(std::move(task));
      own_comes = tasks_->own_is_idle || start_own();
      needs_worker =
          thread_count_ > 1 && tasks_->waiting.size() > (own_comes ? 1U : 0U) && !tbb_lacks_threads;
      if (needs_worker) ++tasks_->held_by_tbb;
    }
    if (own_comes) tasks_->has_more.notify_one();
    if (needs_worker) {
      ask_for_worker();
    } else if (!own_comes) {
      require_own();
    }
  }

  int concurrency() const override { return thread_count_; }

 private:
  /// TBB throws if the system gives it no thread, and takes that worker as started from then on:
  /// what it is given later may never run.
  void ask_for_worker() {
    try {
      arena_.enqueue([tasks = tasks_.get()] { tasks->run_for_tbb(); });
    } catch (const std::exception&) {
      tbb_lacks_threads = true;
      {
        const std::lock_guard lock(tasks_->mutex);
        --tasks_->held_by_tbb;
      }
      require_own();
    }
  }
  /// Throws unless the own thread is there, which takes what no worker takes.
  void require_own() const {
    const std::lock_guard lock(tasks_->mutex);
    if (tasks_->own_is_there) return;
    throw detail::no_thread(
        std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  }

  /// Starts the own thread if it isn't there. Returns false if it is, or if the system gives none:
  /// then the workers run all tasks.
  bool start_own() {
    if (tasks_->own_is_there) return false;
    if (own_thread_.joinable()) own_thread_.join();  // it has nothing left to do
    try {
      own_thread_ = detail::start_thread([this, tasks = tasks_.get()] {
        detail::begin_thread("worker", tasks->on_thread_start);
        arena_.execute([tasks] { tasks->run_for_own_thread(); });
      });
    } catch (const Error&) {
      return false;
    }
    tasks_->own_is_there = tasks_->own_is_idle = true;
    return true;
  }
  /// Leaves the tasks to TBB: the last call that TBB holds frees them. At the program's end TBB
  /// makes no more calls, and a leak checker shouldn't report the tasks then.
  static void leave_to_tbb([[maybe_unused]] WaitingTasks* tasks) {
#if defined(INFEED_LEAKS_ARE_CHECKED)
    __lsan_ignore_object(tasks);
#endif
  }
  /// Returns the most workers that TBB will start. An arena that asks for more gets no more, and
  /// TBB prints a warning.
  static int workers_there_may_be() {
    const std::size_t most =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    return static_cast<int>(std::max<std::size_t>(most, 1)) - 1;
  }
  static bool is_worker() {
    return tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized;
  }

  static inline std::atomic<bool> tbb_lacks_threads = false;  ///< once for all executors

  const int thread_count_;
  tbb::task_arena arena_;
  std::unique_ptr<WaitingTasks> tasks_;
  std::thread own_thread_;  ///< last: it uses all the others
};

}  // namespace

std::shared_ptr<Executor> Executor::tbb(int thread_count, OnThreadStart on_thread_start) {
  return std::make_shared<TbbExecutor>(thread_count > 0 ? thread_count : usable_cores(),
                                       std::move(on_thread_start));
}

}  // namespace infeed
