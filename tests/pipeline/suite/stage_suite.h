#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <type_traits>
#include <utility>

#include "pipeline/suite/elements.h"
#include "pipeline/suite/stream_check.h"
#include "pipeline/suite/test_sources.h"

/// The tests that every stage passes. A stage's own test file gives its construction and, in the
/// slowest and most obvious way, its result for a list of elements and errors:
///
///     TEST(Take, Suite) {
///       run_stage_suite([](auto dataset) { return dataset | infeed::take(5); },
///                       [](Slots in) { in.resize(std::min(in.size(), 5ul)); return show_all(in);
///                       });
///     }
///
/// A model takes Slots (numbers, some of which stand for errors) and returns a Stream: one text an
/// element, "7", "(0, 7)", "[1 2 3]" (a batch), "! element 3 is broken" (an error; what a user's
/// function threw: "! " and its text), "!! ..." (a terminal error, the last). The suite then
/// checks, for inputs without elements, with one, with many, without errors and with errors at the
/// first, a middle, the last and all places (of long inputs at one of these, which is drawn, or at
/// each with tests_all()):
///  - values, order, errors and the end, whatever the chunks' sizes are (sources that give one
///    element at a time or random numbers of them; recut() behind the stage) and on every executor;
///  - that the end stays the end, that statistics add up, that no byte stays in the memory account;
///  - resume at every step, each through the checkpoint's text and on another executor;
///  - that a slow source holds nothing back: what can be known comes before the next element does;
///  - cancellation before the start, while the source blocks and at random moments, time-outs, and
///    destruction in all these places: never an end that is none (stream_check.h);
///  - memory limits from 32 bytes to 2 MiB: refused, or failed so that a resume gives the rest;
///  - the stage behind and in front of skip_errors, cache, prefetch and a parallel map
///    (neighbours.h), resumed behind caches that are full and that are empty;
///  - elements of several kinds: numbers, strings, 64 bytes, over-aligned ones that can only be
///    moved (build() is called with a Dataset of each; run_stage_suite_on<T> does it for one type).
///
/// A source of one's own: run_source_suite([] { return infeed::range(7); }, numbers({0, 1, ...})).
namespace infeed::test {

namespace internal {

using Model = std::function<Stream(const Slots&)>;

/// A stage that is tested, on inputs of one type. No template, so that the suite is compiled once.
/// (A std::function would bring a dozen functions more for each stage and type.)
struct TestedStage {
  const TypeInfo& input_type;
  const TypeInfo& output_type;
  /// Makes a source of these numbers, gated unless `gate` is null.
  ShownDataset (*make_input)(Slots slots, const Cut& cut, Gate* gate);
  /// Adds the stage to an input, by the function at `build`.
  ShownDataset (*add)(const void* build, const NodePointer& input);
  const void* build;
};

template <class T>
ShownDataset make_input(Slots slots, const Cut& cut, Gate* gate) {
  return Dataset<T>(make_listed<T>(std::move(slots), cut, gate));
}
template <class T, class Build>
ShownDataset add_stage(const void* build, const NodePointer& input) {
  const Dataset<T> dataset(input);
  return (*static_cast<const Build*>(build))(dataset);
}

void run_stage_suite(const TestedStage& stage, const Model& model,
                     const StageSuiteOptions& options);

}  // namespace internal

// Compiled once, with the suite. Other types of inputs and outputs are compiled where they are used.
// clang-format off
#define INFEED_COMMON_ELEMENT(prefix, T)                                                          \
  prefix template class ShownIteratorOf<Iterator<T>>;                                             \
  prefix template class ShownIteratorOf<Iterator<T>&>;                                            \
  prefix template class ShownDataset::TypedAs<T>;                                                 \
  prefix template ShownDataset internal::make_input<T>(Slots slots, const Cut& cut, Gate* gate)
#define INFEED_COMMON_ELEMENTS(prefix)                                                            \
  INFEED_COMMON_ELEMENT(prefix, std::int64_t);                                                    \
  INFEED_COMMON_ELEMENT(prefix, std::string);                                                     \
  INFEED_COMMON_ELEMENT(prefix, Wide);                                                            \
  INFEED_COMMON_ELEMENT(prefix, Tracked)
// clang-format on
INFEED_COMMON_ELEMENTS(extern);

/// The suite with inputs of one type.
template <class T, class Build>
void run_stage_suite_on(const Build& build, const std::function<Stream(const Slots&)>& model,
                        const StageSuiteOptions& options = {}) {
  using Out = typename decltype(build(std::declval<const Dataset<T>&>()))::element_type;
  internal::run_stage_suite({.input_type = type_info<T>(),
                             .output_type = type_info<Out>(),
                             .make_input = &internal::make_input<T>,
                             .add = &internal::add_stage<T, Build>,
                             .build = &build},
                            model, options);
}

/// The suite with inputs of all types; `build` takes a Dataset of any.
template <class Build>
void run_stage_suite(const Build& build, const std::function<Stream(const Slots&)>& model,
                     StageSuiteOptions options = {}) {
  run_stage_suite_on<std::int64_t>(build, model, options);
  std::erase_if(options.sizes, [](std::size_t size) { return size != 5 && size != 300; });
  const auto run = [&]<class T>(std::type_identity<T>) {
    if (!::testing::Test::HasFailure()) run_stage_suite_on<T>(build, model, options);
  };
  run(std::type_identity<std::string>());
  run(std::type_identity<Wide>());
  run(std::type_identity<Tracked>());
}

/// The suite for a source, which `make()` describes anew each time.
void run_source_suite(const std::function<ShownDataset()>& make, const Stream& expected,
                      const StageSuiteOptions& options = {});

}  // namespace infeed::test
