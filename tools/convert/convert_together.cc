#include "convert/convert_together.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/file.h>

#include "convert/conversion_checks.h"
#include "convert/convert_share.h"
#include "convert/shard_workers.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRootRank = 0;
// Messages to rank 0...
constexpr int kAskTag = 1;    ///< asks for one shard
constexpr int kAliveTag = 2;  ///< a number: examples done
constexpr int kDoneTag = 3;   ///< a number: shards that were found made
// ... and from it.
constexpr int kShardTag = 4;  ///< a number: a shard, or kNoShard
constexpr int kHeardTag = 5;  ///< the answer to kAliveTag
constexpr int kEndTag = 6;    ///< the dataset is complete

constexpr std::uint64_t kNoShard = ~std::uint64_t{0};
// Shards take much longer, and the cores belong to the threads that make them.
constexpr auto kPause = std::chrono::milliseconds(1);

void send_number(Communicator& ranks, int rank, int tag, std::uint64_t number = 0) {
  ranks.send(rank, tag, std::as_bytes(std::span(&number, 1)));
}

/// Returns a message, or sleeps for a moment if there is none: waiting for one may poll.
std::optional<Communicator::Message> next_message(Communicator& ranks) {
  auto message = ranks.receive_any(std::chrono::nanoseconds(0));
  if (!message) std::this_thread::sleep_for(kPause);
  return message;
}

std::uint64_t number_of(const Communicator::Message& message) {
  std::uint64_t number = 0;
  if (message.bytes.size() != sizeof(number)) {
    throw Error(ErrorCode::internal,
                fmt::format("rank {} sent a message of {} bytes instead of {}", message.source,
                            message.bytes.size(), sizeof(number)));
  }
  std::memcpy(&number, message.bytes.data(), sizeof(number));
  return number;
}

/// Work on a thread beside the one that talks to the other ranks.
class Beside {
 public:
  explicit Beside(const std::function<void()>& work)
      : thread_([this, work] {
          try {
            work();
          } catch (...) {
            error_ = std::current_exception();
          }
          has_ended_ = true;
        }) {}
  /// Throws what the work threw.
  bool has_ended() {
    if (!has_ended_) return false;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  std::exception_ptr error_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

/// When each of the other ranks was heard last.
class Silence {
 public:
  Silence(int size, std::chrono::nanoseconds max)
      : max_(max), heard_(static_cast<std::size_t>(size), Clock::now()) {}
  void heard(int rank) { heard_[static_cast<std::size_t>(rank)] = Clock::now(); }
  /// Called often. Throws if a rank is silent for too long.
  void check(int rank) {
    const Clock::time_point now = Clock::now();
    // A process that was stopped itself must not blame the others.
    if (now - checked_ > max_ / 4) std::fill(heard_.begin(), heard_.end(), now);
    checked_ = now;
    if (now - heard_[static_cast<std::size_t>(rank)] <= max_) return;
    throw Error(ErrorCode::unavailable,
                fmt::format("rank {} has given no sign of life for {:.1f} s while the dataset was "
                            "converted; finished shards are kept: run the same command again",
                            rank, std::chrono::duration<double>(max_).count()));
  }

 private:
  const std::chrono::nanoseconds max_;
  std::vector<Clock::time_point> heard_;
  Clock::time_point checked_ = Clock::now();
};

/// The shards that rank 0 gave to this rank. Its threads wait here for more.
class GivenShards {
 public:
  /// Returns a shard; nothing if there are no more, or after a stop.
  std::optional<std::size_t> next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++wanted_;
    given_.wait(lock, stop, [this] { return !shards_.empty() || is_over_; });
    --wanted_;
    if (shards_.empty()) return std::nullopt;
    const auto shard = static_cast<std::size_t>(shards_.front());
    shards_.pop();
    return shard;
  }
  /// Returns how many more to ask for, and takes them as asked for.
  std::size_t take_wanted() {
    const std::lock_guard lock(mutex_);
    const std::size_t coming = asked_ + shards_.size();
    const std::size_t more = is_over_ || wanted_ <= coming ? 0 : wanted_ - coming;
    asked_ += more;
    return more;
  }
  void give(std::uint64_t shard) {
    const std::lock_guard lock(mutex_);
    --asked_;
    if (shard == kNoShard) {
      is_over_ = true;
    } else {
      shards_.push(shard);
    }
    given_.notify_all();
  }
  /// True while an answer is still to come.
  bool is_asking() {
    const std::lock_guard lock(mutex_);
    return asked_ > 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any given_;
  std::queue<std::uint64_t> shards_;
  std::size_t wanted_ = 0;  ///< waiting threads
  std::size_t asked_ = 0;   ///< questions without an answer
  bool is_over_ = false;
};

/// The shards that a rank makes, one after the other as `next` names them.
class OwnWork {
 public:
  OwnWork(const ExampleInput& input, const ConvertOptions& options, const DatasetNames& names,
          const ConversionPlan& plan, World world)
      : input_(input),
        options_(options),
        names_(names),
        plan_(plan),
        at_stop_(options.stop, [this] { stop_.request_stop(); }) {
    options_.stop = stop_.get_token();
    const PartName name{PartName::Kind::rank,
                        {.count = static_cast<std::uint32_t>(world.size),
                         .index = static_cast<std::uint32_t>(world.rank)}};
    part_ = std::make_unique<ConversionPart>(input, options, names, plan, name);
    options_.on_progress = [this](const ConvertProgress& progress) {
      done_ = progress.done;
      total_ = progress.total;
    };
  }
  ConversionPart& part() { return *part_; }

  /// Leaves the part at the end, so that rank 0 can finish.
  void run(std::function<std::optional<std::size_t>()> next) {
    ShardWorkers::Task task{.committed = part_->committed(),
                            .shards = std::vector<std::uint32_t>(plan_.shard_count),
                            .next = std::move(next)};
    std::iota(task.shards.begin(), task.shards.end(), 0U);
    ShardWorkers workers(input_, options_, plan_.shards, part_->journal(), std::move(task));
    workers.run();
    shards_found_ = workers.shards_found();
    part_->end(workers.take_entries());
    part_.reset();
  }
  void stop() { stop_.request_stop(); }
  const std::stop_token& stop_token() const { return options_.stop; }
  std::uint64_t examples_done() const { return done_; }
  std::uint64_t examples_total() const { return total_; }
  std::uint32_t shards_found() const { return shards_found_; }

 private:
  const ExampleInput& input_;
  ConvertOptions options_;
  const DatasetNames& names_;
  const ConversionPlan& plan_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> at_stop_;
  std::unique_ptr<ConversionPart> part_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<std::uint32_t> shards_found_{0};
};

/// Ends the work when an error ends the talk with the other ranks.
struct StopAtEnd {
  OwnWork& work;
  ~StopAtEnd() { work.stop(); }
};

/// Rank 0: hands out, works itself, and finishes.
class Chief {
 public:
  Chief(Communicator& ranks, const ConversionPlan& plan, std::chrono::nanoseconds silence_max)
      : ranks_(ranks),
        shard_count_(plan.shard_count),
        silence_(ranks.world().size, silence_max),
        examples_done_(static_cast<std::size_t>(ranks.world().size)) {}

  ConvertResult run(const ExampleInput& input, const ConvertOptions& options, OwnWork& own) {
    Beside work([&] {
      own.run([this]() -> std::optional<std::size_t> {
        const std::uint64_t shard = hand_out();
        if (shard == kNoShard) return std::nullopt;
        return static_cast<std::size_t>(shard);
      });
    });
    const StopAtEnd stop_at_end{own};
    const auto others = static_cast<std::size_t>(ranks_.world().size - 1);
    while (!work.has_ended() || ranks_done_ < others) {
      answer();
      examples_done_[kRootRank] = own.examples_done();
      report(options, own.examples_total());
    }
    ConvertOptions to_finish = options;
    to_finish.finish_only = true;
    to_finish.on_progress = {};
    ConvertResult result;
    Beside finish([&] { result = convert(input, to_finish); });
    while (!finish.has_ended()) answer();
    result.shards_found = own.shards_found() + shards_found_;
    for (int rank = 1; rank < ranks_.world().size; ++rank) send_number(ranks_, rank, kEndTag);
    return result;
  }

 private:
  std::uint64_t hand_out() {
    const std::uint64_t shard = next_++;
    return shard < shard_count_ ? shard : kNoShard;
  }

  void answer() {
    const auto message = next_message(ranks_);
    for (int rank = 1; rank < ranks_.world().size; ++rank) {
      if (message && message->source == rank) silence_.heard(rank);
      silence_.check(rank);
    }
    if (!message) return;
    switch (message->tag) {
      case kAskTag:
        send_number(ranks_, message->source, kShardTag, hand_out());
        break;
      case kAliveTag:
        examples_done_[static_cast<std::size_t>(message->source)] = number_of(*message);
        send_number(ranks_, message->source, kHeardTag);
        break;
      case kDoneTag:
        ++ranks_done_;
        shards_found_ += static_cast<std::uint32_t>(number_of(*message));
        break;
      default:
        break;
    }
  }

  void report(const ConvertOptions& options, std::uint64_t total) {
    if (!options.on_progress || Clock::now() - reported_ < std::chrono::milliseconds(100)) return;
    reported_ = Clock::now();
    const auto done =
        std::accumulate(examples_done_.begin(), examples_done_.end(), std::uint64_t{0});
    options.on_progress({.done = std::min(done, total), .total = total});
  }

  Communicator& ranks_;
  const std::uint64_t shard_count_;
  Silence silence_;
  std::vector<std::uint64_t> examples_done_;  // by rank
  std::atomic<std::uint64_t> next_{0};        // shard to be handed out
  std::size_t ranks_done_ = 0;
  std::uint32_t shards_found_ = 0;
  Clock::time_point reported_ = Clock::now();
};

/// Any other rank: works on what it is given, until rank 0 has finished.
void work_for_chief(Communicator& ranks, OwnWork& own, std::chrono::nanoseconds silence_max) {
  GivenShards shards;
  Silence silence(1, silence_max);
  Beside work([&] { own.run([&] { return shards.next(own.stop_token()); }); });
  const StopAtEnd stop_at_end{own};
  bool is_done = false;
  for (auto alive = Clock::now();;) {
    for (std::size_t more = shards.take_wanted(); more > 0; --more) {
      send_number(ranks, kRootRank, kAskTag);
    }
    const auto message = next_message(ranks);
    if (message) silence.heard(kRootRank);
    silence.check(kRootRank);
    if (message && message->tag == kShardTag) shards.give(number_of(*message));
    if (message && message->tag == kEndTag) return;
    if (!is_done && work.has_ended() && !shards.is_asking()) {
      is_done = true;
      send_number(ranks, kRootRank, kDoneTag, own.shards_found());
    }
    if (Clock::now() - alive >= silence_max / 8) {
      alive = Clock::now();
      send_number(ranks, kRootRank, kAliveTag, own.examples_done());
    }
  }
}

}  // namespace

ConvertResult convert_together(const ExampleInput& input, const ConvertOptions& options,
                               Communicator& ranks, std::chrono::nanoseconds silence_max) {
  const auto begin = Clock::now();
  const DatasetNames names(options.prefix);
  const ConversionPlan plan = choose_plan(input, options, names);
  require_equal(ranks, "plan of the conversion", plan.text);
  const bool is_chief = ranks.world().rank == kRootRank;
  ConvertOptions own_options = options;
  own_options.existing = ExistingDataset::refuse;
  make_folder(names.folder);
  if (is_chief && options.existing == ExistingDataset::replace) {
    remove_whole_dataset(input, options, names);
  }
  barrier(ranks, "begin of the conversion");
  OwnWork own(input, own_options, names, plan, ranks.world());
  barrier(ranks, "begin of the shards");  // none is finished before all have looked
  ConvertResult result;
  if (own.part().was_complete()) {
    result.was_complete = true;
    result.files = own.part().store().places_of(plan.shards);
    result.manifest_file = own.part().store().place_of(names.manifest_file);
    result.manifest = own.part().take_complete();
  } else if (is_chief) {
    result = Chief(ranks, plan, silence_max).run(input, own_options, own);
  } else {
    work_for_chief(ranks, own, silence_max);
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

}  // namespace infeed::tools
