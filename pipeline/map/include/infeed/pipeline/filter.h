#pragma once

#include <memory>
#include <utility>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

struct FilterOptions {
  Count parallelism = 1;  ///< as in MapOptions
  StageName name = {};    ///< as in StageOptions
};

/// Keeps the elements for which the predicate is true. An exception of the predicate takes the
/// element's place.
///
///     dataset | infeed::filter([](const Sample& sample) { return sample.label >= 0; })
///
/// The members of a pair or tuple may be separate arguments, as in map:
///
///     numbers | infeed::enumerate()
///             | infeed::filter([](std::int64_t index, std::int64_t) { return index % 2 == 0; })
///
/// The predicate is called as const, with parallelism from several threads at once. The order stays
/// that of the input.
template <class F>
auto filter(F predicate, FilterOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T, class F>
KernelResult filter_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                           const Place&, ErrorPointer& error) {
  const F& predicate = *static_cast<const F*>(function);
  const auto keep = [&](const T& value) {
    return static_cast<bool>(ElementCall<F, const T&>::call(predicate, value));
  };
  T* const input = static_cast<T*>(in);
  T* output = static_cast<T*>(out);
  T* const begin = output;
  std::size_t i = 0;
  try {
    if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= 16) {
      // No branch, so an unpredictable predicate costs no misprediction.
      for (; i < count; ++i) {
        const bool kept = keep(input[i]);
        ::new (static_cast<void*>(output)) T(input[i]);
        output += kept ? 1 : 0;
      }
    } else {
      for (; i < count; ++i) {
        if (keep(input[i])) {
          ::new (static_cast<void*>(output)) T(std::move(input[i]));
          ++output;
        }
        input[i].~T();
      }
    }
    return {count, static_cast<std::size_t>(output - begin)};
  } catch (...) {
    error = current_error();
    input[i].~T();
    return {i + 1, static_cast<std::size_t>(output - begin)};
  }
}

template <class F>
struct FilterStageFactory {
  using ComposesAsStage = void;
  std::shared_ptr<const F> function;
  Count parallelism = 1;

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    using Call = ElementCall<F, const Element&>;
    static_assert(!Call::needs_mutable(),
                  "infeed::filter: the predicate changes itself (a mutable lambda), but threads "
                  "share it: leave out `mutable`; to keep state use infeed::scan, then filter");
    static_assert(Call::kPossible || Call::needs_mutable(),
                  "infeed::filter: the predicate can't be called with the dataset's Element: it "
                  "takes const Element&, or the members of a pair or tuple");
    static_assert(!Call::kPossible || kGivesBool<Call>,
                  "infeed::filter: the predicate must return a bool: true keeps the element");
    if constexpr (kGivesBool<Call>) {
      ElementwiseSpec spec{
          .name = "filter", .signature = "filter", .out_type = &type_info<Element>()};
      spec.kernel = &filter_kernel<Element, F>;
      spec.function = function;
      spec.one_to_one = false;
      spec.has_parallelism = true;
      spec.parallelism = parallelism;
      return Dataset<Element>(make_elementwise(std::move(spec), input.node()));
    } else {
      return input;
    }
  }
};

}  // namespace detail

template <class F>
auto filter(F predicate, FilterOptions options) {
  return named_stage(options.name,
                     detail::FilterStageFactory<F>{std::make_shared<const F>(std::move(predicate)),
                                                   options.parallelism});
}

}  // namespace infeed
