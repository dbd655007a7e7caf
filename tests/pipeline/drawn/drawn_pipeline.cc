#include "pipeline/drawn/drawn_pipeline.h"

#include <fmt/format.h>
#include <functional>
#include <utility>

namespace infeed::test {
namespace {

using Parameters = std::map<std::string, std::int64_t>;
using Draw = std::function<Parameters(SeededRandom&)>;

Parameters congruence(SeededRandom& random) {
  const std::int64_t modulus = random.between(2, 9);
  return {{"modulus", modulus}, {"residue", random.between(0, modulus - 1)}};
}

std::int64_t parallelism(SeededRandom& random) {
  return random.chance(0.3) ? random.between(2, 4) : 1;
}

const std::vector<std::pair<std::string, Draw>>& stage_draws() {
  static const std::vector<std::pair<std::string, Draw>> draws = {
      {"map",
       [](SeededRandom& r) {
         return Parameters{{"multiply", r.between(-3, 30)},
                           {"add", r.between(-50, 50)},
                           {"parallelism", parallelism(r)}};
       }},
      {"map_fails",
       [](SeededRandom& r) {
         Parameters parameters = congruence(r);
         parameters["parallelism"] = parallelism(r);
         return parameters;
       }},
      {"filter", congruence},
      {"filter_fails", congruence},
      {"take_while",
       [](SeededRandom& r) {
         const std::int64_t modulus = r.between(20, 200);
         return Parameters{{"modulus", modulus}, {"residue", r.between(0, modulus - 1)}};
       }},
      {"scan", [](SeededRandom&) { return Parameters{}; }},
      {"enumerate",
       [](SeededRandom& r) {
         return Parameters{{"start", r.between(-5, 5)}};
       }},
      {"take",
       [](SeededRandom& r) {
         return Parameters{{"count", r.chance(0.2) ? r.between(60, 400) : r.between(-1, 60)}};
       }},
      {"skip",
       [](SeededRandom& r) {
         if (r.chance(0.02)) return Parameters{{"count", -1}};
         return Parameters{{"count", r.between(0, r.chance(0.2) ? 400 : 30)}};
       }},
      {"shard",
       [](SeededRandom& r) {
         const std::int64_t count = r.chance(0.1) ? r.between(65, 300) : r.between(1, 4);
         return Parameters{{"count", count}, {"index", r.between(0, count - 1)}};
       }},
      {"repeat",
       [](SeededRandom& r) {
         return Parameters{{"count", r.between(0, 3)}};
       }},
      {"repeat_take",
       [](SeededRandom& r) {
         return Parameters{{"count", r.between(0, 200)}};
       }},
      {"shuffle",
       [](SeededRandom& r) {
         return Parameters{{"buffer", r.chance(0.3) ? r.between(1, 400) : r.between(1, 12)},
                           {"seed", r.between(0, 1000)},
                           {"reshuffle", r.between(0, 1)}};
       }},
      {"batch",
       [](SeededRandom& r) {
         return Parameters{{"size", r.between(1, 7)}, {"drop_remainder", r.between(0, 1)}};
       }},
      {"batch_unbatch",
       [](SeededRandom& r) {
         return Parameters{{"size", r.between(1, 300)}, {"drop_remainder", r.between(0, 1)}};
       }},
      {"window",
       [](SeededRandom& r) {
         return Parameters{{"size", r.between(1, 5)},
                           {"shift", r.between(1, 6)},
                           {"stride", r.between(1, 3)},
                           {"drop_remainder", r.between(0, 1)}};
       }},
      {"flat_map",
       [](SeededRandom& r) {
         return Parameters{{"modulus", r.between(1, 5)}};
       }},
      {"interleave",
       [](SeededRandom& r) {
         const std::int64_t cycle_length = r.between(1, 5);
         return Parameters{{"modulus", r.between(1, 6)},
                           {"cycle_length", cycle_length},
                           {"block_length", r.between(1, 3)},
                           {"parallelism", r.chance(0.3) ? r.between(1, cycle_length) : 1}};
       }},
      {"unique", [](SeededRandom&) { return Parameters{}; }},
      {"skip_errors", [](SeededRandom&) { return Parameters{}; }},
      {"cache", [](SeededRandom&) { return Parameters{}; }},
      {"prefetch",
       [](SeededRandom& r) {
         return Parameters{{"depth", r.chance(0.3) ? -1 : r.between(1, 20)}};
       }},
      {"concatenate", [](SeededRandom&) { return Parameters{}; }},
      {"zip", [](SeededRandom&) { return Parameters{}; }},
  };
  return draws;
}

DrawnStage draw_source(SeededRandom& random) {
  const std::int64_t count = random.chance(0.1)   ? random.between(0, 2)
                             : random.chance(0.2) ? random.between(250, 600)
                                                  : random.between(3, 60);
  if (random.chance(0.5)) {
    return {.op = "range",
            .parameters = {{"count", count},
                           {"start", random.between(-20, 20)},
                           {"step", random.chance(0.5) ? 1 : random.between(1, 5) * 2 - 5}}};
  }
  Parameters parameters = congruence(random);
  if (random.chance(0.5)) parameters["modulus"] *= 20;
  parameters["count"] = count;
  return {.op = "failing_range", .parameters = std::move(parameters)};
}

}  // namespace

std::vector<std::string> drawn_operations() {
  std::vector<std::string> names = {"range", "failing_range"};
  for (const auto& [name, draw] : stage_draws()) names.push_back(name);
  return names;
}

DrawnPipeline draw_pipeline(SeededRandom& random, int stages_max) {
  DrawnPipeline pipeline;
  pipeline.stages.push_back(draw_source(random));
  for (std::int64_t left = random.between(0, stages_max); left > 0; --left) {
    const auto& [op, draw] = stage_draws()[random.below(stage_draws().size())];
    DrawnStage stage{.op = op, .parameters = draw(random)};
    if (op == "concatenate" || op == "zip")
      stage.other = draw_pipeline(random, stages_max / 2).stages;
    pipeline.stages.push_back(std::move(stage));
  }
  return pipeline;
}

std::string DrawnPipeline::to_json() const {
  std::string text;
  for (const DrawnStage& stage : stages) {
    text += fmt::format("{}{{\"op\": \"{}\"", text.empty() ? "" : ", ", stage.op);
    for (const auto& [name, value] : stage.parameters)
      text += fmt::format(", \"{}\": {}", name, value);
    if (!stage.other.empty()) text += ", \"other\": " + DrawnPipeline{stage.other}.to_json();
    text += "}";
  }
  return "{\"stages\": [" + text + "]}";
}

}  // namespace infeed::test
