#include "pipeline/suite/neighbours.h"

#include <memory>

#include <infeed/infeed.h>
#include <infeed/pipeline/detail/elementwise.h>

namespace infeed::test {
namespace {

/// Gives elements on as they are; `type` is theirs.
detail::KernelResult give_on(const void* type, void*, void* in, void* out, std::size_t count,
                             const detail::Place&, ErrorPointer&) {
  static_cast<const TypeInfo*>(type)->relocate(out, in, count);
  return {count, count};
}

/// map(a function that returns its argument, {.parallelism = autotune}), for any type.
NodePointer make_parallel_map(const NodePointer& input) {
  detail::ElementwiseSpec spec{.name = "map", .signature = "map", .out_type = &input->type()};
  spec.kernel = &give_on;
  spec.function = std::shared_ptr<const void>(input, &input->type());
  spec.has_parallelism = true;
  spec.parallelism = autotune;
  return detail::make_elementwise(std::move(spec), input);
}

NodePointer make_neighbour(const NodePointer& input, Neighbour neighbour) {
  switch (neighbour) {
    case Neighbour::none:
      break;
    case Neighbour::skip_errors:
      return detail::make_skip_errors({}, input);
    case Neighbour::cache:
      return detail::make_memory_cache(input);
    case Neighbour::prefetch:
      return detail::make_prefetch(autotune, input);
    case Neighbour::parallel_map:
      return make_parallel_map(input);
  }
  return input;
}

}  // namespace

Neighbour draw_neighbour(SeededRandom& random, const TypeInfo& type, bool caches) {
  const auto drawn = static_cast<Neighbour>(random.below(5));
  const bool possible = caches && type.copy_run != nullptr;
  return drawn == Neighbour::cache && !possible ? Neighbour::none : drawn;
}

ShownDataset add_neighbour(const ShownDataset& dataset, Neighbour neighbour) {
  return neighbour == Neighbour::none ? dataset
                                      : dataset.with(make_neighbour(dataset.node(), neighbour));
}

}  // namespace infeed::test
