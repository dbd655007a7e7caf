#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "infeed/feed.h"

namespace infeed {
namespace {

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
      // Those that a stage of the workers left out, which a resume must know of.
      run().counters().note_hidden_errors(feeder().checkpoint().errors);
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
    signature_ = feeder.checkpoint().signature;
    cardinality_ = feeder.cardinality();
  }

  std::string signature() const override { return {}; }
  std::vector<std::string> signature_elsewhere() const override { return signature_; }
  Cardinality cardinality() const override { return cardinality_; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<FeedStage>(context, communicator_, options_);
  }

 private:
  Communicator& communicator_;
  const FeedOptions options_;
  std::vector<std::string> signature_;  ///< that of the workers' pipeline
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
