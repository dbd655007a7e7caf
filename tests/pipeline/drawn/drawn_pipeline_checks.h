#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"

/// Checks of a drawn pipeline that need no second implementation: its stream is a list, and a stage
/// behind it must treat it like that list.
namespace infeed::test {

/// A drawn pipeline and three iterations of it.
struct Case {
  DrawnPipeline drawn;
  std::vector<Stream> streams;
};

/// Draws a pipeline that has streams (model_unless_all_fails), none longer than `elements_max`.
Case draw_case(SeededRandom& random, std::size_t elements_max);

struct Difference {
  std::string what;  ///< " | skip(3)"
  Stream stream;
  Stream expected;
};

/// Compares skip, take, shard, cache (twice), repeat and resume (in a dataset described anew;
/// behind full and empty caches) of the pipeline with its first iteration, `list`. Empty: all
/// agree.
std::vector<Difference> differences_from_list(const DrawnPipeline& drawn, const Stream& list,
                                              const Executors& executors, SeededRandom& random);

}  // namespace infeed::test
