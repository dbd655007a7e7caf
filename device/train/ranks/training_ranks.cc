#include "train/ranks/training_ranks.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/detail/meet_before_throwing.h>

#include "refuse.h"
#include "train/ranks/step_bytes.h"

namespace infeed::detail {
namespace {

/// The first byte of each message.
constexpr char kWell = 'w';
constexpr char kFailed = 'f';

/// Lets others have the mutex for a while.
class Released {
 public:
  explicit Released(std::mutex& held) : held_(held) { held_.unlock(); }
  ~Released() { held_.lock(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  std::mutex& held_;
};

std::string bytes_of(const StepIntent& intent) {
  StepWriter writer;
  writer.number(intent.start);
  writer.number(intent.step);
  writer.number(intent.order_hash);
  writer.number(intent.rate_factor);
  writer.text(intent.stop_reason);
  writer.number<std::uint64_t>(intent.callbacks.size());
  for (const NamedBytes& callback : intent.callbacks) {
    writer.text(callback.name);
    writer.text(callback.bytes);
  }
  return writer.take();
}

StepIntent intent_of(std::string_view bytes) {
  StepReader reader(bytes);
  StepIntent intent;
  intent.start = reader.number<StepStart>();
  intent.step = reader.number<std::int64_t>();
  intent.order_hash = reader.number<std::uint64_t>();
  intent.rate_factor = reader.number<double>();
  intent.stop_reason = reader.text();
  for (auto left = reader.number<std::uint64_t>(); left > 0; --left) {
    NamedBytes& callback = intent.callbacks.emplace_back();
    callback.name = reader.text();
    callback.bytes = reader.text();
  }
  return intent;
}

std::string text_of(const StepIntent& intent) {
  if (intent.start == StepStart::end_of_data) {
    return fmt::format("has no batch behind step {}", intent.step);
  }
  return fmt::format("begins step {} with the order hash {:016x}", intent.step + 1,
                     intent.order_hash);
}

/// Returns how the ranks' batches differ; empty if all do the same with the same batches.
std::string difference_of(const std::vector<StepIntent>& all) {
  const StepIntent& chief = all.front();
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const StepIntent& other = all[rank];
    if (other.start == chief.start && other.step == chief.step &&
        other.order_hash == chief.order_hash) {
      continue;
    }
    return fmt::format("rank {} {}, and rank 0 {}", rank, text_of(other), text_of(chief));
  }
  return {};
}

void write_metrics(StepWriter& writer, const Metrics& metrics) {
  writer.number(metrics.examples);
  writer.number(metrics.correct);
  writer.number(metrics.loss_sum);
  writer.number<std::uint64_t>(metrics.sums.size());
  for (const NamedSum& sum : metrics.sums) {
    writer.text(sum.name);
    writer.number(sum.sum);
  }
}

Metrics read_metrics(StepReader& reader) {
  Metrics metrics;
  metrics.examples = reader.number<std::int64_t>();
  metrics.correct = reader.number<std::int64_t>();
  metrics.loss_sum = reader.number<double>();
  for (auto left = reader.number<std::uint64_t>(); left > 0; --left) {
    NamedSum sum{.name = std::string(reader.text())};
    sum.sum = reader.number<double>();
    metrics.sums.push_back(std::move(sum));
  }
  return metrics;
}

}  // namespace

TrainingRanks::TrainingRanks(Communicator& ranks, std::int32_t replicas,
                             std::vector<Variable> variables)
    : ranks_(ranks),
      replicas_(replicas),
      own_(replicas_of_rank(replicas, ranks.world())),
      variables_(std::move(variables)) {
  if (world().size > replicas) {
    refuse(
        "{} ranks for the {} replicas of the slice: a rank would have none; start as many ranks as "
        "there are replicas, or fewer, or take a larger slice",
        world().size, replicas);
  }
}

template <class Exchange>
auto TrainingRanks::together(const Exchange& exchange) {
  try {
    const Released meanwhile(working_);
    return exchange();
  } catch (const RankLost& lost) {
    has_lost_chief_ = lost.rank() == 0;
    is_over_ = has_lost_others_ = true;
    throw;
  } catch (...) {
    is_over_ = has_lost_others_ = true;
    throw;
  }
}

std::vector<std::string> TrainingRanks::gather(std::string_view purpose, std::string_view bytes) {
  std::vector<std::string> all =
      together([&] { return all_gather(ranks_, kWell + std::string(bytes), purpose); });
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty() || all[rank].front() != kFailed) continue;
    is_over_ = true;
    has_lost_others_ = true;
    meet_before_throwing();
    StepReader reader(std::string_view(all[rank]).substr(1));
    const auto code = reader.number<ErrorCode>();
    throw Error(
        code, fmt::format("rank {} {}: {}", rank,
                          code == ErrorCode::cancelled ? "was stopped" : "failed", reader.text()));
  }
  for (std::string& text : all) text.erase(0, 1);
  return all;
}

void TrainingRanks::tell_failure(const Error& error) noexcept {
  if (std::exchange(is_over_, true)) return;
  try {
    StepWriter writer;
    writer.number(kFailed);
    writer.number(error.code());
    std::string text = error.message();
    if (!error.file().empty()) text += fmt::format(" [file {}]", error.file());
    writer.text(text);
    const Released meanwhile(working_);
    all_gather(ranks_, writer.take(), "a failure of this rank");
  } catch (...) {
    // The error of this rank is the one to report.
  }
  meet_before_throwing();
}

void TrainingRanks::meet_before_throwing() noexcept {
  const Released meanwhile(working_);
  detail::meet_before_throwing(ranks_, "an error that all ranks know");
}

void TrainingRanks::require_equal(std::string_view name, std::string_view value) {
  gather(name, {});  // a rank that has failed has no value
  is_over_ = true;   // a difference is thrown at all ranks
  const Released meanwhile(working_);
  infeed::require_equal(ranks_, name, value);
  is_over_ = false;
}

StepIntent TrainingRanks::agree(const StepIntent& own) {
  std::vector<StepIntent> all;
  for (const std::string& bytes :
       gather(fmt::format("the begin of step {}", own.step + 1), bytes_of(own))) {
    all.push_back(intent_of(bytes));
  }
  StepIntent agreed = all.front();
  if (!is_chief()) callbacks_of_chief_ = agreed.callbacks;
  if (agreed.start == StepStart::ended) return agreed;
  const bool is_stopped = std::ranges::any_of(
      all, [](const StepIntent& intent) { return intent.start == StepStart::stopped; });
  if (is_stopped) {
    gather("the stop of all", {});  // the deputy comes when it doesn't save any more
    agreed.start = StepStart::stopped;
    return agreed;
  }
  const std::string difference = difference_of(all);
  if (difference.empty()) return agreed;
  is_over_ = true;
  meet_before_throwing();
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the ranks don't read the same batches: {}; all must have the same files "
                          "and the same pipeline, with seeds that are given",
                          difference));
}

std::size_t TrainingRanks::number_of(const Variable& variable) const {
  const auto found = std::ranges::find(variables_, variable);
  if (found == variables_.end()) {
    refuse(
        "the function trains a variable {} that the training's scope didn't hold at the start; on "
        "several ranks make all variables before fit()",
        variable.name());
  }
  return static_cast<std::size_t>(found - variables_.begin());
}

HasGradient TrainingRanks::gradients_of(const ReplicaOutcome& outcome) const {
  HasGradient has(variables_.size(), false);
  for (const auto& [variable, gradient] : outcome.gradients) has[number_of(variable)] = true;
  return has;
}

std::string TrainingRanks::outcomes_of_own(std::span<const ReplicaOutcome> replicas) const {
  StepWriter writer;
  for (std::int32_t replica = own_.first; replica < own_.end(); ++replica) {
    const ReplicaOutcome& outcome = replicas[static_cast<std::size_t>(replica)];
    write_metrics(writer, outcome.metrics);
    writer.number(outcome.rows_hash);
    writer.number<std::uint64_t>(outcome.gradients.size());
    for (const auto& [variable, gradient] : outcome.gradients) {
      writer.number(static_cast<std::uint32_t>(number_of(variable)));
    }
    writer.number<std::uint64_t>(outcome.updates.size());
    for (const auto& [variable, value] : outcome.updates) {
      writer.number(static_cast<std::uint32_t>(number_of(variable)));
      writer.floats(value.values<float>());
    }
  }
  return writer.take();
}

void TrainingRanks::read_outcomes(std::string_view bytes, const ReplicaRange& range,
                                  std::span<ReplicaOutcome> replicas,
                                  std::vector<HasGradient>& has) const {
  StepReader reader(bytes);
  for (std::int32_t replica = range.first; replica < range.end(); ++replica) {
    const auto r = static_cast<std::size_t>(replica);
    replicas[r].metrics = read_metrics(reader);
    replicas[r].rows_hash = reader.number<std::uint64_t>();
    for (auto left = reader.number<std::uint64_t>(); left > 0; --left) {
      has[r].at(reader.number<std::uint32_t>()) = true;
    }
    for (auto left = reader.number<std::uint64_t>(); left > 0; --left) {
      const Variable& variable = variables_.at(reader.number<std::uint32_t>());
      Tensor value(DType::float32, variable.shape());
      reader.floats(value.writable<float>());
      replicas[r].updates.emplace_back(variable, std::move(value));
    }
  }
}

Gradients TrainingRanks::share(std::span<ReplicaOutcome> replicas, std::int64_t step) {
  const std::string purpose = fmt::format("step {}", step + 1);
  const std::vector<std::string> all = gather(purpose, outcomes_of_own(replicas));
  std::vector<HasGradient> has(replicas.size(), HasGradient(variables_.size(), false));
  std::vector<Gradients> gradients;
  for (int rank = 0; rank < world().size; ++rank) {
    const ReplicaRange range = replicas_of_rank(replicas_, {.rank = rank, .size = world().size});
    if (rank != world().rank) {
      read_outcomes(all[static_cast<std::size_t>(rank)], range, replicas, has);
      continue;
    }
    for (std::int32_t replica = range.first; replica < range.end(); ++replica) {
      const auto r = static_cast<std::size_t>(replica);
      has[r] = gradients_of(replicas[r]);
      gradients.push_back(std::move(replicas[r].gradients));
    }
  }
  return together([&] {
    return sum_of_ranks(ranks_, {.replicas = replicas_, .pool = pool_}, variables_, has, gradients,
                        purpose);
  });
}

}  // namespace infeed::detail
