#include "convert/convert_chief.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/error.h>

#include "convert/beside.h"
#include "convert/mailbox.h"
#include "convert/shard_workers.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Rank 0: hands out, works itself, and finishes.
class Chief {
 public:
  Chief(const RankCall& call, std::set<int>& lost, bool all_have_joined)
      : call_(call),
        size_(call.ranks.world().size),
        lost_(lost),
        has_joined_(static_cast<std::size_t>(size_), all_have_joined),
        silence_(size_, call.options.silence_max),
        examples_done_(static_cast<std::size_t>(size_)) {}

  ConvertResult run(const ConvertOptions& options, const ConvertWith& convert) {
    ConvertResult result;
    WorkStop stop(options.stop);
    ConvertOptions own = options;
    own.stop = stop.token();
    own.on_progress = [this](const ConvertProgress& progress) {
      examples_done_[kRootRank] = progress.done;
      examples_total_ = progress.total;
    };
    Beside work([&] { result = convert(own, [this](ShardWorkers& workers) { make(workers); }); });
    const StopAtEnd stop_at_end{stop};
    while (!work.has_ended()) {
      answer();
      report(options);
    }
    std::uint64_t flags = lost_.empty() ? 0 : kSomeAreLost;
    if (result.was_complete) flags |= kWasComplete;
    for (int rank = 1; rank < size_; ++rank) {
      if (!lost_.contains(rank)) tell(rank, Word::end, flags);
    }
    return result;
  }

 private:
  /// Called on the thread of the work.
  void make(ShardWorkers& workers) {
    // Committing waits for the disk, while the others want answers.
    Beside commit([this, &workers] {
      try {
        while (auto made = arrived_.wait()) workers.take(std::move(*made));
      } catch (...) {
        workers.end();
        throw;
      }
    });
    const auto end = [&] {
      {
        const std::lock_guard lock(mutex_);
        workers_ = nullptr;
      }
      arrived_.close();
      commit.finish();
    };
    {
      const std::lock_guard lock(mutex_);
      workers_ = &workers;
    }
    try {
      workers.run();
    } catch (...) {
      end();  // a failed commit is the reason
      throw;
    }
    end();
  }

  void tell(int rank, Word word, std::uint64_t number, std::string text = {}) {
    send_message(call_.ranks, rank, {word, call_.set, number, std::move(text)});
  }

  void answer() {
    if (const auto message = next_message(call_.ranks)) take(*message);
    for (int rank = 1; rank < size_; ++rank) {
      const bool is_watched = has_joined_[static_cast<std::size_t>(rank)] && !lost_.contains(rank);
      if (is_watched && silence_.is_too_long(rank)) lose(rank);
    }
    hand_out();
  }

  void take(const ReceivedMessage& message) {
    const int rank = message.source;
    silence_.heard(rank);
    if (lost_.erase(rank) > 0) note(fmt::format("rank {} is back", rank));
    if (message.set != call_.set) {  // it has slept through the end of that set
      send_message(call_.ranks, rank, {Word::end, message.set, kSomeAreLost, {}});
      return;
    }
    has_joined_[static_cast<std::size_t>(rank)] = true;
    switch (message.word) {
      case Word::ask:
        require_plan(rank, message.number);
        asking_.push_back(rank);
        break;
      case Word::alive:
        examples_done_[static_cast<std::size_t>(rank)] = message.number;
        tell(rank, Word::heard, 0);
        break;
      case Word::made:
        take_shard(message);
        break;
      default:
        break;
    }
  }

  void require_plan(int rank, std::uint64_t plan_sum) const {
    if (plan_sum == call_.plan_sum) return;
    throw Error(ErrorCode::failed_precondition,
                fmt::format("rank {} has another plan of the conversion than rank 0; all ranks of "
                            "a job must run the same program with the same options and data",
                            rank));
  }

  void take_shard(const ReceivedMessage& message) {
    std::optional<ShardEntry> entry = parse_shard_entry(message.text);
    if (!entry) {
      throw Error(ErrorCode::internal, fmt::format("rank {} describes a shard that it made as '{}'",
                                                   message.source, message.text.substr(0, 80)));
    }
    arrived_.put({.entry = std::move(*entry), .was_there = message.number != 0});
  }

  void lose(int rank) {
    lost_.insert(rank);
    std::size_t shards = 0;
    {
      const std::lock_guard lock(mutex_);
      if (workers_ != nullptr) shards = workers_->queue().take_back_from(rank);
    }
    note(fmt::format(
        "rank {} has given no sign of life for {:.1f} s; others make the {} shards "
        "that it was at",
        rank, std::chrono::duration<double>(call_.options.silence_max).count(), shards));
  }

  void note(const std::string& text) const {
    if (call_.options.on_note) call_.options.on_note(text);
  }

  /// Gives a shard to each rank that waits for one, as far as there are any.
  void hand_out() {
    const std::lock_guard lock(mutex_);
    if (workers_ == nullptr) return;
    for (auto asking = asking_.begin(); asking != asking_.end();) {
      if (lost_.contains(*asking)) {
        ++asking;
        continue;
      }
      const auto turn = workers_->queue().next_for(*asking);
      if (!turn) return;
      const ShardEntry* const committed = workers_->committed(turn->shard);
      tell(*asking, turn->was_lost ? Word::aside : Word::shard, turn->shard,
           committed == nullptr ? std::string() : to_text(*committed));
      asking = asking_.erase(asking);
    }
  }

  void report(const ConvertOptions& options) {
    if (!options.on_progress || Clock::now() - reported_ < std::chrono::milliseconds(100)) return;
    reported_ = Clock::now();
    std::uint64_t done = 0;
    for (const auto& of_rank : examples_done_) done += of_rank;
    options.on_progress({.done = std::min(done, examples_total_.load()), .total = examples_total_});
  }

  const RankCall call_;
  const int size_;
  std::set<int>& lost_;
  std::vector<bool> has_joined_;  // by rank; before, it may take its time
  Silence silence_;
  std::deque<int> asking_;  // a rank for each of its threads that waits for a shard
  Mailbox<ShardMaker::Made> arrived_;
  std::mutex mutex_;                                       // guards workers_
  ShardWorkers* workers_ = nullptr;                        // null while no shard can be handed out
  std::vector<std::atomic<std::uint64_t>> examples_done_;  // by rank
  std::atomic<std::uint64_t> examples_total_{0};
  Clock::time_point reported_ = Clock::now();
};

}  // namespace

ConvertResult lead_conversion(const RankCall& call, const ConvertOptions& options,
                              const ConvertWith& convert, std::set<int>& lost,
                              bool all_have_joined) {
  return Chief(call, lost, all_have_joined).run(options, convert);
}

}  // namespace infeed::tools
