#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <infeed/communicator.h>
#include <infeed/error.h>
#include <infeed/feed.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/records/file.h>
#include <infeed/records/output_file.h>
#include <infeed/world.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/stop_on_signal.h"
#include "cli/terminal.h"
#include "feed/open_fed.h"
#include "profile/described_pipeline.h"
#include "train/train_ranks.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct FeedArguments {
  std::string pipeline_file;
  std::int64_t take = 0;  ///< batches; 0: a worker
  std::uint64_t range_steps = 8;
  std::uint64_t ranges_ahead = 2;
  std::uint64_t epoch = 0;
  std::string json_file;
};

/// The figures of a trainer that only takes.
struct Taken {
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;
  OrderHash hash;
  double seconds = 0;
};

/// Takes batches, and computes for step_us on each as a training step would.
Taken take(Feeder& feeder, const FeedArguments& arguments, const DescribedPipeline& pipeline,
           const std::stop_token& stop) {
  const auto step = std::chrono::microseconds(pipeline.step_us);
  Taken taken;
  const Clock::time_point begin = Clock::now();
  while (taken.batches < static_cast<std::uint64_t>(arguments.take)) {
    const std::optional<ColumnBatch> batch = feeder.next();
    if (!batch) break;
    ++taken.batches;
    taken.bytes += batch->bytes();
    taken.hash.add(batch->hash());
    if (!sleep_until(Clock::now() + step, stop)) throw_if_stopped(stop, "all batches were taken");
  }
  taken.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return taken;
}

std::string_view text_of(FedWorkerState state) {
  switch (state) {
    case FedWorkerState::answers:
      return "answers";
    case FedWorkerState::silent:
      return "silent";
    default:
      return "failed";
  }
}

nlohmann::ordered_json json_of(const Taken& taken, const std::vector<FedWorker>& workers) {
  nlohmann::ordered_json json = {{"schema", "infeed.feed"},
                                 {"schema_version", 1},
                                 {"infeed_version", INFEED_VERSION},
                                 {"batches", taken.batches},
                                 {"bytes", taken.bytes},
                                 {"seconds", taken.seconds},
                                 {"order_hash", fmt::format("{:016x}", taken.hash.value())},
                                 {"workers", nlohmann::ordered_json::array()}};
  for (const FedWorker& worker : workers) {
    json["workers"].push_back({{"rank", worker.rank},
                               {"state", text_of(worker.state)},
                               {"steps", worker.steps},
                               {"late", worker.late},
                               {"ranges_replaced", worker.ranges_replaced},
                               {"failure", worker.failure}});
  }
  return json;
}

void print(const Taken& taken, const std::vector<FedWorker>& workers) {
  Terminal terminal(stdout);
  terminal.line(
      fmt::format("{} batches in {:.2f} s: {:.1f} a second, {:.1f} MB/s; order {:016x}",
                  taken.batches, taken.seconds, static_cast<double>(taken.batches) / taken.seconds,
                  static_cast<double>(taken.bytes) / 1e6 / taken.seconds, taken.hash.value()));
  for (const FedWorker& worker : workers) {
    std::string line = fmt::format("  rank {} made {}", worker.rank, worker.steps);
    if (worker.ranges_replaced > 0) {
      line += fmt::format("; {} of its ranges were given to others", worker.ranges_replaced);
    }
    if (worker.late > 0) line += fmt::format("; {} answers came late", worker.late);
    if (worker.state != FedWorkerState::answers) {
      line +=
          fmt::format("; it {}{}{}", worker.state == FedWorkerState::silent ? "is " : "has ",
                      text_of(worker.state), worker.failure.empty() ? "" : ": " + worker.failure);
    }
    terminal.line(line);
  }
}

/// Ends the job if a worker is silent, for which the end of MPI would wait for ever.
void end_with_silent(Communicator& ranks, const std::vector<FedWorker>& workers) {
  for (const FedWorker& worker : workers) {
    if (worker.state != FedWorkerState::silent) continue;
    std::fflush(stdout);
    ranks.abort(fmt::format("all batches were taken, but rank {} is silent, so it must be ended",
                            worker.rank));
  }
}

void run_feed(const FeedArguments& arguments, const std::stop_token& stop) {
  const bool is_worker = arguments.take == 0;
  std::optional<DescribedPipeline> pipeline;
  if (!is_worker) {
    pipeline = DescribedPipeline::parse(read_stream(arguments.pipeline_file, stop),
                                        arguments.pipeline_file);
  }
  record_by_rank(detect_world().world, is_worker ? "feed" : "rank");
  const std::unique_ptr<Communicator> ranks = mpi_communicator();
  const FeedRoles roles = gather_roles(*ranks, is_worker);
  if (roles.workers.empty() || roles.trainers.empty()) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("of the {} ranks {} make batches and {} take them; start both in one job: "
                    "mpirun -n 1 infeed feed --pipeline FILE --take 1000 : -n 2 infeed feed",
                    ranks->world().size, roles.workers.size(), roles.trainers.size()));
  }
  if (is_worker) {
    serve_steps(*ranks, &open_fed, {.trainers = roles.trainers, .stop = stop});
    return;
  }
  Feeder feeder(*ranks, {.workers = roles.workers,
                         .pipeline = pipeline->description.to_json(),
                         .range_steps = arguments.range_steps,
                         .ranges_ahead = arguments.ranges_ahead,
                         .epoch = arguments.epoch,
                         .stop = stop});
  const Taken taken = take(feeder, arguments, *pipeline, stop);
  dismiss_workers(*ranks, roles.workers);
  print(taken, feeder.workers());
  if (!arguments.json_file.empty()) {
    replace_file(arguments.json_file, json_text(json_of(taken, feeder.workers())),
                 Durability::leave_to_system);
  }
  end_with_silent(*ranks, feeder.workers());
}

}  // namespace

Command add_feed_command(CLI::App& app) {
  const auto options = std::make_shared<FeedArguments>();
  CLI::App* const command = app.add_subcommand(
      "feed", "Make the batches of the trainers of the same MPI job, in ranks of their own");
  auto* const pipeline = command
                             ->add_option("--pipeline", options->pipeline_file,
                                          "The pipeline in JSON whose batches are taken")
                             ->type_name("FILE");
  auto* const take =
      command
          ->add_option(
              "--take", options->take,
              "Take so many batches that the other ranks make, and say how quickly they came")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
          ->needs(pipeline);
  pipeline->needs(take);
  command->add_option("--range-steps", options->range_steps, "Batches that are asked for at once")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--ranges-ahead", options->ranges_ahead,
                   "Ranges that each rank is asked for ahead")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command->add_option("--epoch", options->epoch, "Number of the pass, which keys shuffles")
      ->capture_default_str();
  command->add_option("--json", options->json_file, "Write the figures to this file")
      ->type_name("FILE");
  command->footer(
      "Example: mpirun -n 1 infeed feed --pipeline p.json --take 1000 : -n 2 infeed feed\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { run_feed(*options, stop); }};
}

}  // namespace infeed::tools
