// Draws random pipelines, runs them with infeed, and prints a line of JSON for each: {"pipeline":
// ..., "streams": [three iterations of it], "self_check_differences": [{"what": " | skip(3)",
// "stream": ..., "expected": what skip(3) makes of the first iteration's list}]}. test_pipelines.py
// runs the same with TensorFlow.
//
//   infeed_drawn_pipelines SEED COUNT ELEMENTS_MAX
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/drawn/drawn_pipeline_checks.h"
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

/// Compares the results of a list with those of the pipeline.
nlohmann::json self_checks(const DrawnPipeline& drawn, const Stream& list,
                           const Executors& executors, SeededRandom& random) {
  nlohmann::json differences = nlohmann::json::array();
  for (const Difference& found : differences_from_list(drawn, list, executors, random)) {
    differences.push_back(
        {{"what", found.what}, {"stream", found.stream}, {"expected", found.expected}});
  }
  return differences;
}

void print_pipelines(std::uint64_t seed, std::uint64_t count, std::size_t elements_max) {
  SeededRandom random(seed);
  const Executors executors;
  for (; count > 0; --count) {
    // The model runs first: a drawn pipeline may be very long.
    const DrawnPipeline drawn = draw_case(random, elements_max).drawn;
    const nlohmann::json streams = run(drawn, executors, random);
    const nlohmann::json line = {
        {"pipeline", nlohmann::json::parse(drawn.to_json())},
        {"streams", streams},
        {"self_check_differences", self_checks(drawn, streams.front(), executors, random)}};
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
