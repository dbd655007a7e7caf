// Draws random pipelines, runs them with infeed, and prints a line of JSON for each: {"pipeline":
// ..., "streams": [three iterations of it]}. test_pipelines.py runs the same with TensorFlow.
//
//   infeed_drawn_pipelines SEED COUNT ELEMENTS_MAX
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/drawn_pipeline.h"
#include "pipeline/drawn_pipeline_builder.h"
#include "pipeline/drawn_pipeline_model.h"
#include "pipeline/executors.h"
#include "pipeline/stream.h"

namespace infeed::test {
namespace {

/// Three iterations of one dataset, each on an executor of its own.
nlohmann::json run(const DrawnPipeline& drawn, const Executors& executors, RandomSource& random) {
  const auto dataset = build_pipeline(drawn, random.chance(0.5) ? random() | 1 : 0);
  nlohmann::json streams;
  for (int iteration = 0; iteration < 3; ++iteration) {
    streams.push_back(stream_of(dataset, {.executor = executors.any(random).executor}));
  }
  return streams;
}

/// Asks the model first: a drawn pipeline may be very long.
bool is_short(const DrawnPipeline& drawn, std::size_t elements_max) {
  std::size_t elements = 0;
  for (const std::uint64_t epoch : {0, 1, 2}) {
    elements = std::max(elements, model_of_pipeline(drawn, epoch).size());
  }
  return elements <= elements_max;
}

void print_pipelines(std::uint64_t seed, std::uint64_t count, std::size_t elements_max) {
  RandomSource random(seed);
  const Executors executors;
  while (count > 0) {
    const DrawnPipeline drawn = draw_pipeline(random, 7);
    if (!is_short(drawn, elements_max)) continue;
    const nlohmann::json line = {{"pipeline", nlohmann::json::parse(drawn.to_json())},
                                 {"streams", run(drawn, executors, random)}};
    std::cout << line.dump() << '\n';
    --count;
  }
}

}  // namespace
}  // namespace infeed::test

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: infeed_drawn_pipelines SEED COUNT ELEMENTS_MAX\n";
    return 2;
  }
  infeed::test::print_pipelines(std::stoull(argv[1]), std::stoull(argv[2]), std::stoull(argv[3]));
  return std::cout.flush() ? 0 : 1;
}
