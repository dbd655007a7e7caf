#include "train/fit_progress.h"

#include <fmt/format.h>
#include <utility>

#include "train/state_text.h"

namespace infeed::detail {
namespace {

std::string text_of(const Metrics& metrics) {
  std::string text =
      fmt::format("{} {} {}", metrics.examples, metrics.correct, exact_text(metrics.loss_sum));
  for (const NamedSum& own : metrics.sums) {
    text += fmt::format(" sum {} {}", own.name, exact_text(own.sum));
  }
  return text;
}

Metrics read_metrics(StateReader& reader) {
  Metrics metrics;
  metrics.examples = reader.integer();
  metrics.correct = reader.integer();
  metrics.loss_sum = reader.real();
  for (StateReader ahead = reader; ahead.word() == "sum"; ahead = reader) {
    reader.expect("sum");
    NamedSum own{.name = std::string(reader.word())};
    own.sum = reader.real();
    metrics.sums.push_back(std::move(own));
  }
  return metrics;
}

}  // namespace

std::string FitProgress::to_text() const {
  std::string text = fmt::format(
      "epoch {} step {} step_of_epoch {}\ntraining {}\ngroup {} {} {}\nrate_factor {}\norder "
      "{:016x}\n",
      epoch, step, step_of_epoch, text_of(training), group_batches, group_divisor, group_examples,
      exact_text(rate_factor), order_hash);
  for (const EpochLogs& logs : epochs) {
    text += fmt::format("logs {} {} {} {}", logs.epoch, logs.steps, exact_text(logs.rate),
                        text_of(logs.training));
    text += logs.validation ? fmt::format(" validation {}\n", text_of(*logs.validation)) : " end\n";
  }
  return text + "stop " + stop_reason;
}

FitProgress FitProgress::from_text(std::string_view text) {
  FitProgress progress;
  StateReader reader(text, "fit");
  const auto number = [&](std::string_view name) {
    reader.expect(name);
    return reader.integer();
  };
  progress.epoch = number("epoch");
  progress.step = number("step");
  progress.step_of_epoch = number("step_of_epoch");
  reader.expect("training");
  progress.training = read_metrics(reader);
  progress.group_batches = number("group");
  progress.group_divisor = reader.integer();
  progress.group_examples = reader.integer();
  reader.expect("rate_factor");
  progress.rate_factor = reader.real();
  reader.expect("order");
  progress.order_hash = reader.bits();
  for (std::string_view word = reader.word(); word != "stop"; word = reader.word()) {
    if (word != "logs") reader.refuse(word, "'logs' or 'stop'");
    EpochLogs logs;
    logs.epoch = reader.integer();
    logs.steps = reader.integer();
    logs.rate = reader.real();
    logs.training = read_metrics(reader);
    if (reader.word() == "validation") logs.validation = read_metrics(reader);
    progress.epochs.push_back(logs);
  }
  progress.stop_reason = reader.rest();
  return progress;
}

}  // namespace infeed::detail
