#include "convert/convert_worker.h"

#include <chrono>
#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <infeed/error.h>

#include "cli/parallel.h"
#include "convert/beside.h"
#include "convert/mailbox.h"
#include "convert/shard_maker.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

class Worker {
 public:
  Worker(const RankCall& call, const ExampleInput& input, const ConvertOptions& options,
         const ConversionPlan& plan)
      : call_(call),
        input_(input),
        stop_(options.stop),
        options_(with_stop(options, stop_.token())),
        maker_(input, options_, plan, {.rank = call.ranks.world().rank}),
        silence_(1, call.options.silence_max) {}

  /// Returns the flags of the end.
  std::uint64_t run() {
    Beside work([this] { make_shards(); });
    const StopAtEnd stop_at_end{stop_};
    for (auto alive = Clock::now();;) {
      for (; asked_ < given_.waiting(); ++asked_) tell(Word::ask, call_.plan_sum);
      while (const auto made = finished_.take()) {
        tell(Word::made, made->was_there ? 1 : 0, to_text(made->entry));
      }
      if (work.has_ended()) {
        throw Error(ErrorCode::cancelled,
                    "stopped: finished shards were kept; the same command goes on from there");
      }
      if (const auto message = next_message(call_.ranks)) {
        silence_.heard(kRootRank);
        if (message->word == Word::end && message->set == call_.set) return message->number;
        take(*message);
      }
      require_chief();
      if (Clock::now() - alive < call_.options.silence_max / 8) continue;
      alive = Clock::now();
      tell(Word::alive, maker_.examples_done());
    }
  }

 private:
  struct Given {
    std::uint32_t shard = 0;
    bool is_aside = false;
    std::optional<ShardEntry> committed = {};
  };

  static ConvertOptions with_stop(ConvertOptions options, std::stop_token stop) {
    options.stop = std::move(stop);
    return options;
  }

  /// Returns after a stop.
  void make_shards() try {
    const int threads = shard_threads(options_);
    for_each_in_parallel_threads(static_cast<std::size_t>(threads), threads, options_.stop, [this] {
      const auto reader = std::shared_ptr<ExampleReader>(input_.open_reader());
      return [this, reader](std::size_t) { make_given(*reader); };
    });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || !options_.stop.stop_requested()) throw;
  }

  /// A thread's work: one shard after the other.
  void make_given(ExampleReader& reader) try {
    while (const auto given = given_.wait(options_.stop)) {
      auto made = maker_.make({.number = given->shard,
                               .committed = given->committed ? &*given->committed : nullptr,
                               .is_aside = given->is_aside},
                              reader);
      if (made) finished_.put(std::move(*made));  // else it was stopped, or others have made all
    }
  } catch (...) {
    given_.close();
    throw;
  }

  void take(const ReceivedMessage& message) {
    if (message.set != call_.set) return;
    if (message.word != Word::shard && message.word != Word::aside) return;
    --asked_;
    given_.put({.shard = static_cast<std::uint32_t>(message.number),
                .is_aside = message.word == Word::aside,
                .committed = parse_shard_entry(message.text)});
  }

  void require_chief() {
    if (!silence_.is_too_long(kRootRank)) return;
    throw Error(
        ErrorCode::unavailable,
        fmt::format("rank {} has given no sign of life for {:.1f} s while the dataset was "
                    "converted; finished shards are kept: run the same command again",
                    kRootRank, std::chrono::duration<double>(call_.options.silence_max).count()));
  }

  void tell(Word word, std::uint64_t number, std::string text = {}) {
    send_message(call_.ranks, kRootRank, {word, call_.set, number, std::move(text)});
  }

  const RankCall call_;
  const ExampleInput& input_;
  WorkStop stop_;
  const ConvertOptions options_;
  ShardMaker maker_;
  Silence silence_;
  Mailbox<Given> given_;
  Mailbox<ShardMaker::Made> finished_;
  std::size_t asked_ = 0;  // shards that were asked for and didn't come yet
};

}  // namespace

std::uint64_t work_for_chief(const RankCall& call, const ExampleInput& input,
                             const ConvertOptions& options, const ConversionPlan& plan) {
  return Worker(call, input, options, plan).run();
}

}  // namespace infeed::tools
