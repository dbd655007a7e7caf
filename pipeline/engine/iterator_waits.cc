#include "engine/iterator_context.h"
#include "engine/threads/ready_elements.h"
#include "engine/threads/watchdog.h"
#include "engine/work/keeps_ready.h"
#include "infeed/pipeline/iterator.h"

/// Waiting for elements with a time limit, an event loop or a look at something else meanwhile.
namespace infeed::detail {
namespace {

/// Starts the thread that keeps elements ready. Returns null if there is none to be had: an error
/// would be in the place of an element, and no element is missing.
std::unique_ptr<ReadyElements> begin_reading_ahead(IteratorContext& run, const TypeInfo& type,
                                                   Stage& root) {
  ThreadShare thread(run.threads());
  if (thread.count() == 0) return nullptr;
  try {
    return std::make_unique<ReadyElements>(run, type, root, std::move(thread));
  } catch (const Error& error) {
    run.counters().end_ready_queue();
    if (error.code() != ErrorCode::resource_exhausted) throw;
    return nullptr;
  }
}

}  // namespace

/// Returns when the next pull waits no longer than the check's time, or for no other thread.
void IteratorCore::wait_looking(const WaitCheck& check) {
  if (chunk_.slots() > 0 || failure_ != nullptr || ended_) return;
  check_process();
  auto* const last =
      check.may_work && ready_ == nullptr ? dynamic_cast<KeepsReady*>(root_.get()) : nullptr;
  if (last != nullptr && last->return_after(check.every)) return;
  while (!is_ready(std::chrono::steady_clock::now() + check.every, {})) check.look();
}

bool IteratorCore::is_ready(std::chrono::steady_clock::time_point deadline,
                            const std::stop_token& stop) {
  if (chunk_.slots() > 0 || failure_ != nullptr || ended_) return true;
  check_process();
  if (!may_read_ahead()) return true;
  const Waiting waiting(deadline == std::chrono::steady_clock::time_point{} ? nullptr
                                                                            : watchdog_.get());
  return ready_->is_ready(deadline, stop);
}

int IteratorCore::ready_descriptor() {
  check_process();
  if (ready_event_ == nullptr) ready_event_ = std::make_unique<ReadyEvent>();
  const ReadyEvent& event = *ready_event_;
  if (root_ == nullptr || chunk_.slots() > 0 || !may_read_ahead()) {
    event.set();
  } else {
    ready_->tell(event);
  }
  return event.descriptor();
}

/// Returns true if a thread keeps elements ready; starts it at the first call. If the executor has
/// no threads, all work stays in the consumer's thread; threads_max or the system may leave no
/// thread. Then try_next() may take as long as next().
bool IteratorCore::may_read_ahead() {
  if (ready_ == nullptr && root_ != nullptr && !run_->is_inline()) {
    ready_ = begin_reading_ahead(*run_, node_->type(), *root_);
    if (ready_ != nullptr && ready_event_ != nullptr) ready_->tell(*ready_event_);
  }
  return ready_ != nullptr;
}

}  // namespace infeed::detail
