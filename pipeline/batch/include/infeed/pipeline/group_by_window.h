#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/grouping.h>
#include <infeed/pipeline/flat_map.h>

namespace infeed {

/// Brings elements with the same key together, window by window, without sorting.
///
///     requests | infeed::group_by_window([](const Request& r) { return r.user; },
///                                        [](std::int64_t user, std::vector<Request> window) {
///                                          return Session(user, std::move(window));
///                                        },
///                                        10)
///
/// Each element goes to the window of its key (an integer). A full window goes to `reduce`. Its
/// result is one output or, if it is a Dataset, as many as the dataset has. `window_size` is a
/// number, or a function of the key that is called once per key. At the end of the input the
/// unfilled windows leave in ascending order of their keys.
///
/// A failed element comes in its place at once and is in no window. An exception of key or
/// window_size takes the element's place; an exception of reduce takes the place of the window's
/// outputs. All elements of open windows count in the iterator's memory limit.
template <class Key, class Reduce, class Size>
auto group_by_window(Key key, Reduce reduce, Size window_size, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class Key, class Reduce, class Size>
struct GroupFunctions {
  Key key;
  Reduce reduce;
  Size size;
};

template <class T, class Functions, class Out>
void reduce_window(const void* context, std::int64_t key, void* rows, std::size_t count,
                   void* out) {
  T* const first = static_cast<T*>(rows);
  std::vector<T> window;
  window.reserve(count);
  for (std::size_t i = 0; i < count; ++i) window.push_back(std::move(first[i]));
  ::new (out) Out(static_cast<const Functions*>(context)->reduce(key, std::move(window)));
}

template <class Key, class Reduce, class Size>
struct GroupByWindowStageFactory {
  using ComposesAsStage = void;
  using Functions = GroupFunctions<Key, Reduce, Size>;
  std::shared_ptr<const Functions> functions;
  std::string signature;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    static_assert(kCallable<Key, const T&>,
                  "infeed::group_by_window: the key function must be callable as const with const "
                  "T&, and return an integer");
    static_assert(kCallable<Reduce, std::int64_t, std::vector<T>&&>,
                  "infeed::group_by_window: the reduce function must be callable as const with the "
                  "key (std::int64_t) and the window (std::vector<T>)");
    using Out =
        std::remove_cvref_t<std::invoke_result_t<const Reduce&, std::int64_t, std::vector<T>&&>>;
    GroupingSpec spec{.name = "group_by_window", .signature = signature};
    spec.out_type = &type_info<Out>();
    spec.context = functions;
    spec.key = [](const void* context, const void* element) {
      return static_cast<std::int64_t>(
          static_cast<const Functions*>(context)->key(*static_cast<const T*>(element)));
    };
    spec.size = [](const void* context, std::int64_t key) {
      return static_cast<std::int64_t>(static_cast<const Functions*>(context)->size(key));
    };
    spec.assemble = &reduce_window<T, Functions, Out>;
    Dataset<Out> reduced(make_grouping(std::move(spec), input.node()));
    if constexpr (kIsDataset<Out>) {
      return reduced | flat_map([](const Out& dataset) { return dataset; });
    } else {
      return reduced;
    }
  }
};

}  // namespace detail

template <class Key, class Reduce, class Size>
auto group_by_window(Key key, Reduce reduce, Size window_size, StageOptions options) {
  if constexpr (std::is_integral_v<Size>) {
    const auto size = static_cast<std::int64_t>(window_size);
    auto always = [size](std::int64_t) { return size; };
    using Factory = detail::GroupByWindowStageFactory<Key, Reduce, decltype(always)>;
    return named_stage(
        options.name,
        Factory{std::make_shared<const typename Factory::Functions>(
                    typename Factory::Functions{std::move(key), std::move(reduce), always}),
                "group_by_window(" + std::to_string(size) + ")"});
  } else {
    using Factory = detail::GroupByWindowStageFactory<Key, Reduce, Size>;
    return named_stage(
        options.name,
        Factory{std::make_shared<const typename Factory::Functions>(typename Factory::Functions{
                    std::move(key), std::move(reduce), std::move(window_size)}),
                "group_by_window"});
  }
}

}  // namespace infeed
