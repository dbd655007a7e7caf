#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <infeed/feed.h>
#include <infeed/pipeline/as_columns.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/map.h>

#include "world/local_world.h"

namespace infeed::test {

/// Keeps some of the numbers in a filter.
inline bool is_wanted(std::int64_t x) { return x % 5 != 2 && x % 7 != 3; }

using Batches = Dataset<ColumnBatch>;

/// Makes batches of numbers those of a column.
inline auto in_columns() {
  return map([](const Batch<std::int64_t>& batch) { return as_columns(batch, {"value"}); });
}

/// Takes the rest of an iterator or a Feeder, at most `most` steps: a line for each batch or error.
template <class Source>
std::vector<std::string> take_rest(Source& source, std::uint64_t most = ~std::uint64_t{0}) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    try {
      const std::optional<ColumnBatch> batch = source.next();
      if (!batch) break;
      lines.push_back(fmt::format("{} rows {:016x}", batch->rows(), batch->hash()));
    } catch (const Error& error) {
      if (error.is_terminal()) throw;
      lines.push_back(error.what());
    }
  }
  return lines;
}

/// A rank whose messages go through a function, which may forward them, keep them or throw.
class WatchedRank final : public ForwardingRank {
 public:
  using Forward = std::function<void()>;
  using OnSend = std::function<void(int tag, const Forward& forward)>;

  WatchedRank(Communicator& rank, OnSend on_send)
      : ForwardingRank(rank), on_send_(std::move(on_send)) {}

  void send(int rank, int tag, std::span<const std::byte> bytes) override {
    const std::vector<std::byte> copy(bytes.begin(), bytes.end());
    on_send_(tag, [this, rank, tag, copy] { ForwardingRank::send(rank, tag, copy); });
  }

 private:
  const OnSend on_send_;
};

/// One trainer, rank 0, and workers as threads. Each rank describes its own dataset, as processes do.
struct FedJob {
  int workers = 2;
  std::function<Batches()> pipeline;
  FeedOptions options = {};
  /// The fate of a worker's messages; empty: all of them arrive.
  std::function<WatchedRank::OnSend(int rank)> on_send = {};
  IterateOptions iterate = {};

  /// Runs the trainer with its Feeder, and returns the text of each rank's exception.
  std::vector<std::string> run(const std::function<void(Feeder&)>& train) const {
    return run_trainer([&train](Communicator& rank, const FeedOptions& asked) {
      Feeder feeder(rank, asked);
      train(feeder);
    });
  }
  /// Runs a trainer that asks by itself.
  std::vector<std::string> run_trainer(
      const std::function<void(Communicator&, const FeedOptions&)>& train) const {
    LocalWorld world(1 + workers);
    return world.run([&](Communicator& rank) {
      if (rank.world().rank == 0) {
        trainer(rank, train);
      } else {
        worker(rank);
      }
    });
  }

 private:
  void trainer(Communicator& rank,
               const std::function<void(Communicator&, const FeedOptions&)>& train) const {
    FeedOptions asked = options;
    for (int i = 1; i <= workers; ++i) asked.workers.push_back(i);
    // Also if the trainer fails, or the workers' threads would never end.
    const std::shared_ptr<void> dismissed(nullptr,
                                          [&](void*) { dismiss_workers(rank, asked.workers); });
    train(rank, asked);
  }

  void worker(Communicator& rank) const {
    const auto open = [this](const World&, const std::string&) { return pipeline(); };
    const ServeOptions serve{
        .trainers = {0}, .iterate = iterate, .sign_of_life = std::chrono::milliseconds(20)};
    const WatchedRank::OnSend watch = on_send ? on_send(rank.world().rank) : WatchedRank::OnSend();
    if (!watch) {
      serve_steps(rank, open, serve);
      return;
    }
    WatchedRank watched(rank, watch);
    serve_steps(watched, open, serve);
  }
};

}  // namespace infeed::test
