#pragma once

#include <string>

#include "pipeline/drawn_whole/kinds.h"
#include "pipeline/drawn_whole/plan.h"

/// Makes the pipeline that a plan describes.
namespace infeed::test {

/// All that the same plan may be built in several ways by: none of them changes the elements.
struct Surroundings {
  std::string folder = {};        ///< of the sources' files
  std::string cache_folder = {};  ///< of caches in files and snapshots
  bool is_serial = false;         ///< parallelism 1 and no thread anywhere
  /// Looks at each stage's elements for largest_element_bytes().
  bool is_measured = false;

  int parallelism(const Step& step) const {
    return is_serial ? 1 : static_cast<int>(step.get("parallelism", 1));
  }
};

/// Throws infeed::Error where the library refuses the description, and std::logic_error where the
/// steps don't fit together.
AnyDataset build(const Plan& plan, const Surroundings& surroundings);
/// The steps behind the first, behind `dataset`.
AnyDataset extend(AnyDataset dataset, const Plan& plan, const Surroundings& surroundings);

/// The most bytes that an element of a measured pipeline had since the last call.
std::uint64_t take_largest_element_bytes();
void note_element_bytes(std::uint64_t bytes);

// One function for each group of stages, each in a file of its own.

/// Whether the step is a source.
bool is_source(const Step& step);
AnyDataset build_source(const Step& step, const Surroundings& surroundings);
/// Stages that lead from one kind of elements to another.
bool is_conversion(const Step& step);
AnyDataset add_conversion(const AnyDataset& dataset, const Step& step,
                          const Surroundings& surroundings);
bool is_batching(const Step& step);
AnyDataset add_batching(const AnyDataset& dataset, const Step& step,
                        const Surroundings& surroundings);
/// Stages that take and give any kind of elements.
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
