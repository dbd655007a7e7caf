#include <fmt/format.h>
#include <stop_token>
#include <utility>

#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/stage.h>

#include "infeed/feed.h"

namespace infeed {
namespace {

/// Returns a hash of the workers' pipeline that is the same for every trainer's share.
std::uint64_t hash_but_for_shard(const Checkpoint& place) {
  OrderHash hash;
  for (const std::string& line : place.signature) {
    if (!line.starts_with("shard(")) hash.add_bytes(line.data(), line.size());
  }
  return hash.value();
}

class FeedStage final : public Stage {
 public:
  FeedStage(const StageContext& context, Communicator& communicator, const FeedOptions& options)
      : Stage(context),
        communicator_(communicator),
        options_(options),
        waker_(context, [this] { stop_.request_stop(); }) {}

  Pull do_pull(Chunk& out, std::size_t) override {
    try {
      if (is_over_) return Pull::end;
      std::optional<ColumnBatch> batch = feeder().next();
      is_over_ = !batch;
      if (is_over_) return Pull::end;
      out.append(std::move(*batch));
    } catch (const Error& error) {
      if (cancelled()) return Pull::cancelled;
      if (error.is_terminal()) throw;
      out.set_error(current_error());
    }
    return Pull::values;
  }

 protected:
  /// Asks for later steps, where nothing has been asked for and no step before is an error.
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (feeder_ != nullptr || known != Known::no_errors) return Stage::do_skip(count, known);
    skipped_ += count;
    return count;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  Feeder& feeder() {
    if (feeder_ == nullptr) {
      FeedOptions options = options_;
      options.epoch = epoch();
      options.skip = skipped_;
      options.stop = stop_.get_token();
      feeder_ = std::make_unique<Feeder>(communicator_, std::move(options));
    }
    return *feeder_;
  }

  Communicator& communicator_;
  const FeedOptions& options_;
  std::uint64_t skipped_ = 0;
  bool is_over_ = false;
  std::stop_source stop_;
  std::unique_ptr<Feeder> feeder_;
  CancellationWaker waker_;
};

class FeedNode final : public Node {
 public:
  FeedNode(Communicator& communicator, FeedOptions options)
      : Node("feed", type_info<ColumnBatch>()),
        communicator_(communicator),
        options_(std::move(options)) {
    Feeder feeder(communicator_, options_);
    pipeline_ = hash_but_for_shard(feeder.checkpoint());
    cardinality_ = feeder.cardinality();
  }

  std::string signature() const override {
    return fmt::format("feed(shares={}, pipeline={:016x})", options_.share.size, pipeline_);
  }
  Cardinality cardinality() const override { return cardinality_; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<FeedStage>(context, communicator_, options_);
  }

 private:
  Communicator& communicator_;
  const FeedOptions options_;
  std::uint64_t pipeline_ = 0;
  Cardinality cardinality_ = Cardinality::unknown();
};

}  // namespace

Dataset<ColumnBatch> fed_batches(Communicator& communicator, const FeedOptions& options) {
  FeedOptions kept = options;
  kept.resume = std::nullopt;
  kept.skip = 0;
  kept.stop = {};
  return Dataset<ColumnBatch>(std::make_shared<FeedNode>(communicator, std::move(kept)));
}

}  // namespace infeed
