#include "train/replica_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

#include <infeed/device/all_reduce.h>
#include <infeed/error.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/executor.h>

#include "nn/variable_state.h"
#include "refuse.h"
#include "time/clock_units.h"

namespace infeed::detail {
namespace {

/// The most free bytes that a replica keeps for its next step; enough for a convnet's.
constexpr std::size_t kPoolBytesMax = std::size_t{512} << 20;

std::int32_t thread_count(const ReplicaStepsOptions& options) {
  const std::int32_t wanted = options.threads > 0 ? options.threads : usable_cores();
  const std::int32_t own = options.ranks ? options.ranks->own().count : options.replicas;
  return options.synchronised ? own : std::clamp(wanted, 1, own);
}

std::string text_of(float value) {
  return std::isnan(value) ? "nan" : value > 0 ? "infinity" : "-infinity";
}

/// Returns the first item that isn't finite; -1: none. Its exponent is all ones in each format.
template <typename Word>
std::int64_t first_not_finite(const Tensor& tensor, Word exponent) {
  const auto* const words = reinterpret_cast<const Word*>(tensor.data());
  const std::int64_t items = tensor.shape().items();
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t begin = 0; begin < items; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, items);
    bool found = false;
    for (std::int64_t i = begin; i < end; ++i) found |= (words[i] & exponent) == exponent;
    if (!found) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      if ((words[i] & exponent) == exponent) return i;
    }
  }
  return -1;
}

std::int64_t first_not_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::bfloat16:
      return first_not_finite<std::uint16_t>(tensor, 0x7F80);
    case DType::float16:
      return first_not_finite<std::uint16_t>(tensor, 0x7C00);
    case DType::float32:
      return first_not_finite<std::uint32_t>(tensor, 0x7F80'0000);
    case DType::float64:
      return first_not_finite<std::uint64_t>(tensor, 0x7FF0'0000'0000'0000);
    default:
      return -1;
  }
}

/// Returns the sum of losses [examples]; throws for the first one that isn't finite.
double checked_sum(const TapeValue& losses, std::int64_t examples, std::int64_t first_row) {
  if (losses.shape().rank() != 1 || losses.shape()[0] != examples) {
    refuse("the function gave losses {} for {} examples; expected one an example, [{}]",
           losses.shape().to_string(), examples, examples);
  }
  double sum = 0;
  for (std::int64_t i = 0; i < examples; ++i) {
    const float loss = losses.values()[static_cast<std::size_t>(i)];
    if (!std::isfinite(loss)) {
      refuse(
          "the loss of row {} of the batch is {}; the data is finite, so take a lower learning "
          "rate, or clip_norm",
          first_row + i, text_of(loss));
    }
    sum += loss;
  }
  return sum;
}

void check_output(const Shape& output, std::int64_t examples) {
  if (output.rank() >= 1 && output[0] == examples) return;
  refuse("the function gave {} for {} examples; expected a row an example, [{}, ...]",
         output.to_string(), examples, examples);
}

/// Throws for names with blanks: a checkpoint writes the names between blanks.
std::vector<NamedSum> checked_names(std::vector<NamedSum> sums) {
  for (const NamedSum& sum : sums) {
    if (!sum.name.empty() && sum.name.find_first_of(" \t\r\n") == std::string::npos) continue;
    refuse("a metric is named '{}'; take a name without blanks", sum.name);
  }
  return sums;
}

Gradients sum_of_gradients(std::span<ReplicaOutcome> replicas) {
  std::vector<Gradients> gradients;
  for (ReplicaOutcome& replica : replicas) gradients.push_back(std::move(replica.gradients));
  return sum_of_replicas(gradients);
}

/// Returns the mean, in replica order, over the replicas that have updates.
Updates mean_of_updates(std::span<const ReplicaOutcome> replicas) {
  Updates means;
  std::vector<int> counts;
  for (const ReplicaOutcome& replica : replicas) {
    for (const auto& [variable, value] : replica.updates) {
      const auto found = std::ranges::find(means, variable, &Updates::value_type::first);
      if (found == means.end()) {
        means.emplace_back(variable, Tensor::copy_of(value.shape(), value.values<float>()));
        counts.push_back(1);
        continue;
      }
      const std::span<float> sum = found->second.writable<float>();
      std::ranges::transform(sum, value.values<float>(), sum.begin(), std::plus<>());
      ++counts[static_cast<std::size_t>(found - means.begin())];
    }
  }
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto count = static_cast<float>(counts[i]);
    for (float& value : means[i].second.writable<float>()) value /= count;
  }
  return means;
}

std::uint64_t hash_of_rows(std::span<const ReplicaOutcome> replicas) {
  OrderHash hash;
  for (const ReplicaOutcome& replica : replicas) hash.add(replica.rows_hash);
  return hash.value();
}

}  // namespace

void check_finite(const ColumnBatch& share, std::int64_t first_row) {
  for (std::size_t i = 0; i < share.columns().size(); ++i) {
    const Column& column = share.columns()[i];
    if (!is_float(column.dtype())) continue;
    const std::int64_t item = first_not_finite(column.values());
    if (item < 0) continue;
    const std::int64_t per_row = std::max<std::int64_t>(
        column.rows() == 0 ? 1 : column.values().shape().items() / column.rows(), 1);
    if (column.kind() == Column::Kind::dense) {
      refuse(
          "column '{}' of row {} of the batch holds NaN or infinity at item {}; mend the data, or "
          "leave the row out with a filter",
          share.names()[i], first_row + item / per_row, item % per_row);
    }
    refuse(
        "column '{}' holds NaN or infinity at item {} of the share that begins at row {} of the "
        "batch; mend the data, or leave the row out with a filter",
        share.names()[i], item, first_row);
  }
}

const ColumnBatch& largest_share(std::span<const ColumnBatch> shares) {
  return *std::ranges::max_element(shares, {}, &ColumnBatch::rows);
}

Gradients sum_of_replicas(std::span<Gradients> replicas) {
  Gradients sums;
  for (Gradients& of_first : replicas) {
    for (auto& [variable, ignored] : of_first) {
      if (std::ranges::find(sums, variable, &Gradients::value_type::first) != sums.end()) continue;
      std::vector<Tensor*> tensors;
      for (Gradients& gradients : replicas) {
        const auto found = std::ranges::find(gradients, variable, &Gradients::value_type::first);
        if (found != gradients.end()) tensors.push_back(&found->second);
      }
      std::vector<float*> parts;
      for (Tensor* const tensor : tensors) {
        // An operation may return its own input's memory.
        parts.push_back(writable_values(*tensor).data());
      }
      tree_reduce(parts, 0, variable.shape().items());
      sums.emplace_back(variable, std::move(*tensors.front()));
    }
  }
  return sums;
}

void add_gradients(Gradients& sums, Gradients&& added) {
  std::array<Gradients, 2> both = {std::move(sums), std::move(added)};
  sums = sum_of_replicas(both);
}

void assign_all(const Updates& updates) {
  for (auto [variable, value] : updates) variable.assign(value);
}

std::int64_t rows_of(std::span<const ColumnBatch> shares) {
  std::int64_t rows = 0;
  for (const ColumnBatch& share : shares) rows += share.rows();
  return rows;
}

ReplicaSteps::ReplicaSteps(ReplicaStepsOptions options)
    : options_(std::move(options)), threads_(thread_count(options_)) {
  if (options_.synchronised && options_.replicas > 1) {
    if (threads_.threads() < options_.replicas) {
      throw Error(
          ErrorCode::resource_exhausted,
          fmt::format("synchronised replicas need a thread each, {}, and the system gave {}; "
                      "take a smaller slice, or allow more threads",
                      options_.replicas, threads_.threads()));
    }
    meeting_ = std::make_shared<ReplicaMeeting>(options_.replicas);
  }
  for (std::int32_t i = 0; i < options_.replicas; ++i) {
    pools_.emplace_back(TensorPoolOptions{.free_bytes_max = kPoolBytesMax});
  }
}

void ReplicaSteps::check_shares(std::span<const ColumnBatch> shares, std::int64_t number) const {
  if (std::ssize(shares) != options_.replicas) {
    refuse(
        "step {}: shares of {} replicas, and there are {}; distribute() the data by the strategy "
        "that trains on it",
        number + 1, shares.size(), options_.replicas);
  }
  const std::int64_t rows = rows_of(shares);
  if (rows == 0) refuse("step {}: the batch has no rows", number + 1);
  const bool is_even = std::ranges::all_of(
      shares, [&](const ColumnBatch& share) { return share.rows() == shares.front().rows(); });
  if (options_.even_shares_only && !is_even) {
    refuse(
        "step {}: a batch of {} rows isn't divisible by {} replicas; take a batch of a multiple of "
        "them with drop_remainder, or allow uneven shares",
        number + 1, rows, options_.replicas);
  }
}

std::function<void(const TapeOperation&)> ReplicaSteps::on_operation_of(std::int32_t replica,
                                                                        StepTrace* trace) const {
  if (!options_.on_operation && trace == nullptr) return {};
  return [this, replica, trace](const TapeOperation& operation) {
    if (trace != nullptr) trace->add(operation);
    if (options_.on_operation) options_.on_operation(replica, operation);
  };
}

TapeOptions ReplicaSteps::tape_options(std::int32_t replica, const Step& step, bool trains) const {
  TapeOptions options = options_.tape;
  options.training = trains;
  options.replica = replica;
  options.pool = pools_[static_cast<std::size_t>(replica)];
  options.on_operation = on_operation_of(replica, step.trace);
  options.step = static_cast<std::uint64_t>(step.number);
  options.collective = meeting_;
  return options;
}

ReplicaOutcome ReplicaSteps::run_replica(std::int32_t replica, const ReplicaFunction& forward,
                                         const ColumnBatch& share, std::int64_t first_row,
                                         const Step& step, bool trains) {
  check_finite(share, first_row);
  Tape tape(tape_options(replica, step, trains));
  const ReplicaResult result = forward(tape, share);
  if (step.trace != nullptr) step.trace->end(result.losses);
  ReplicaOutcome mine{.metrics = {.examples = share.rows(),
                                  .correct = result.correct,
                                  .loss_sum = checked_sum(result.losses, share.rows(), first_row),
                                  .sums = checked_names(result.sums)},
                      .rows_hash = step.hashes_rows ? share.hash() : 0};
  if (!trains) return mine;
  const TapeValue loss = nn::average_loss(tape, result.losses, step.divisor);
  mine.gradients = tape.gradients(loss, step.loss_scale ? step.loss_scale->scale() : 1);
  if (step.loss_scale) step.loss_scale->unscale(mine.gradients);
  mine.updates = tape.updates();
  return mine;
}

void ReplicaSteps::on_replicas(const std::vector<std::int32_t>& replicas, std::int64_t number,
                               const std::function<void(std::int32_t replica)>& task) {
  if (meeting_) meeting_->begin(replicas);
  threads_.run(static_cast<std::int32_t>(replicas.size()), [&](std::int32_t i) {
    const std::int32_t replica = replicas[static_cast<std::size_t>(i)];
    try {
      task(replica);
      if (meeting_) meeting_->leave();
    } catch (const ReplicaMeeting::Ended&) {
      // Another replica's error is thrown for the step.
    } catch (const Error& error) {
      if (meeting_) meeting_->give_up();
      throw error.reworded(error.code(), fmt::format("step {}, replica {}: {}", number + 1, replica,
                                                     error.message()));
    } catch (...) {
      if (meeting_) meeting_->give_up();
      throw;
    }
  });
}

void ReplicaSteps::on_shares(
    std::span<const ColumnBatch> shares, std::int64_t number,
    const std::function<void(std::int32_t replica, std::int64_t first_row)>& task) {
  std::vector<std::int32_t> with_rows;  // the others contribute nothing
  for (std::int32_t r = own().first; r < own().end(); ++r) {
    if (shares[static_cast<std::size_t>(r)].rows() > 0) with_rows.push_back(r);
  }
  on_replicas(with_rows, number, [&](std::int32_t replica) {
    task(replica, rows_of(shares.first(static_cast<std::size_t>(replica))));
  });
}

std::vector<ReplicaOutcome> ReplicaSteps::run(const ReplicaFunction& forward,
                                              std::span<const ColumnBatch> shares, const Step& step,
                                              bool trains) {
  std::vector<ReplicaOutcome> replicas(shares.size());
  const auto traced = static_cast<std::int32_t>(&largest_share(shares) - shares.data());
  on_shares(shares, step.number, [&](std::int32_t replica, std::int64_t first_row) {
    const auto r = static_cast<std::size_t>(replica);
    Step of_replica = step;
    if (replica != traced) of_replica.trace = nullptr;
    replicas[r] = run_replica(replica, forward, shares[r], first_row, of_replica, trains);
  });
  return replicas;
}

ReplicaSteps::Outcome ReplicaSteps::train(const ReplicaFunction& forward,
                                          std::span<const ColumnBatch> shares, const Step& step) {
  const std::int64_t begin_ns = monotonic_ns();
  std::vector<ReplicaOutcome> replicas = run(forward, shares, step, true);
  const std::int64_t computed_ns = monotonic_ns();
  Outcome outcome{.compute_ns = computed_ns - begin_ns};
  outcome.gradients =
      options_.ranks ? options_.ranks->share(replicas, step.number) : sum_of_gradients(replicas);
  for (const ReplicaOutcome& replica : replicas) outcome.metrics += replica.metrics;
  outcome.updates = mean_of_updates(replicas);
  if (step.hashes_rows) outcome.rows_hash = hash_of_rows(replicas);
  outcome.reduce_ns = monotonic_ns() - computed_ns;
  return outcome;
}

Metrics ReplicaSteps::evaluate(const ReplicaFunction& forward, std::span<const ColumnBatch> shares,
                               std::int64_t number) {
  std::vector<ReplicaOutcome> replicas = run(forward, shares, {.number = number}, false);
  if (options_.ranks) options_.ranks->share(replicas, number);
  Metrics sum;
  for (const ReplicaOutcome& replica : replicas) sum += replica.metrics;
  return sum;
}

std::vector<Tensor> ReplicaSteps::predict(const PredictFunction& forward,
                                          std::span<const ColumnBatch> shares,
                                          std::int64_t number) {
  std::vector<std::optional<Tensor>> found(shares.size());
  on_shares(shares, number, [&](std::int32_t replica, std::int64_t first_row) {
    const auto r = static_cast<std::size_t>(replica);
    check_finite(shares[r], first_row);
    Tape tape(tape_options(replica, {.number = number}, false));
    found[r] = forward(tape, shares[r]).tensor();
    check_output(found[r]->shape(), shares[r].rows());
  });
  std::vector<Tensor> outputs;
  for (std::optional<Tensor>& output : found) {
    if (output) outputs.push_back(std::move(*output));
  }
  return outputs;
}

void ReplicaSteps::each(const OnReplica& function, std::span<const ColumnBatch> shares,
                        std::int64_t number) {
  std::vector<std::int32_t> all(shares.size());
  std::iota(all.begin(), all.end(), 0);
  on_replicas(all, number, [&](std::int32_t replica) {
    Tape tape(tape_options(replica, {.number = number}, false));
    function(replica, tape, shares[static_cast<std::size_t>(replica)]);
  });
}

void ReplicaSteps::alone(const std::function<void(Tape& tape)>& function, std::int32_t replica,
                         std::int32_t device, std::int64_t number) {
  TapeOptions options = tape_options(replica, {.number = number}, false);
  options.collective = nullptr;
  Tape tape(std::move(options));
  tape.set_device(device);
  function(tape);
}

}  // namespace infeed::detail
