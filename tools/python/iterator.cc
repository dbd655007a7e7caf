#include "python/iterator.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

#include <infeed/detail/start_threads.h>
#include <infeed/pipeline/statistics.h>

#include "engine/threads/forks.h"
#include "python/dataset.h"
#include "python/element.h"
#include "python/python_words.h"
#include "python/signals.h"

namespace infeed::python {
namespace {

/// The longest wait for Python functions that still run when the last reference to an iterator goes.
constexpr double kSecondsMaxInDestructor = 1;

template <class T>
nb::object next_of(Iterator<T>& iterator, TakenBadRows* bad_rows,
                   const detail::WaitCheck& signals) {
  detail::IteratorCore& core = iterator.core_for_timer();
  if (core.chunk().size() == 0) {  // an element that is here costs no release of the GIL
    // Even an end or an error that is ready joins the stages' threads, which may want the GIL.
    const nb::gil_scoped_release without_gil;
    if (!core.refill(&signals)) throw nb::stop_iteration();
  }
  std::optional<T> next = iterator.next();
  if constexpr (std::is_same_v<T, ColumnBatch>) {
    if (bad_rows != nullptr) bad_rows->take(*next);
  }
  return to_python(*std::move(next));
}

/// Holds the stream while the GIL's holder uses it. If a signal handler has closed it meanwhile, it
/// ends here, without the GIL: its threads may want that.
struct HeldStream {
  std::shared_ptr<AnyIterator> stream;
  ~HeldStream() {
    if (stream.use_count() != 1) return;
    const nb::gil_scoped_release without_gil;
    stream = nullptr;
  }
};

/// Sets a flag as long as it lives.
class Inside {
 public:
  explicit Inside(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
  ~Inside() { flag_ = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool& flag_;
  const bool before_;
};

}  // namespace

PyIterator::PyIterator(describe::Description description, IterateOptions options)
    : description_(std::move(description)),
      options_(std::move(options)),
      forks_(detail::forks_of_this_process()) {
  std::optional<Checkpoint> from = std::move(options_.resume);
  options_.resume.reset();
  if (auto ledger = description_.bad_rows()) {
    bad_rows_ = std::make_unique<TakenBadRows>(std::move(ledger));
  }
  open(std::move(from));
}

PyIterator::~PyIterator() {
  // Nobody could stop a longer wait by Ctrl-C.
  end(description_.objects().empty() ? kSecondsMax : kSecondsMaxInDestructor, [] {});
}

std::shared_ptr<AnyIterator> PyIterator::State::get() {
  const std::lock_guard lock(pointer);
  return stream;
}

void PyIterator::State::set(std::shared_ptr<AnyIterator> other) {
  const std::lock_guard lock(pointer);
  stream.swap(other);
}

void PyIterator::check_process() const {
  if (forks_ == detail::forks_of_this_process()) return;
  Error error(ErrorCode::failed_precondition,
              "this iterator was made before fork(), and its threads are in the parent; a Dataset "
              "may be used in a child process, so call iterate() there");
  error.as_terminal();
  throw error;
}

std::unique_lock<std::recursive_mutex> PyIterator::locked() const {
  check_process();  // first: a thread that isn't here may hold the lock
  std::unique_lock lock(state_->calls, std::try_to_lock);
  if (!lock.owns_lock()) {
    const nb::gil_scoped_release without_gil;
    lock.lock();
  }
  return lock;
}

void PyIterator::open(std::optional<Checkpoint> from) {
  std::stop_source stop;
  IterateOptions options = options_;
  options.resume = std::move(from);
  if (options.resume) options.stop = stop.get_token();
  const auto start = [&] {
    return std::visit(
        [&]<class T>(const Dataset<T>& dataset) {
          return std::make_shared<AnyIterator>(std::in_place_type<Iterator<T>>,
                                               dataset.iterate(options));
        },
        description_.elements().dataset);
  };
  const nb::gil_scoped_release without_gil;
  begun_from_ = options.resume;
  state_->set(options.resume ? answering_signals(stop, start) : start());
}

std::shared_ptr<AnyIterator> PyIterator::open_stream() const {
  check_process();
  std::shared_ptr<AnyIterator> stream = state_->get();
  if (stream == nullptr) {
    throw Error(ErrorCode::failed_precondition,
                "the iterator is closed: begin another one with iter(dataset)");
  }
  return stream;
}

template <class Function>
auto PyIterator::with_stream(const Function& function) {
  const std::shared_ptr<AnyIterator> stream = open_stream();
  return std::visit([&](auto& typed) { return function(typed); }, *stream);
}

nb::object PyIterator::next() {
  const auto lock = locked();
  const Inside inside(is_in_next_);
  const HeldStream held{open_stream()};
  // A function of Python that ran in this thread would be where a signal handler raises, and Ctrl-C
  // would be an error of the function.
  const detail::WaitCheck signals{
      .every = kSignalSlice, .look = check_signals, .may_work = description_.objects().empty()};
  return std::visit([&](auto& stream) { return next_of(stream, bad_rows_.get(), signals); },
                    *held.stream);
}

nb::tuple PyIterator::next_and_position() {
  const auto lock = locked();
  const std::uint64_t at = position();
  return nb::make_tuple(next(), at);
}

std::string PyIterator::checkpoint() {
  open_stream();
  if (!knows_checksums_) {  // reads the files
    left_behind_by_signals([description = description_] { return description.fingerprint(); });
    knows_checksums_ = true;
  }
  const auto lock = locked();
  const nb::gil_scoped_release without_gil;
  return with_stream([](auto& stream) { return stream.checkpoint().to_text(); });
}

void PyIterator::resume(const std::string& checkpoint) {
  const Checkpoint from = Checkpoint::from_text(checkpoint);
  const auto lock = locked();
  if (is_in_next_) {
    throw Error(
        ErrorCode::failed_precondition,
        "load_state_dict() was called by a signal handler inside next(): let the handler set "
        "a flag, and call it behind next()");
  }
  const std::optional<Checkpoint> before = place_to_return_to();
  {
    const nb::gil_scoped_release without_gil;
    state_->set(nullptr);
  }
  // Not that of the pass this iterator began with.
  const auto epoch = std::exchange(options_.epoch, from.epoch);
  try {
    open(from);
  } catch (...) {
    options_.epoch = epoch;
    open(before);
    throw;
  }
  if (bad_rows_ != nullptr) bad_rows_->clear();
}

std::optional<Checkpoint> PyIterator::place_to_return_to() {
  const nb::gil_scoped_release without_gil;
  return with_stream([this](auto& stream) {
    // The first checkpoint reads the files for their checksums, which a new iterator needn't.
    const std::uint64_t begin = begun_from_ ? begun_from_->position : 0;
    return stream.position() == begin ? begun_from_ : std::optional(stream.checkpoint());
  });
}

std::uint64_t PyIterator::position() {
  const auto lock = locked();
  return with_stream([](auto& stream) { return stream.position(); });
}

void PyIterator::read_ahead_until(std::uint64_t position) {
  const auto lock = locked();
  with_stream([&](auto& stream) { infeed::read_ahead_until(stream, position); });
}

std::uint64_t PyIterator::order_hash() {
  if (!options_.order_hash) {
    throw Error(ErrorCode::failed_precondition,
                "this iterator keeps no order_hash: begin it with iterate(order_hash=True)");
  }
  const auto lock = locked();
  return with_stream([](auto& stream) { return stream.order_hash(); });
}

std::vector<BadRow> PyIterator::bad_rows(std::size_t first) const {
  return bad_rows_ == nullptr ? std::vector<BadRow>() : bad_rows_->since(first);
}

PipelineStatistics PyIterator::statistics() {
  const nb::gil_scoped_release without_gil;
  return with_stream([](auto& stream) { return stream.statistics(); });
}

TuningReport PyIterator::tuning() {
  const nb::gil_scoped_release without_gil;
  return with_stream([](auto& stream) { return stream.tuning(); });
}

void PyIterator::cancel() {
  const nb::gil_scoped_release without_gil;
  if (!is_closed_) with_stream([](auto& stream) { stream.cancel(); });
}

bool PyIterator::close(double seconds_max) { return end(seconds_max, &check_signals); }

bool PyIterator::end(double seconds_max, void (*between_waits)()) {
  if (is_closed_.exchange(true)) return true;
  if (forks_ != detail::forks_of_this_process()) {
    // Leaves the stream to the parent: threads that aren't here may hold its locks.
    static_cast<void>(new std::shared_ptr<State>(state_));
    return true;
  }
  // The engine's threads may want the GIL before they end, and a call in another thread waits for
  // elements until it is cancelled.
  const nb::gil_scoped_release without_gil;
  if (const auto open = state_->get()) {
    std::visit([](auto& typed) { typed.cancel(); }, *open);
  }
  if (is_within_next()) {  // which holds the stream, and ends it
    state_->set(nullptr);
    return true;
  }
  const auto ended = [state = state_] {
    const std::lock_guard lock(state->calls);
    state->set(nullptr);
  };
  if (!(seconds_max < kSecondsMax) && description_.objects().empty()) {
    ended();  // no Python function runs that could take long
    return true;
  }
  std::packaged_task<void()> task(ended);
  std::future<void> done = task.get_future();
  try {
    detail::start_thread<std::thread>(std::move(task)).detach();
  } catch (const Error&) {
    ended();  // the system gives no thread, so it takes as long as it takes
    return true;
  }
  using Seconds = std::chrono::duration<double>;
  for (Seconds left(seconds_max); left.count() > 0; left -= kSignalSlice) {
    if (done.wait_for(std::min<Seconds>(left, kSignalSlice)) == std::future_status::ready)
      return true;
    between_waits();
  }
  return done.wait_for(Seconds(0)) == std::future_status::ready;
}

bool PyIterator::is_within_next() const {
  const std::unique_lock lock(state_->calls, std::try_to_lock);
  return lock.owns_lock() && is_in_next_;
}

void check_can_be_iterated(const describe::Description& description) {
  if (description.elements().kind() == describe::ElementKind::unparsed_row) {
    throw Error(
        ErrorCode::failed_precondition,
        "rows are parsed in batches: put batch(n) behind parse (batch(1) gives single rows)");
  }
}

nb::object iterate(const describe::Description& description, const nb::dict& options) {
  check_can_be_iterated(description);
  return nb::cast(std::make_unique<PyIterator>(description, iterate_options(options)));
}

namespace {

std::string table_of(const PipelineStatistics& statistics) {
  return in_python_words(statistics.table());
}

nb::list as_tuples(const std::vector<BadRow>& rows) {
  nb::list tuples;
  for (const BadRow& row : rows) {
    tuples.append(
        nb::make_tuple(to_python(row.file), row.record, row.offset, to_python(row.reason)));
  }
  return tuples;
}

nb::dict as_dict(const StageStatistics& stage) {
  nb::dict figures;
  figures["stage"] = stage.label;
  figures["elements"] = stage.elements;
  figures["errors"] = stage.errors;
  figures["work_ns"] = stage.work_ns;
  figures["wait_ns"] = stage.wait_ns;
  figures["buffered_elements"] = stage.buffered_elements;
  figures["buffered_bytes"] = stage.buffered_bytes;
  for (std::size_t i = 0; i < stage.counts.size() && i < stage.traits.counts.size(); ++i) {
    figures[std::string(stage.traits.counts[i]).c_str()] = stage.counts[i];
  }
  return figures;
}

}  // namespace

void bind_iterators(nb::module_& module) {
  nb::class_<PipelineStatistics>(module, "Statistics", "What the stages did so far, and how long.")
      .def_prop_ro(
          "stages",
          [](const PipelineStatistics& self) {
            nb::list stages;
            for (const StageStatistics& stage : self.stages) stages.append(as_dict(stage));
            return stages;
          },
          "A dict of figures for each stage: its name, elements, errors, times and buffers.")
      .def_ro("elapsed_ns", &PipelineStatistics::elapsed_ns,
              "Time since the first next(), until now or the end.")
      .def_ro("consumer_wait_ns", &PipelineStatistics::consumer_wait_ns,
              "The part of it in which next() waited.")
      .def_ro("process_cpu_ns", &PipelineStatistics::process_cpu_ns,
              "CPU time of the whole process meanwhile.")
      .def_ro("recording_problem", &PipelineStatistics::recording_problem,
              "Why the recording ended early; empty if all is well.")
      .def(
          "verdict", [](const PipelineStatistics& self) { return in_python_words(self.verdict()); },
          "Says in one sentence what bounds the rate and what to do about it.")
      .def("table", &table_of, "All of it for a person to read.")
      .def("__str__", &table_of);
  nb::class_<TuningReport>(module, "TuningReport", "What the tuner did so far, and why.")
      .def_prop_ro(
          "verdict", [](const TuningReport& self) { return in_python_words(self.verdict); },
          "What bounds the rate, and whether a setting could change that.")
      .def_ro("profile", &TuningReport::profile,
              "What was learnt, as text: iterate(tuning_profile=...) begins with it.")
      .def("text", &TuningReport::text, "Each change and its reason, for a person to read.")
      .def("__str__", &TuningReport::text);
  nb::class_<PyIterator>(module, "Iterator", nb::is_weak_referenceable())
      .def("next", &PyIterator::next)
      .def("next_and_position", &PyIterator::next_and_position)
      .def("checkpoint", &PyIterator::checkpoint)
      .def("resume", &PyIterator::resume, nb::arg("checkpoint"))
      .def("position", &PyIterator::position)
      .def("read_ahead_until", &PyIterator::read_ahead_until, nb::arg("position"))
      .def("order_hash", &PyIterator::order_hash)
      .def(
          "bad_rows",
          [](const PyIterator& self, std::size_t first) { return as_tuples(self.bad_rows(first)); },
          nb::arg("first"))
      .def("statistics", &PyIterator::statistics)
      .def("tuning", &PyIterator::tuning)
      .def("cancel", &PyIterator::cancel)
      .def("close", &PyIterator::close, nb::arg("seconds_max"))
      .def_prop_ro("is_closed", &PyIterator::is_closed);
}

}  // namespace infeed::python
