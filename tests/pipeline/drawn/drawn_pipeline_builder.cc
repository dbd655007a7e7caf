#include "pipeline/drawn/drawn_pipeline_builder.h"

#include <stdexcept>
#include <string>

#include <infeed/infeed.h>

#include "pipeline/suite/test_sources.h"

namespace infeed::test {
namespace {

using Integers = Dataset<std::int64_t>;

struct Congruent {
  std::int64_t modulus;
  std::int64_t residue;
  bool operator()(std::int64_t x) const { return floor_mod(x, modulus) == residue; }
};

Congruent congruent(const DrawnStage& stage) { return {stage.at("modulus"), stage.at("residue")}; }

Integers build_source(const DrawnStage& stage) {
  const std::int64_t count = stage.at("count");
  if (stage.op == "range") {
    const std::int64_t start = stage.at("start");
    const std::int64_t step = stage.at("step");
    return range(start, start + count * step, step);
  }
  const Congruent fails = congruent(stage);
  return listed<std::int64_t>(
      failing_slots(static_cast<std::size_t>(count),
                    [fails](std::size_t i) { return fails(static_cast<std::int64_t>(i)); }));
}

auto inner_range(const DrawnStage& stage) {
  return [modulus = stage.at("modulus")](std::int64_t x) {
    return range(10 * x, 10 * x + floor_mod(x, modulus));
  };
}

template <class Rows>
std::int64_t fold_rows(const Rows& rows) {
  auto h = static_cast<std::int64_t>(rows.size());
  for (const std::int64_t row : rows) h = fold(h, row);
  return h;
}

Integers add_elementwise(const Integers& input, const DrawnStage& stage) {
  if (stage.op == "map") {
    const auto call = [m = stage.at("multiply"), a = stage.at("add")](std::int64_t x) {
      return floor_mod(x * m + a, 1'000'003);
    };
    return input | map(call, {.parallelism = static_cast<int>(stage.at("parallelism"))});
  }
  if (stage.op == "map_fails") {
    const auto call = [fails = congruent(stage)](std::int64_t x) {
      if (fails(x)) throw std::runtime_error("map refuses " + std::to_string(x));
      return x;
    };
    return input | map(call, {.parallelism = static_cast<int>(stage.at("parallelism"))});
  }
  if (stage.op == "filter") {
    return input | filter([drops = congruent(stage)](std::int64_t x) { return !drops(x); });
  }
  if (stage.op == "filter_fails") {
    return input | filter([fails = congruent(stage)](std::int64_t x) {
             if (fails(x)) throw std::runtime_error("filter refuses " + std::to_string(x));
             return x % 2 == 0;
           });
  }
  if (stage.op == "take_while") {
    return input | take_while([ends = congruent(stage)](std::int64_t x) { return !ends(x); });
  }
  if (stage.op == "scan") {
    return input | scan(std::int64_t{0}, [](std::int64_t state, std::int64_t x) {
             const std::int64_t sum = floor_mod(state + x, 1'000'003);
             return std::pair(sum, sum);
           });
  }
  if (stage.op == "enumerate") {
    return input | enumerate(stage.at("start")) |
           map([](const std::pair<std::int64_t, std::int64_t>& numbered) {
             return floor_mod(numbered.first * 1009 + numbered.second, 1'000'003);
           });
  }
  throw std::logic_error("no such operation: " + stage.op);
}

Integers add_stage(const Integers& input, const DrawnStage& stage, std::uint64_t recut_seed) {
  const std::string& op = stage.op;
  const auto fold_batch = [](const auto& rows) { return fold_rows(rows); };
  if (op == "take") return input | take(stage.at("count"));
  if (op == "skip") return input | skip(stage.at("count"));
  if (op == "repeat") return input | repeat(stage.at("count"));
  if (op == "repeat_take") return input | repeat() | take(stage.at("count"));
  if (op == "unique") return input | unique();
  if (op == "skip_errors") return input | skip_errors();
  if (op == "cache") return input | cache();
  if (op == "prefetch") return input | prefetch(stage.at("depth"));
  if (op == "shard") {
    return input | shard({.count = static_cast<std::uint64_t>(stage.at("count")),
                          .index = static_cast<std::uint64_t>(stage.at("index"))});
  }
  if (op == "shuffle") {
    return input | shuffle({.buffer = static_cast<std::uint64_t>(stage.at("buffer")),
                            .seed = static_cast<std::uint64_t>(stage.at("seed")),
                            .reshuffle_each_iteration = stage.at("reshuffle") != 0});
  }
  if (op == "batch" || op == "batch_unbatch") {
    const auto batches =
        input | batch(stage.at("size"), {.drop_remainder = stage.at("drop_remainder") != 0});
    if (op == "batch_unbatch") return batches | unbatch();
    return batches | map([](const Batch<std::int64_t>& rows) { return fold_rows(rows.values()); });
  }
  if (op == "window") {
    return input |
           window({.size = stage.at("size"),
                   .shift = stage.at("shift"),
                   .stride = stage.at("stride"),
                   .drop_remainder = stage.at("drop_remainder") != 0}) |
           map(fold_batch);
  }
  if (op == "flat_map") return input | flat_map(inner_range(stage));
  if (op == "interleave") {
    return input | interleave(inner_range(stage),
                              {.cycle_length = stage.at("cycle_length"),
                               .block_length = stage.at("block_length"),
                               .parallelism = static_cast<int>(stage.at("parallelism"))});
  }
  if (op == "concatenate") return input | concatenate(build_pipeline({stage.other}, recut_seed));
  if (op == "zip") {
    return zip(input, build_pipeline({stage.other}, recut_seed)) |
           map([](const std::tuple<std::int64_t, std::int64_t>& both) {
             return fold(std::get<0>(both), std::get<1>(both));
           });
  }
  return add_elementwise(input, stage);
}

}  // namespace

Dataset<std::int64_t> build_pipeline(const DrawnPipeline& drawn, std::uint64_t recut_seed) {
  return extend_pipeline(build_source(drawn.stages.front()), drawn, recut_seed);
}

Dataset<std::int64_t> extend_pipeline(Dataset<std::int64_t> dataset, const DrawnPipeline& drawn,
                                      std::uint64_t recut_seed) {
  for (std::size_t i = 1; i < drawn.stages.size(); ++i) {
    if (recut_seed != 0) dataset = dataset | recut(recut_seed + i);
    dataset = add_stage(dataset, drawn.stages[i], recut_seed);
  }
  return recut_seed != 0 ? dataset | recut(recut_seed) : dataset;
}

}  // namespace infeed::test
