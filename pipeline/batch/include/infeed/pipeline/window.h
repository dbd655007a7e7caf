#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
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

/// Makes and fills a std::vector<T> for the stage, which doesn't know T.
struct WindowKernel {
  void (*make)(void* out, std::size_t capacity);
  /// Appends values[0], values[stride], ... (`count` of them). Moves them if they aren't needed any
  /// more. Throws the exceptions of a copy.
  void (*append)(void* window, void* values, std::size_t stride, std::size_t count, bool may_move);
  bool copies;
};

NodePointer make_window(const WindowOptions& options, const WindowKernel& kernel,
                        const TypeInfo& out_type, NodePointer input);

template <class T>
void append_to_window(void* window, void* values, std::size_t stride, std::size_t count,
                      bool may_move) {
  auto& target = *static_cast<std::vector<T>*>(window);
  const auto append = [&](auto from) {
    // A run is inserted at once, by code that also assigns elements.
    if constexpr (std::is_assignable_v<T&, decltype(*from)>) {
      if (stride == 1) {
        target.insert(target.end(), from, from + static_cast<std::ptrdiff_t>(count));
        return;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      target.push_back(*(from + static_cast<std::ptrdiff_t>(i * stride)));
    }
  };
  T* const source = static_cast<T*>(values);
  if (may_move) {
    append(std::move_iterator(source));
  } else if constexpr (kIsCopyable<T>) {
    append(static_cast<const T*>(source));
  }
}

template <class T>
WindowKernel window_kernel() {
  return {.make = [](void* out,
                     std::size_t capacity) { (::new (out) std::vector<T>)->reserve(capacity); },
          .append = &append_to_window<T>,
          .copies = kIsCopyable<T>};
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
