#include "convert/shard_workers.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include <infeed/error.h>

#include "cli/parallel.h"

namespace infeed::tools {

ShardWorkers::ShardWorkers(const ExampleInput& input, const ConvertOptions& options,
                           const ConversionPlan& plan, Journal& journal, Task task)
    : input_(input),
      options_(options),
      shards_(plan.shards),
      journal_(journal),
      task_(std::move(task)),
      maker_(input, options, plan, task_.rules),
      queue_(task_.shards),
      entries_(task_.shards.size()),
      sums_{.is_finished = std::vector<bool>(task_.shards.size())} {
  for (const std::uint32_t shard : task_.shards) examples_total_ += maker_.positions(shard);
}

void ShardWorkers::run() {
  const std::size_t threads =
      std::min(static_cast<std::size_t>(shard_threads(options_)), entries_.size());
  try {
    for_each_in_parallel_threads(
        threads, static_cast<int>(threads), options_.stop,
        [this] {
          const auto reader = std::shared_ptr<ExampleReader>(input_.open_reader());
          return [this, reader](std::size_t) { work(*reader); };
        },
        [this](std::size_t) {
          if (!options_.on_progress) return;
          options_.on_progress(
              {.done = maker_.examples_done(), .total = examples_total_ - examples_found_});
        });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || !options_.stop.stop_requested()) throw;
  }
  if (shards_done_ < entries_.size()) {
    throw Error(ErrorCode::cancelled,
                fmt::format("stopped: {} of {} shards are finished and were kept; the same command "
                            "goes on from there",
                            shards_done_.load(), entries_.size()));
  }
}

/// A thread's work: one shard after the other.
void ShardWorkers::work(ExampleReader& reader) try {
  while (const auto turn = queue_.wait_for_next(options_.stop)) {
    const std::uint32_t shard = turn->shard;
    auto made = maker_.make(
        {.number = shard, .committed = committed(shard), .is_aside = turn->was_lost}, reader);
    if (!made) return;
    take(std::move(*made));
  }
} catch (...) {
  end();
  throw;
}

void ShardWorkers::end() {
  queue_.close();
  maker_.end();
}

const ShardEntry* ShardWorkers::committed(std::uint32_t shard) const {
  const auto found = task_.committed.find(shard);
  return found == task_.committed.end() ? nullptr : &found->second;
}

void ShardWorkers::take(ShardMaker::Made made) {
  const std::uint32_t shard = made.entry.shard;
  if (!queue_.claim(shard)) return;
  const auto place = std::lower_bound(task_.shards.begin(), task_.shards.end(), shard);
  const auto entry = static_cast<std::size_t>(place - task_.shards.begin());
  if (made.was_there) {
    examples_found_ += maker_.positions(shard);
    ++shards_found_;
  } else {
    journal_.append(to_text(made.entry));
  }
  entries_[entry] = std::move(made.entry);
  sum_up(entry);
  ++shards_done_;
  queue_.note_committed();
}

std::vector<ShardEntry> ShardWorkers::take_entries() { return std::move(entries_); }

void ShardWorkers::sum_up(std::size_t finished) {
  const std::lock_guard lock(mutex_);
  sums_.is_finished[finished] = true;
  try {
    for (; sums_.entries < entries_.size() && sums_.is_finished[sums_.entries]; ++sums_.entries) {
      ColumnStatistics& own = entries_[sums_.entries].statistics;
      sums_.statistics.merge(own);
      own = ColumnStatistics();
    }
  } catch (const Error& error) {
    throw Error(error.code(), "in all shards together " + error.message())
        .at_file(shards_[task_.shards[sums_.entries]]);
  }
}

}  // namespace infeed::tools
