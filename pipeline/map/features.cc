#include "infeed/pipeline/features.h"

#include <fmt/format.h>

#include <infeed/pipeline/map.h>

namespace infeed::detail {

NodePointer make_features(Features steps, Count parallelism, NodePointer input) {
  ElementwiseSpec spec{.name = "features",
                       .signature = fmt::format("features({:016x})", steps.hash()),
                       .out_type = &type_info<ColumnBatch>()};
  spec.kernel = &map_kernel<ColumnBatch, Features>;
  spec.function = share_function(std::move(steps));
  spec.has_parallelism = true;
  spec.parallelism = parallelism;
  return make_elementwise(std::move(spec), std::move(input));
}

}  // namespace infeed::detail
