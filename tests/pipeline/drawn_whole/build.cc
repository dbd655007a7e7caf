#include "pipeline/drawn_whole/build.h"

#include <atomic>
#include <stdexcept>

#include <infeed/pipeline/map.h>

namespace infeed::test {
namespace {

std::atomic<std::uint64_t> largest_element_bytes = 0;

AnyDataset measured(const AnyDataset& dataset) {
  return std::visit(
      []<class T>(const Dataset<T>& typed) -> AnyDataset {
        return typed | map([](T element) {
                 note_element_bytes(sizeof(T) + detail::payload_bytes(element));
                 return element;
               });
      },
      dataset);
}

AnyDataset add_step(const AnyDataset& dataset, const Step& step, const Surroundings& surroundings) {
  if (is_conversion(step)) return add_conversion(dataset, step, surroundings);
  if (is_batching(step)) return add_batching(dataset, step, surroundings);
  return std::visit(
      [&](const auto& typed) -> AnyDataset { return add_generic(typed, step, surroundings); },
      dataset);
}

}  // namespace

AnyDataset build(const Plan& plan, const Surroundings& surroundings) {
  if (plan.steps.empty() || !is_source(plan.steps.front())) {
    throw std::logic_error("a plan begins with a source: " + plan.text());
  }
  return extend(build_source(plan.steps.front(), surroundings), plan, surroundings);
}

AnyDataset extend(AnyDataset dataset, const Plan& plan, const Surroundings& surroundings) {
  for (std::size_t i = 1; i < plan.steps.size(); ++i) {
    if (surroundings.is_measured) dataset = measured(dataset);
    dataset = add_step(dataset, plan.steps[i], surroundings);
  }
  return dataset;
}

std::uint64_t take_largest_element_bytes() { return largest_element_bytes.exchange(0); }

void note_element_bytes(std::uint64_t bytes) {
  std::uint64_t largest = largest_element_bytes.load();
  while (bytes > largest && !largest_element_bytes.compare_exchange_weak(largest, bytes)) {
  }
}

}  // namespace infeed::test
