// Draws random pipelines, runs them with infeed, and prints a line of JSON for each: {"pipeline":
// ..., "streams": [three iterations of it]}. test_pipelines.py runs the same with TensorFlow.
//
//   infeed_drawn_pipelines SEED COUNT ELEMENTS_MAX
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/drawn/drawn_pipeline_model.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"

namespace infeed::test {
namespace {

/// Takes three iterations of one dataset, each on its own executor.
nlohmann::json run(const DrawnPipeline& drawn, const Executors& executors, SeededRandom& random) {
  const auto dataset = build_pipeline(drawn, random.chance(0.5) ? random() | 1 : 0);
  nlohmann::json streams;
  for (int iteration = 0; iteration < 3; ++iteration) {
    streams.push_back(stream_of(dataset, {.executor = executors.any(random).executor}));
  }
  return streams;
}

void print_pipelines(std::uint64_t seed, std::uint64_t count, std::size_t elements_max) {
  SeededRandom random(seed);
  const Executors executors;
  for (; count > 0; --count) {
    // The model runs first: a drawn pipeline may be very long.
    const DrawnPipeline drawn = draw_modelled_pipeline(random, elements_max).drawn;
    const nlohmann::json line = {{"pipeline", nlohmann::json::parse(drawn.to_json())},
                                 {"streams", run(drawn, executors, random)}};
    std::cout << line.dump() << '\n';
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
