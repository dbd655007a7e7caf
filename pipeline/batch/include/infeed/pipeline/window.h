#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

struct WindowOptions {
  /// Elements of a window; at least 1.
  Count size;
  /// Distance from the start of a window to the start of the next one. 0 means `size`, so windows
  /// don't overlap.
  Count shift = 0;
  /// Distance between neighbouring elements of a window: 2 takes every other element.
  Count stride = 1;
  /// Leaves out the shorter windows at the end.
  bool drop_remainder = false;
  StageName name = {};  ///< as in StageOptions
};

/// Puts neighbouring elements together, for sequences. Windows may overlap or leave gaps.
///
///     infeed::range(7) | infeed::window({.size = 3, .shift = 1, .stride = 2})
///     // {0 2 4} {1 3 5} {2 4 6} {3 5} {4 6} {5} {6}
///
/// A window is a std::vector, which a map can turn into anything. (TensorFlow's window is a
/// dataset, which must be flattened again to be of use.) Windows start at 0, shift, 2 shift, ...;
/// at the end they get shorter, unless drop_remainder. A failed element makes an error of each
/// window that would hold it, and of no other.
///
/// Memory: (size - 1) * stride + 1 elements, counted in the iterator's limit. Elements that can't
/// be copied need windows that don't overlap.
inline auto window(WindowOptions options);

// Only the library reads what follows.
namespace detail {

/// Windows of `size` values that are `stride` apart; each begins `shift` values behind the one before.
struct WindowRun {
  std::size_t windows;
  std::size_t size;
  std::size_t shift;
  std::size_t stride;
  bool may_move;  ///< the values aren't needed any more
};

/// Makes std::vector<T>s for the stage, which doesn't know T. All windows at hand are made by one
/// call: a call for each took a third of the time of windows of 10 numbers.
struct WindowKernel {
  /// Counts in `made`. Throws the exceptions of a copy; the windows before are made then.
  void (*make)(void* out, void* values, const WindowRun& run, std::size_t& made);
  /// Appends one value. Throws the exceptions of a copy.
  void (*append)(void* window, void* value, bool may_move);
  bool copies;
};

NodePointer make_window(const WindowOptions& options, const WindowKernel& kernel,
                        const TypeInfo& out_type, NodePointer input);

template <class T, class From>
std::vector<T> window_of(From from, const WindowRun& run) {
  if (run.stride == 1) return std::vector<T>(from, from + static_cast<std::ptrdiff_t>(run.size));
  std::vector<T> window;
  window.reserve(run.size);
  for (std::size_t i = 0; i < run.size; ++i) {
    window.push_back(*(from + static_cast<std::ptrdiff_t>(i * run.stride)));
  }
  return window;
}

/// Calls use(iterator) with an iterator over the values that moves or copies them.
template <class T, class Use>
void moved_or_copied(void* values, bool may_move, Use use) {
  T* const from = static_cast<T*>(values);
  if (may_move) {
    use(std::move_iterator(from));
  } else if constexpr (kIsCopyable<T>) {
    use(static_cast<const T*>(from));
  }
}

template <class T>
void make_windows(void* out, void* values, const WindowRun& run, std::size_t& made) {
  auto* const windows = static_cast<std::vector<T>*>(out);
  moved_or_copied<T>(values, run.may_move, [&](auto from) {
    for (; made < run.windows; ++made) {
      const auto begin = from + static_cast<std::ptrdiff_t>(made * run.shift);
      ::new (windows + made) std::vector<T>(window_of<T>(begin, run));
    }
  });
}

template <class T>
void append_to_window(void* window, void* value, bool may_move) {
  moved_or_copied<T>(value, may_move,
                     [&](auto from) { static_cast<std::vector<T>*>(window)->push_back(*from); });
}

template <class T>
WindowKernel window_kernel() {
  return {.make = &make_windows<T>, .append = &append_to_window<T>, .copies = kIsCopyable<T>};
}

struct WindowStageFactory {
  using ComposesAsStage = void;
  WindowOptions options;

  template <class T>
  Dataset<std::vector<T>> operator()(const Dataset<T>& input) const {
    return Dataset<std::vector<T>>(
        make_window(options, window_kernel<T>(), type_info<std::vector<T>>(), input.node()));
  }
};

}  // namespace detail

inline auto window(WindowOptions options) {
  return named_stage(options.name, detail::WindowStageFactory{options});
}

}  // namespace infeed
