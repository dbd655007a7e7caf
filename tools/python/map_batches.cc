#include "python/map_batches.h"

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>

#include "python/column.h"
#include "python/errors.h"
#include "python/gil_wait.h"
#include "python/python_end.h"
#include "python/python_object.h"

namespace infeed::python {
namespace {

using describe::Elements;
using describe::Making;

struct MapBatchesStage {
  describe::ObjectId function = {};
  Count workers = 1;
  std::optional<std::uint64_t> seed = std::nullopt;
  std::string version = {};
  StageName name = {};
};

/// Returns 128 random bits in two numbers: the key of a generator in Python.
std::pair<std::uint64_t, std::uint64_t> key_of(Rng& rng) {
  std::array<std::uint64_t, 4> words{};
  for (std::uint64_t& word : words) word = rng();
  return {words[0] << 32 | words[1], words[2] << 32 | words[3]};
}

/// Calls the function, of which `function` is the weak Held, with a batch and the key of its random numbers.
TimedBatch called(const std::shared_ptr<void>& function, ColumnBatch batch, Rng& rng) {
  const auto [high, low] = key_of(rng);
  const WithGil gil;
  try {
    const nb::object thing = referred(function).attr("thing");
    const nb::object given = make_batch(std::move(batch));
    const StaysIfPythonIsOver staying;
    const nb::object result = thing(given, high, low);
    // People fill the same arrays again and again, and a batch may wait for long.
    return {take_batch(result, TakenMemory::copied), gil.wait_ns()};
  } catch (nb::python_error& exception) {
    throw error_of(std::move(exception), "the function of map_batches");
  }
}

Elements mapped(const MapBatchesStage& stage, const Making& making) {
  const auto call = [held = making.object(stage.function)](ColumnBatch batch, Rng& rng) {
    return called(held, std::move(batch), rng);
  };
  const Dataset<ColumnBatch>& batches = making.input().batches("map_batches");
  Dataset<TimedBatch> mapped = batches | map(call, {.parallelism = stage.workers,
                                                    .seed = stage.seed,
                                                    .version = "map_batches " + stage.version,
                                                    .name = stage.name});
  // One worker is a thread that runs ahead; several are the map's own.
  if (stage.workers == 1) mapped = mapped | prefetch();
  return describe::batches_of(with_gil_waits(mapped, "map_batches"));
}

}  // namespace

void add_map_batches(describe::StageTable& table) {
  table.add("map_batches", "Calls a Python function with each batch.", MapBatchesStage{})
      .required("function", &MapBatchesStage::function, "Called with a batch and a random key.")
      .option("workers", &MapBatchesStage::workers, "Calls at the same time.")
      .option("seed", &MapBatchesStage::seed,
              "Without it a random one is drawn when the stage is described.")
      .option("version", &MapBatchesStage::version, "Changed when the function changes.")
      .makes(mapped);
}

void bind_random_keys(nb::module_& module) {
  module.def(
      "random_key",
      [](std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) {
        Rng rng(seed, epoch, position);
        return key_of(rng);
      },
      nb::arg("seed"), nb::arg("epoch"), nb::arg("position"),
      "The key that a stage's function gets for an element.");
}

}  // namespace infeed::python
