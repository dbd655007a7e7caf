#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <infeed/bad_rows.h>
#include <infeed/describe/description.h>

#include "python/nanobind_headers.h"

namespace infeed::python {

using AnyIterator = std::variant<Iterator<Record>, Iterator<ColumnBatch>, Iterator<std::int64_t>,
                                 Iterator<std::string>, Iterator<TarSample>, Iterator<LabeledFile>>;

/// One consumer's place in a stream, for Python.
///
/// All waiting is done without the GIL, in slices of 100 ms; between them Python's signal handlers
/// run, so Ctrl-C is answered. A pipeline that ends in prefetch(), or in batches that threads fill, is
/// pulled by the caller's thread: one thread more and the hand-over took a fifth of the rate at
/// batches of 100 KB. Where the tuner has turned these threads off, since elements come too quickly
/// for them, a signal waits for the element under way. A handler may call everything but resume(): checkpoint() gives the
/// place before the element that is waited for. Thread-safety: any thread; calls wait for each other,
/// except that statistics(), tuning() and cancel() don't.
class PyIterator {
 public:
  PyIterator(describe::Description description, IterateOptions options);
  ~PyIterator();
  PyIterator(const PyIterator&) = delete;
  PyIterator& operator=(const PyIterator&) = delete;

  /// Returns the next element. Throws nb::stop_iteration at the end.
  nb::object next();
  /// Returns the next element and its position, which another thread's call doesn't change in between.
  nb::tuple next_and_position();
  std::string checkpoint();
  /// Goes on from a checkpoint. If that is refused, it stays where it was.
  void resume(const std::string& checkpoint);
  std::uint64_t position();
  /// As infeed::read_ahead_until().
  void read_ahead_until(std::uint64_t position);
  std::uint64_t order_hash();
  /// Returns the bad rows among those that next() gave, from the one of that index on.
  std::vector<BadRow> bad_rows(std::size_t first) const;
  PipelineStatistics statistics();
  TuningReport tuning();
  void cancel();
  /// Ends the iteration and frees all that it holds. Returns false if that takes longer: a Python
  /// function that sleeps can't be ended. The rest is then done in the background, as behind Ctrl-C.
  bool close(double seconds_max);
  bool is_closed() const { return is_closed_; }

 private:
  /// The stream, which a thread that closes it may hold longer than the iterator lives.
  struct State {
    /// One thread at a time uses the stream; never waited for with the GIL. A signal handler inside
    /// next() may call again.
    std::recursive_mutex calls;
    std::mutex pointer;
    std::shared_ptr<AnyIterator> stream;

    std::shared_ptr<AnyIterator> get();
    void set(std::shared_ptr<AnyIterator> other);
  };

  /// Does as close(), and calls the function every 100 ms.
  bool end(double seconds_max, void (*between_waits)());
  /// Returns true in a signal handler that Python runs inside next().
  bool is_within_next() const;
  /// Throws in a child process, even if elements are at hand: it would give the parent's again.
  void check_process() const;
  /// Waits for the other calls, without keeping the GIL from them.
  std::unique_lock<std::recursive_mutex> locked() const;
  /// Returns the place of a stream that isn't at its begin.
  std::optional<Checkpoint> place_to_return_to();
  /// Opens the stream. A resume that takes long is ended by Ctrl-C.
  void open(std::optional<Checkpoint> from);
  /// Returns the stream. Throws failed_precondition if it is closed.
  std::shared_ptr<AnyIterator> open_stream() const;
  /// Calls the function with the stream.
  template <class Function>
  auto with_stream(const Function& function);

  const describe::Description description_;
  IterateOptions options_;
  std::unique_ptr<TakenBadRows> bad_rows_;  ///< null if no stage keeps the rows of bad records
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  const std::uint64_t forks_;  ///< forks_of_this_process() when it was made
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> knows_checksums_ =
      false;                 ///< checksums of the files, which the description keeps then
  bool is_in_next_ = false;  ///< guarded by State::calls, as the next one
  std::optional<Checkpoint> begun_from_;  ///< where the present stream was resumed
};

}  // namespace infeed::python
