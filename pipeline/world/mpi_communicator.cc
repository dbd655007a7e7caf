#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <sched.h>
#include <thread>

#include <infeed/communicator.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/detail/start_threads.h>
#include <infeed/error.h>

#include "world/exchange_checks.h"
#include "world/mpi_plugin.h"
#include "world/mpi_port.h"
#include "world/mpi_watch.h"
#include "world/rank_signs.h"

namespace infeed {
namespace detail {

Error MpiPort::other_size(const Request& request, std::size_t size) const {
  return Error(
      ErrorCode::internal,
      fmt::format("rank {} sent {} bytes, but rank {} expected {}: the ranks don't make the "
                  "same calls in the same order",
                  request.other, size, rank_, request.size));
}

namespace {

using Clock = RankSigns::Clock;
using std::chrono::nanoseconds;

enum ControlTag : int { kQuestion = 1, kAnswer = 2, kFailure = 3 };

/// MPI counts in int.
constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
/// How often a rank that computes looks for questions.
constexpr auto kServiceEvery = std::chrono::milliseconds(20);
/// A wait polls for so long before it sleeps. Sleeping and waking takes longer than most messages.
constexpr auto kPollFor = std::chrono::milliseconds(2);
constexpr auto kSleep = std::chrono::microseconds(100);
/// A limit is asked about so many times.
constexpr int kQuestionsPerLimit = 8;
/// The time that notices of a failure get to leave this process.
constexpr auto kFlushFor = std::chrono::milliseconds(200);

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RankSigns::Failure failure_of(const Error& error) {
  const auto* const lost = dynamic_cast<const RankLost*>(&error);
  return {lost == nullptr ? -1 : lost->rank(), error.message()};
}

/// Polls at first, then sleeps between two looks.
class Patience {
 public:
  void note_progress() { idle_since_ = Clock::now(); }
  bool is_polling() const { return Clock::now() - idle_since_ < kPollFor; }
  void pause() const {
    if (is_polling()) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }

 private:
  Clock::time_point idle_since_ = Clock::now();
};

/// Invariants: mutex_ guards port_, so MPI sees one call at a time. A thread answers questions of
/// other ranks until the end or a failure; after a failure nothing but abort() calls MPI, since
/// receives that nobody waits for any more would write to memory that is gone.
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const MpiOptions& options)
      : options_(options),
        launched_(detect_world()),
        port_(begin_mpi()),
        world_{port_.rank(), port_.size()},
        signs_(world_.size) {
    check_launcher();
    thread_ = start_thread([this] { answer_questions(); });
  }

  ~MpiCommunicator() override {
    if (!signs_.failure()) end_together();
    has_ended_ = true;
    thread_.join();
    if (signs_.failure()) return;  // MPI_Finalize() would wait for the dead
    try {
      const std::lock_guard lock(mutex_);
      const MpiWatch watch("end", options_.start_limit, world_);
      port_.clean_up();
      port_.finish();
    } catch (const Error&) {
      // Nobody is left who could act on it.
    }
  }

  World world() const override { return world_; }

  void exchange(Outgoing outgoing, Incoming incoming, std::string_view purpose) override {
    check_exchange(world_, outgoing, incoming, purpose);
    signs_.set_own_state(fmt::format("waits in '{}'", purpose));
    try {
      std::vector<Request> requests = begin_exchange(outgoing, incoming);
      const std::size_t own = static_cast<std::size_t>(world_.rank);
      std::copy(outgoing[own].begin(), outgoing[own].end(), incoming[own].begin());
      finish_exchange(requests, purpose);
    } catch (const Error& error) {
      fail(failure_of(error));
      throw;
    }
    signs_.set_own_state(fmt::format("has left '{}'", purpose));
  }

  void check_alive(int rank, std::string_view purpose) override {
    if (rank == world_.rank) return;
    throw_if_failed();
    try {
      // A process that was stopped itself must not blame the others.
      check_sign(rank, signs_.watched_since(rank, options_.limit / 4), Clock::now(), purpose);
    } catch (const RankLost& lost) {
      fail({lost.rank(), lost.message()});
      throw;
    }
  }

  [[noreturn]] void abort(std::string_view reason) override {
    std::fputs(
        fmt::format("infeed: rank {} of {} ends the job: {}\n", world_.rank, world_.size, reason)
            .c_str(),
        stderr);
    std::fflush(stderr);
    const std::lock_guard lock(mutex_);
    port_.abort();
    std::_Exit(EXIT_FAILURE);
  }

  void send(int rank, int tag, std::span<const std::byte> bytes) override {
    check_message(world_, rank, tag);
    const auto lock = lock_mpi();
    port_.clean_up();
    port_.send(kInfeedMpiService, rank, tag, {bytes.begin(), bytes.end()});
  }

  std::optional<Message> receive_any(nanoseconds limit) override {
    const Clock::time_point begin = Clock::now();
    for (const Patience patience;; patience.pause()) {
      {
        const auto lock = lock_mpi();
        if (auto arrived = port_.receive_next(kInfeedMpiService)) {
          return Message{arrived->from, arrived->tag, std::move(arrived->bytes)};
        }
      }
      if (Clock::now() - begin >= limit) return std::nullopt;
    }
  }

 private:
  using Request = MpiPort::Request;

  MpiPort begin_mpi() const {
    const InfeedMpiFunctions& functions = load_mpi_plugin(options_.plugin);
    const MpiWatch watch("start", options_.start_limit, launched_.world);
    return MpiPort(functions);
  }

  /// Throws if the launcher has said something else: then it belongs to another MPI.
  void check_launcher() {
    if (launched_.source == "no launcher" || launched_.world == world_) return;
    throw Error(ErrorCode::failed_precondition,
                fmt::format("MPI says that this is rank {} of {}, but {} says rank {} of {}; the "
                            "plug-in was built with {}: start the job by its mpirun, or build the "
                            "plug-in with the MPI that starts it",
                            world_.rank, world_.size, launched_.source, launched_.world.rank,
                            launched_.world.size, port_.version()));
  }

  void throw_if_failed() const {
    const auto failure = signs_.failure();
    if (!failure) return;
    if (failure->rank >= 0) throw RankLost(failure->rank, failure->text);
    throw Error(ErrorCode::unavailable, failure->text);
  }
  /// Locks MPI for one call. Throws if the job has failed: then nothing may call it.
  std::unique_lock<std::mutex> lock_mpi() {
    std::unique_lock lock(mutex_);
    throw_if_failed();
    return lock;
  }

  std::vector<Request> begin_exchange(Outgoing outgoing, Incoming incoming) {
    std::vector<Request> requests;
    const auto lock = lock_mpi();
    const auto in_pieces = [&](auto bytes, auto begin) {
      for (std::size_t at = 0; at < bytes.size(); at += kPieceBytesMax) {
        requests.push_back(begin(bytes.subspan(at, std::min(kPieceBytesMax, bytes.size() - at))));
      }
    };
    // Each rank begins with the one behind it, so that not all send to rank 0 first.
    for (int i = 1; i < world_.size; ++i) {
      const int from = (world_.rank + world_.size - i) % world_.size;
      in_pieces(incoming[static_cast<std::size_t>(from)], [&](std::span<std::byte> piece) {
        return port_.begin_receive(kInfeedMpiData, from, 0, piece);
      });
    }
    for (int i = 1; i < world_.size; ++i) {
      const int to = (world_.rank + i) % world_.size;
      in_pieces(outgoing[static_cast<std::size_t>(to)], [&](std::span<const std::byte> piece) {
        return port_.begin_send(kInfeedMpiData, to, 0, piece);
      });
    }
    return requests;
  }

  void finish_exchange(std::vector<Request>& requests, std::string_view purpose) {
    Clock::time_point begin = Clock::now();
    Clock::time_point last_look = begin;
    Patience patience;
    while (true) {
      const std::size_t before = requests.size();
      {
        const auto lock = lock_mpi();
        std::erase_if(requests, [this](Request& request) {
          if (!port_.test(request)) return false;
          if (request.is_receive) signs_.note_sign(request.other);
          return true;
        });
        if (!patience.is_polling()) take_control_messages();
      }
      if (requests.empty()) return;
      if (requests.size() < before) patience.note_progress();
      const Clock::time_point now = Clock::now();
      // A process that was stopped itself must not blame the others.
      if (now - last_look > options_.limit / 4) begin = now;
      last_look = now;
      for (const Request& request : requests) {
        check_sign(request.other, begin, now, purpose);
        if (now - begin > options_.call_limit) {
          throw silent_rank(
              request.other,
              fmt::format("lives, but {} and has not come", signs_.seen(request.other).state),
              now - begin, purpose, world_);
        }
      }
      patience.pause();
    }
  }

  /// Asks a rank that is waited for whether it lives. Throws if it hasn't answered for too long.
  void check_sign(int rank, Clock::time_point begin, Clock::time_point now,
                  std::string_view purpose) {
    const nanoseconds ask_after = options_.limit / kQuestionsPerLimit;
    if (now - begin < ask_after) return;
    const RankSigns::Seen seen = signs_.seen(rank);
    const nanoseconds silent = now - std::max(begin, seen.at);
    if (silent > options_.limit) {
      throw silent_rank(rank, "has not answered", silent, purpose, world_);
    }
    if (now - seen.asked < ask_after) return;
    signs_.note_asked(rank);
    const auto lock = lock_mpi();
    port_.send(kInfeedMpiControl, rank, kQuestion, {});
  }

  /// Notes a failure that this rank has found, and tells the others, who then name the same rank.
  /// Returns when the notices have left, or after that time at the latest; `stays`: only then.
  void fail(const RankSigns::Failure& failure, bool stays = false) {
    if (!signs_.note_failure(failure)) return;
    try {
      const std::unique_lock lock(mutex_);
      for (int rank = 0; rank < world_.size; ++rank) {
        if (rank == world_.rank) continue;
        port_.send(kInfeedMpiControl, rank, kFailure,
                   bytes_of(fmt::format("{} {}", failure.rank, failure.text)));
      }
      const Clock::time_point begin = Clock::now();
      while ((stays || port_.has_unsent()) && Clock::now() - begin < kFlushFor) {
        port_.clean_up();
        sched_yield();
      }
    } catch (const Error&) {
      // The first failure is the one that is reported.
    }
  }

  // ---- the thread ----

  void answer_questions() {
    while (!has_ended_ && !signs_.failure()) {
      try {
        const std::lock_guard lock(mutex_);
        if (!signs_.failure()) take_control_messages();
      } catch (const Error& error) {
        signs_.note_failure(failure_of(error));
      }
      std::this_thread::sleep_for(kServiceEvery);
    }
  }

  void take_control_messages() {
    port_.clean_up();
    while (const auto message = port_.receive_next(kInfeedMpiControl)) act_on(*message);
  }

  void act_on(const MpiPort::Arrived& message) {
    switch (message.tag) {
      case kQuestion:
        signs_.note_sign(message.from);
        port_.send(kInfeedMpiControl, message.from, kAnswer, bytes_of(signs_.own_state()));
        break;
      case kAnswer:
        signs_.note_answer(message.from, text_of(message.bytes));
        break;
      default: {
        const std::string text = text_of(message.bytes);
        const std::size_t blank = std::min(text.find(' '), text.size() - 1);
        RankSigns::Failure failure{
            .text = fmt::format("{} (found by rank {})", text.substr(blank + 1), message.from)};
        parse_whole(std::string_view(text).substr(0, blank), failure.rank);
        signs_.note_failure(std::move(failure));
        break;
      }
    }
  }

  /// Waits until no rank needs this one any more. While an exception is on its way up, the others are
  /// told instead, so that they don't wait.
  void end_together() {
    if (std::uncaught_exceptions() > 0) {
      // Launchers end all ranks when one ends, so the others need a moment to say why.
      fail({world_.rank, fmt::format("rank {} has left the job because of an error", world_.rank)},
           true);
      return;
    }
    try {
      barrier(*this, "the end of the job");
    } catch (const Error& error) {
      std::fflush(stdout);
      abort(error.message());
    }
  }

  const MpiOptions options_;
  const DetectedWorld launched_;  ///< before MPI begins, which sets variables of its own
  MpiPort port_;
  const World world_;
  RankSigns signs_;
  std::mutex mutex_;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

}  // namespace
}  // namespace detail

std::unique_ptr<Communicator> mpi_communicator(const MpiOptions& options) {
  if (options.limit <= std::chrono::nanoseconds(0)) {
    throw Error(ErrorCode::invalid_argument,
                "mpi_communicator: the limit must be positive; 4 s is the usual one");
  }
  return std::make_unique<detail::MpiCommunicator>(options);
}

}  // namespace infeed
