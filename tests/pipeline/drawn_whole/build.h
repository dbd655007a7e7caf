#pragma once

#include <optional>
#include <string>

#include "pipeline/drawn_whole/kinds.h"
#include "pipeline/drawn_whole/plan.h"

/// Builds the pipeline of a plan.
namespace infeed::test {

/// Ways to build the same plan, none of which changes the elements.
struct Surroundings {
  std::string folder = {};        ///< for the sources' files
  std::string cache_folder = {};  ///< for caches in files and snapshots
  bool is_serial = false;         ///< true: parallelism 1 and no thread anywhere
  /// True: looks at each stage's elements for largest_element_bytes().
  bool is_measured = false;

  int parallelism(const Step& step) const {
    return is_serial ? 1 : static_cast<int>(step.get("parallelism", 1));
  }
};

inline std::optional<std::uint64_t> seed_of(const Step& step) {
  const std::int64_t seed = step.get("seed", 0);
  return seed == 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(seed));
}

/// Throws infeed::Error if the library refuses the description, and std::logic_error if the steps
/// don't fit together.
AnyDataset build(const Plan& plan, const Surroundings& surroundings);
/// Adds the steps behind the first to `dataset`.
AnyDataset extend(AnyDataset dataset, const Plan& plan, const Surroundings& surroundings);

/// Returns the most bytes of an element of a measured pipeline since the last call.
std::uint64_t take_largest_element_bytes();
void note_element_bytes(std::uint64_t bytes);

// One function for each group of stages, each in its own file.

/// True if the step is a source.
bool is_source(const Step& step);
AnyDataset build_source(const Step& step, const Surroundings& surroundings);
/// True for stages that lead from one kind of elements to another.
bool is_conversion(const Step& step);
AnyDataset add_conversion(const AnyDataset& dataset, const Step& step,
                          const Surroundings& surroundings);
bool is_batching(const Step& step);
AnyDataset add_batching(const AnyDataset& dataset, const Step& step,
                        const Surroundings& surroundings);
/// True for stages that take and give any kind of elements.
template <class T>
Dataset<T> add_generic(const Dataset<T>& dataset, const Step& step,
                       const Surroundings& surroundings);

template <class T>
Dataset<T> build_of(const Plan& plan, const Surroundings& surroundings) {
  const AnyDataset dataset = build(plan, surroundings);
  if (const auto* const typed = std::get_if<Dataset<T>>(&dataset)) return *typed;
  throw std::logic_error("a pipeline of another kind of elements is wanted: " + plan.text());
}

}  // namespace infeed::test
