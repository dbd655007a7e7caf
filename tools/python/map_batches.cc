#include "python/map_batches.h"

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>

#include "python/column.h"
#include "python/errors.h"
#include "python/python_object.h"
#include "python/rng.h"

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

/// Calls the function with a batch, and a generator of its seed and position.
class PythonFunction {
 public:
  PythonFunction(SharedObject function, std::uint64_t seed)
      : function_(std::move(function)), seed_(seed) {}

  ColumnBatch operator()(ColumnBatch batch, std::uint64_t epoch, std::uint64_t position) const {
    const WithGil gil;
    try {
      const nb::object result =
          (*function_)(make_batch(std::move(batch)), nb::cast(PyRng(seed_, epoch, position)));
      return take_batch(result);
    } catch (nb::python_error& exception) {
      throw error_of(std::move(exception), "the function of map_batches");
    }
  }

 private:
  SharedObject function_;
  std::uint64_t seed_;
};

Elements mapped(const MapBatchesStage& stage, const Making& making) {
  const auto* object = static_cast<const nb::object*>(making.object(stage.function).get());
  const PythonFunction function(share(*object), stage.seed.value_or(0));
  const auto call = [function](ColumnBatch batch, Rng& rng) {
    // The numbers of the engine's generator key Python's.
    const std::uint64_t high = rng();
    return function(std::move(batch), high, rng());
  };
  const Dataset<ColumnBatch>& batches = making.input().batches("map_batches");
  Dataset<ColumnBatch> mapped = batches | map(call, {.parallelism = stage.workers,
                                                     .seed = stage.seed,
                                                     .version = "map_batches " + stage.version,
                                                     .name = stage.name});
  // One worker is a thread that runs ahead; several are the map's own.
  if (stage.workers == 1) mapped = mapped | prefetch();
  return describe::batches_of(std::move(mapped));
}

}  // namespace

void add_map_batches(describe::StageTable& table) {
  table.add("map_batches", "Calls a Python function with each batch.", MapBatchesStage{})
      .required("function", &MapBatchesStage::function, "Called with a batch and an Rng.")
      .option("workers", &MapBatchesStage::workers, "Threads that call it at the same time.")
      .option("seed", &MapBatchesStage::seed,
              "Without it a random one is drawn when the stage is described.")
      .option("version", &MapBatchesStage::version, "Changed when the function changes.")
      .option("name", &MapBatchesStage::name, "Its name in statistics and errors.")
      .makes(mapped);
}

}  // namespace infeed::python
