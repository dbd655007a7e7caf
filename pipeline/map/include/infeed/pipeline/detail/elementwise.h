#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/element_call.h>
#include <infeed/pipeline/guard.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/philox.h>
#include <infeed/pipeline/stage.h>

/// The shared part of map, filter, scan, enumerate and similar stages: it goes through its input
/// element by element and calls a user's function. The inner loop (the kernel) is a template; the
/// rest is elementwise.cc. Not for direct use: see the stages' own headers.
namespace infeed::detail {

/// Keys the random numbers of a kernel, together with epoch and position.
struct DrawKey {
  std::uint64_t seed = 0;
  UnshardedPositions positions = {};
};

/// The place of the elements of one kernel call.
struct Place {
  std::uint64_t position;  ///< the first element's position in the stage's input
  std::uint64_t epoch;
  DrawKey key;
  IteratorContext* run;               ///< a kernel that waits checks it for cancellation
  StageCounters* counters = nullptr;  ///< for a kernel that counts, as ElementwiseSpec::counts says

  /// Returns the position of element i of the call in the stream that all shards share.
  std::uint64_t unsharded(std::size_t i) const { return key.positions.of(position + i); }
};

struct KernelResult {
  std::size_t consumed;  ///< inputs that were moved or destroyed, the failed one included
  std::size_t produced;  ///< outputs that were constructed
  bool ended = false;    ///< take_while: no more outputs will come
};

/// Processes `count` inputs until one fails (then `error` is set) or the stream ends.
using Kernel = KernelResult (*)(const void* function, void* state, void* in, void* out,
                                std::size_t count, const Place& place, ErrorPointer& error);

struct ElementwiseSpec {
  std::string name;
  std::string signature;
  const TypeInfo* out_type = nullptr;
  Kernel kernel = nullptr;
  std::shared_ptr<const void> function = nullptr;
  /// Makes the state that the function carries from element to element; null for none.
  std::shared_ptr<void> (*make_state)(const void* function) = nullptr;
  bool one_to_one = true;                     ///< one output (or error) for each input
  bool shows_position = false;                ///< the outputs depend on the elements' positions
  std::optional<Seeds> seeds = std::nullopt;  ///< only if the kernel draws; in its signature
  DrawKey key = {};                           ///< for the kernel; make_elementwise() sets it
  StageTraits counts = {};                    ///< only counts and text: those of the kernel
  bool has_parallelism = false;               ///< a user may say what follows
  Count parallelism = 1;
  bool ordered = true;
  GuardOptions guard = {};
};

NodePointer make_elementwise(ElementwiseSpec spec, NodePointer input);

/// Returns "map", or "map(version=2)". Throws invalid_argument for a version that isn't a single
/// line.
std::string versioned_signature(const std::string& name, const std::string& version);

template <class F>
std::shared_ptr<const void> share_function(F&& function) {
  return std::make_shared<const std::remove_cvref_t<F>>(std::forward<F>(function));
}

}  // namespace infeed::detail
