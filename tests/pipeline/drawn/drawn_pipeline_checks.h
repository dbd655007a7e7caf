#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"

/// What a drawn pipeline is asked without any other side to compare it with: its stream is a list,
/// and what is behind it must make of it what it would make of the list.
namespace infeed::test {

/// A drawn pipeline and three iterations of it.
struct Case {
  DrawnPipeline drawn;
  std::vector<Stream> streams;
};

/// One that has streams (model_unless_all_fails), none longer than `elements_max`.
Case draw_case(RandomSource& random, std::size_t elements_max);

struct Difference {
  std::string what;  ///< " | skip(3)"
  Stream stream;
  Stream expected;
};

/// skip, take, shard, cache (twice), repeat and resume (in a dataset described anew; behind caches
/// that are full and empty) of the pipeline, whose first iteration is `list`. Empty: all agree.
std::vector<Difference> differences_from_list(const DrawnPipeline& drawn, const Stream& list,
                                              const Executors& executors, RandomSource& random);

}  // namespace infeed::test
