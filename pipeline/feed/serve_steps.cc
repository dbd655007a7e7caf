#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <infeed/detail/start_threads.h>

#include "feed/feed_messages.h"
#include "infeed/feed.h"

namespace infeed {
namespace {

using detail::AnswerKind;
using detail::StepAnswer;
using detail::StepRequest;
using Clock = std::chrono::steady_clock;

/// How long an idle worker waits at once, so that a stop is noticed.
constexpr std::chrono::milliseconds kIdleWait{100};

/// The worker's state that a request finds: nothing of it decides on what is answered.
class StepServer {
 public:
  StepServer(Communicator& communicator, const FedPipeline& pipeline, const ServeOptions& options)
      : communicator_(communicator),
        pipeline_(pipeline),
        options_(options),
        asking_(options.trainers.begin(), options.trainers.end()) {}

  ServedSteps serve() {
    while (!asking_.empty() && !options_.stop.stop_requested()) {
      receive(asked_.empty() ? kIdleWait : std::chrono::milliseconds(0));
      if (failure_) std::rethrow_exception(failure_);
      if (asked_.empty()) continue;
      const Asked asked = std::move(asked_.front());
      asked_.pop_front();
      ++served_.ranges;
      answer(asked);
    }
    return served_;
  }

 private:
  struct Asked {
    int trainer;
    StepRequest request;
  };
  /// The state kept for a trainer, so that the next range needs no seek.
  struct Trainer {
    std::uint64_t run = 0;  ///< requests of others don't count any more
    World share = {};
    std::string pipeline = {};
    Dataset<ColumnBatch> batches = {};
    std::uint64_t iterator_run = 0;
    Iterator<ColumnBatch> iterator = {};
  };
  /// Thrown when the answer is no longer wanted.
  struct Superseded {};

  /// Takes all messages that are there. Keeps a failure for serve(), since it belongs to no trainer's
  /// step: a lost trainer, or a damaged message.
  void receive(std::chrono::milliseconds wait) {
    try {
      for (const int trainer : asking_)
        communicator_.check_alive(trainer, "the requests of trainers");
      while (auto message = communicator_.receive_any(wait)) {
        wait = std::chrono::milliseconds(0);
        if (message->tag != detail::kFeedRequestTag) continue;
        take(message->source, detail::read_request(*message));
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  void take(int trainer, StepRequest request) {
    if (request.is_last) {
      asking_.erase(trainer);
      trainers_.erase(trainer);
      std::erase_if(asked_, [&](const Asked& asked) { return asked.trainer == trainer; });
      return;
    }
    if (asking_.count(trainer) == 0) {
      fail(
          trainer, request.run, request.first,
          Error(ErrorCode::failed_precondition,
                fmt::format("feed: rank {} is none of the trainers that this worker serves, or has "
                            "dismissed it",
                            trainer)));
      return;
    }
    Trainer& known = trainers_[trainer];
    if (known.run != request.run) {
      known.run = request.run;
      std::erase_if(asked_, [&](const Asked& asked) { return asked.trainer == trainer; });
    }
    asked_.push_back({trainer, std::move(request)});
  }

  void answer(const Asked& asked) {
    step_ = asked.request.first;
    try {
      open(asked);
      if (asked.request.steps == 0) {
        const Cardinality count = trainers_[asked.trainer].batches.cardinality();
        send(asked, {.kind = AnswerKind::place},
             [&count](std::string& bytes) { detail::append_cardinality(count, bytes); });
        return;
      }
      make_range(asked);
    } catch (const Superseded&) {
      // The trainer's newer requests are in the queue, or it wants nothing more.
    } catch (const Error& error) {
      forget_iterator(asked.trainer);
      fail(asked.trainer, asked.request.run, step_, error);
    } catch (const std::exception& error) {
      forget_iterator(asked.trainer);
      fail(asked.trainer, asked.request.run, step_, Error(ErrorCode::user_function, error.what()));
    }
  }

  void make_range(const Asked& asked) {
    bool has_more = true;
    for (std::uint64_t i = 0; has_more && i < asked.request.steps; ++i) {
      read_ahead_until(trainers_[asked.trainer].iterator, end_of_steps(asked));
      has_more = make_step(asked);
      ++served_.steps;
      ++step_;
      say_alive();
      check_wanted(asked);
    }
  }

  /// Returns the end of the steps that the iterator will make: the range, and those that follow it
  /// without a gap. Others make what comes behind, so the iterator needn't.
  std::uint64_t end_of_steps(const Asked& asked) const {
    std::uint64_t end = asked.request.first + asked.request.steps;
    for (const auto& [trainer, request] : asked_) {
      const bool follows = trainer == asked.trainer && request.run == asked.request.run;
      if (follows && request.first == end) end += request.steps;
    }
    return end;
  }

  /// Sends one step. Returns false at the end. An error of sending isn't the element's.
  bool make_step(const Asked& asked) {
    Iterator<ColumnBatch>& iterator = trainers_[asked.trainer].iterator;
    NextResult<ColumnBatch> next;
    std::optional<Error> element_error;
    while (true) {
      try {
        next = iterator.next_for(options_.sign_of_life, options_.stop);
      } catch (const Error& error) {
        if (error.is_terminal()) throw;
        element_error = error;
      }
      if (next || next.ended() || element_error) break;
      say_alive();
      check_wanted(asked);
    }
    if (element_error) {
      send(asked, {.step = step_, .kind = AnswerKind::error},
           [&](std::string& bytes) { detail::append_error(*element_error, bytes); });
    } else if (next.ended()) {
      send(asked, {.step = step_, .kind = AnswerKind::end}, {});
    } else {
      send(asked, {.step = step_, .kind = AnswerKind::batch},
           [&](std::string& bytes) { detail::append_batch(*next, bytes); });
    }
    return !next.ended();
  }

  /// Makes the trainer's iterator stand before the first step that is asked for.
  void open(const Asked& asked) {
    Trainer& trainer = trainers_[asked.trainer];
    const StepRequest& request = asked.request;
    if (stands_before(trainer, request)) return;
    forget_iterator(asked.trainer);
    // In another thread, since a resume may take long and signs of life go on.
    std::packaged_task<Iterator<ColumnBatch>()> opening([&] {
      if (!trainer.batches.is_described() || trainer.share != request.share ||
          trainer.pipeline != request.pipeline) {
        Dataset<ColumnBatch> batches = pipeline_(request.share, request.pipeline);
        check_can_be_asked_by_step(*batches.node(), options_.iterate.bookmark_every);
        trainer.batches = std::move(batches);
        trainer.share = request.share;
        trainer.pipeline = request.pipeline;
      }
      return trainer.batches.iterate(begin_at(request));
    });
    std::future<Iterator<ColumnBatch>> opened = opening.get_future();
    const auto thread = detail::start_thread<std::jthread>([&opening] { opening(); });
    while (opened.wait_for(options_.sign_of_life) != std::future_status::ready) say_alive();
    trainer.iterator = opened.get();
    trainer.iterator_run = request.run;
    ++served_.opened;
  }

  /// True if the trainer's iterator can go on with the range. Seeds that nobody gave are those of the
  /// place: this worker drew others if it was asked where the data begins, too, and was late.
  static bool stands_before(const Trainer& trainer, const StepRequest& request) {
    const Iterator<ColumnBatch>& iterator = trainer.iterator;
    if (!iterator.has_stream() || trainer.iterator_run != request.run) return false;
    if (iterator.position() != request.first) return false;
    return request.place.empty() ||
           iterator.checkpoint().signature == Checkpoint::from_text(request.place).signature;
  }

  /// Returns the options of an iteration that begins at the first step.
  IterateOptions begin_at(const StepRequest& request) const {
    IterateOptions options = options_.iterate;
    options.epoch = request.epoch;
    if (request.place.empty()) return options;
    Checkpoint place = Checkpoint::from_text(request.place);
    options.epoch = place.epoch;
    if (place.position > request.first) {
      throw Error(ErrorCode::internal,
                  fmt::format("feed: step {} was asked for with a place behind it, after {} steps",
                              request.first, place.position));
    }
    // Without an error so far the stages seek. Should there be one in between, the trainer sees it
    // before these steps and asks anew.
    if (place.errors == 0) {
      place.position = request.first;
    } else {
      options.skip = request.first - place.position;
    }
    options.resume = std::move(place);
    return options;
  }

  /// Tells all trainers that the worker is at work. Whoever asked while it works for another one
  /// would take it for silent.
  void say_alive() {
    if (Clock::now() - said_alive_ < options_.sign_of_life) return;
    said_alive_ = Clock::now();
    for (const int trainer : asking_) send_bytes(trainer, {.kind = AnswerKind::alive}, {});
  }

  /// Throws Superseded if the trainer wants no more of this range.
  void check_wanted(const Asked& asked) {
    receive(std::chrono::milliseconds(0));
    const auto trainer = trainers_.find(asked.trainer);
    if (failure_ || trainer == trainers_.end() || trainer->second.run != asked.request.run ||
        options_.stop.stop_requested()) {
      throw Superseded();
    }
  }

  using AppendPayload = std::function<void(std::string&)>;
  /// Sends an answer with the place of the trainer's iterator.
  void send(const Asked& asked, StepAnswer answer, const AppendPayload& append) {
    answer.run = asked.request.run;
    answer.place = trainers_[asked.trainer].iterator.checkpoint().to_text();
    send_bytes(asked.trainer, answer, append);
  }

  void fail(int trainer, std::uint64_t run, std::uint64_t step, const Error& error) {
    send_bytes(trainer, {.run = run, .step = step, .kind = AnswerKind::failed, .place = {}},
               [&error](std::string& bytes) { detail::append_error(error, bytes); });
  }

  void send_bytes(int trainer, const StepAnswer& answer, const AppendPayload& append) {
    std::string bytes = detail::bytes_of(answer);
    if (append) append(bytes);
    communicator_.send(trainer, detail::kFeedAnswerTag, std::as_bytes(std::span(bytes)));
  }

  void forget_iterator(int trainer) {
    const auto known = trainers_.find(trainer);
    if (known != trainers_.end()) known->second.iterator = {};
  }

  Communicator& communicator_;
  const FedPipeline& pipeline_;
  const ServeOptions& options_;
  std::set<int> asking_;  ///< trainers that haven't dismissed the worker
  std::map<int, Trainer> trainers_;
  std::deque<Asked> asked_;
  std::exception_ptr failure_;  ///< ended receiving, and ends the work
  std::uint64_t step_ = 0;      ///< that is being made
  Clock::time_point said_alive_ = Clock::now();
  ServedSteps served_;
};

}  // namespace

ServedSteps serve_steps(Communicator& communicator, const FedPipeline& pipeline,
                        const ServeOptions& options) {
  if (options.trainers.empty() || options.sign_of_life.count() < 1) {
    throw Error(ErrorCode::invalid_argument,
                "serve_steps: trainers is empty, or sign_of_life is less than 1 ms; give the ranks "
                "that ask, and a second or so");
  }
  return StepServer(communicator, pipeline, options).serve();
}

FeedRoles gather_roles(Communicator& communicator, bool is_worker) {
  const std::vector<std::string> all =
      all_gather(communicator, is_worker ? "worker" : "trainer", "the roles of the ranks");
  FeedRoles roles;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    (all[rank] == "worker" ? roles.workers : roles.trainers).push_back(static_cast<int>(rank));
  }
  return roles;
}

void dismiss_workers(Communicator& communicator, const std::vector<int>& workers) {
  const std::string bytes = detail::bytes_of(detail::StepRequest{.is_last = true});
  std::optional<Error> failure;  // thrown once the others know, which would wait for ever
  for (const int worker : workers) {
    try {
      communicator.send(worker, detail::kFeedRequestTag, std::as_bytes(std::span(bytes)));
    } catch (const Error& error) {
      failure = error;
    }
  }
  if (failure) throw Error(*failure);
}

}  // namespace infeed
