#include "train/train_ablation.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <infeed/error.h>

namespace infeed::tools {

namespace {

struct NamedTrick {
  const char* name;
  const char* name_of_all_but;  ///< short enough for the table
  bool Tricks::*trick;
};
constexpr std::array kTricks = {
    NamedTrick{"parallel interleave", "all but interleave", &Tricks::parallel_interleave},
    NamedTrick{"parallel map", "all but map", &Tricks::parallel_map},
    NamedTrick{"cache", "all but cache", &Tricks::cache},
    NamedTrick{"prefetch", "all but prefetch", &Tricks::prefetch}};

double rate_of(const std::vector<MeasuredRun>& runs, std::string_view name) {
  return std::ranges::find(runs, name, &MeasuredRun::name)->summary.examples_per_s;
}

}  // namespace

std::vector<Variant> ablation_variants() {
  std::vector<Variant> variants = {{"naive", {}}};
  for (const NamedTrick& named : kTricks) {
    variants.push_back({named.name, {}});
    variants.back().tricks.*named.trick = true;
  }
  for (const NamedTrick& named : kTricks) {
    variants.push_back({named.name_of_all_but, Tricks::all()});
    variants.back().tricks.*named.trick = false;
  }
  variants.push_back({"all, by hand", Tricks::all_by_hand()});
  variants.push_back({"all of them", Tricks::all()});
  return variants;
}

std::vector<TrickGain> trick_gains(const std::vector<MeasuredRun>& runs) {
  std::vector<TrickGain> gains;
  for (const NamedTrick& named : kTricks) {
    gains.push_back({.name = named.name,
                     .alone = rate_of(runs, named.name) / rate_of(runs, "naive"),
                     .last = rate_of(runs, "all of them") / rate_of(runs, named.name_of_all_but)});
  }
  return gains;
}

std::vector<Variant> outer_variants() {
  const std::vector<Variant> all = ablation_variants();
  return {all.front(), all.back()};
}

MeasuredRun measure(const Slice& slice, const Variant& variant, const PipelineOptions& pipeline,
                    const MeasureOptions& options) {
  const Batches batches = feeding_pipeline(pipeline, variant.tricks);
  const auto iterator =
      std::make_shared<Iterator<Batch<Example>>>(batches.iterate({.executor = options.executor}));
  std::vector<std::int64_t> service_ps;
  const PacedResult result = run_paced(
      slice, batch_source(iterator),
      {.step = options.step,
       .duration = options.duration,
       .warmup_steps = options.warmup_steps,
       .stop = options.stop,
       .on_service = [&](std::int64_t service_ns) { service_ps.push_back(1000 * service_ns); }});
  if (result.end == RunEnd::cancelled) throw Error(ErrorCode::cancelled, "stopped");
  return {.name = variant.name,
          .summary = result.summary,
          .tuning = iterator->tuning(),
          .service_ps = std::move(service_ps)};
}

namespace {

MeasuredRun middle_of(std::vector<MeasuredRun> turns) {
  std::vector<double> rates;
  for (const MeasuredRun& turn : turns) rates.push_back(turn.summary.examples_per_s);
  std::ranges::sort(turns, {}, [](const MeasuredRun& turn) { return turn.summary.examples_per_s; });
  MeasuredRun middle = std::move(turns[turns.size() / 2]);
  middle.examples_per_s_turns = std::move(rates);
  return middle;
}

}  // namespace

std::vector<MeasuredRun> measure_by_turns(const Slice& slice, const std::vector<Variant>& variants,
                                          const PipelineOptions& pipeline, MeasureOptions options,
                                          const TurnCallbacks& callbacks) {
  options.duration /= kTurns;
  std::vector<std::vector<MeasuredRun>> turns(variants.size());
  std::vector<MeasuredRun> rows;
  for (int turn = 1; turn <= kTurns; ++turn) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      callbacks.on_begin(variants[i], turn);
      turns[i].push_back(measure(slice, variants[i], pipeline, options));
      if (turn < kTurns) continue;
      rows.push_back(middle_of(std::move(turns[i])));
      callbacks.on_row(rows.back());
    }
  }
  return rows;
}

}  // namespace infeed::tools
