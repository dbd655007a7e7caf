#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <infeed/pipeline/bytes_of.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/map.h>

namespace infeed {

/// Weights that apply from a draw on. Draws count from 0.
struct WeightsAt {
  Count draw;
  std::vector<double> weights;
};

enum class WeightChange {
  linear,   ///< in a straight line from one point to the next
  at_once,  ///< at the point's draw
};

struct SampleOptions {
  /// How often each dataset is drawn, relative to the others. If empty, all are drawn equally
  /// often. A dataset with a weight of 0 is never drawn; others are from 1e-100 to 1e100.
  std::vector<double> weights = {};
  /// Weights that change with the draws: `weights` at draw 0, then these, in ascending order. The
  /// last ones hold for ever. While no dataset has ended, draw k gives element k.
  std::vector<WeightsAt> schedule = {};
  WeightChange change = WeightChange::linear;
  /// If not given, a random seed is drawn when the dataset is described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// If true, the end of any dataset ends the whole stream, so the proportions hold to the end. If
  /// false, the others go on.
  bool stop_on_empty_dataset = false;
  /// If false, each pass draws in the same order, as in TensorFlow. If true, each pass draws in
  /// another order.
  bool reshuffle_each_iteration = false;
  StageName name = {};  ///< as in StageOptions
};

namespace detail {
/// The weights count elements, whatever their size.
struct CountElements {};
}  // namespace detail

/// Mixes datasets in given proportions.
///
///     infeed::sample_from_datasets({clean, noisy}, {.weights = {0.9, 0.1}, .seed = 1})
///
///     // From noisy to clean samples in the first million, and on with clean ones.
///     infeed::sample_from_datasets(
///         {noisy, clean}, {.weights = {1, 0}, .schedule = {{.draw = 1'000'000, .weights = {0, 1}}}})
///
/// Datasets of different types are given as a std::tuple. The elements are then std::variants,
/// whose index() says which dataset they come from:
///
///     infeed::sample_from_datasets(std::tuple(clean, infeed::lines("text.txt")), {.weights = {3, 1}})
///
/// With a third argument the weights are shares of the elements' sizes instead of their number, such
/// as tokens or bytes. It is a function of an element that gives its size (0 counts as 1), or
/// infeed::bytes_of:
///
///     struct Document { std::vector<std::int32_t> tokens; };
///     infeed::Dataset<Document> mix(infeed::Dataset<Document> web, infeed::Dataset<Document> code) {
///       return infeed::sample_from_datasets({web, code}, {.weights = {0.7, 0.3}, .seed = 1},
///           [](const Document& document) { return document.tokens.size(); });
///     }
///
/// Then a dataset that is ahead of its share by more than its last element waits, and the others are
/// drawn by their weights. So at any place in the stream no dataset is ahead by more than two of its
/// elements. An error counts as much as the element before. A resume makes the elements since
/// the last bookmark again, since their sizes decide. Where all elements have one size, as the batches of pack(),
/// weights without sizes give the same shares, and inputs are passed over.
///
/// Draw k is a function of (seed, k): the k-th 64 bits of Philox. If the drawn dataset has ended,
/// the next draw replaces it; after 2^20 such draws in a row, only those that are left are drawn.
/// The stream ends when no dataset that is left will ever be drawn again. Errors count as elements
/// of their dataset. The order isn't TensorFlow's, whose draws depend on its random number kernels.
template <class T, class Size = detail::CountElements>
Dataset<T> sample_from_datasets(const std::vector<Dataset<T>>& datasets,
                                const SampleOptions& options = {}, Size size = {});
template <class T, class Size = detail::CountElements>
Dataset<T> sample_from_datasets(std::initializer_list<Dataset<T>> datasets,
                                const SampleOptions& options = {}, Size size = {});
template <class... Ts, class Size = detail::CountElements>
Dataset<std::variant<Ts...>> sample_from_datasets(const std::tuple<Dataset<Ts>...>& datasets,
                                                  const SampleOptions& options = {},
                                                  Size size = {});

// Only the library reads what follows.
namespace detail {

/// The type of {a, b} if a and b have elements of different types: then no other overload fits.
struct DatasetsOfSeveralTypes {
  template <class First, class... Others>
  DatasetsOfSeveralTypes(const Dataset<First>&, const Dataset<Others>&...) {
    static_assert(
        sizeof...(Others) == 0,
        "infeed: the datasets have elements of different types: infeed::map them to one "
        "type, sample from a std::tuple of them, or put them side by side by infeed::zip");
  }
};

/// Sets the size of an element. Returns the error of the user's function, or null.
using ElementSize = std::function<ErrorPointer(const void* element, std::uint64_t& size)>;

NodePointer make_sample_from_datasets(const SampleOptions& options, ElementSize size,
                                      const TypeInfo& type, std::vector<NodePointer> datasets);

template <class T, class Size>
ElementSize element_size(Size size) {
  using Call = ElementCall<Size, const T&>;
  if constexpr (std::is_same_v<Size, CountElements>) {
    return {};
  } else {
    constexpr bool kFits = std::is_integral_v<typename ElementCallResult<Call>::type>;
    static_assert(kFits,
                  "infeed::sample_from_datasets: the third argument is called with an element "
                  "(const Element&), and must return its size as a whole number");
    if constexpr (kFits) {
      return [size = std::make_shared<const Size>(std::move(size))](
                 const void* element, std::uint64_t& found) -> ErrorPointer {
        try {
          found = Count(Call::call(*size, *static_cast<const T*>(element)));
          return nullptr;
        } catch (...) {
          return current_error();
        }
      };
    } else {
      return {};
    }
  }
}

template <class T>
std::vector<NodePointer> nodes_of(const std::vector<Dataset<T>>& datasets) {
  std::vector<NodePointer> nodes;
  for (const Dataset<T>& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

/// Returns the dataset with its elements as alternative I.
template <std::size_t I, class Variant, class T>
NodePointer as_alternative(const Dataset<T>& dataset) {
  const auto put = [](T element) { return Variant(std::in_place_index<I>, std::move(element)); };
  return (dataset | map(put)).node();
}

}  // namespace detail

template <class Size = detail::CountElements>
Dataset<detail::Refused> sample_from_datasets(detail::DatasetsOfSeveralTypes,
                                              const SampleOptions& = {}, Size = {});

template <class T, class Size>
Dataset<T> sample_from_datasets(std::initializer_list<Dataset<T>> datasets,
                                const SampleOptions& options, Size size) {
  return sample_from_datasets(std::vector<Dataset<T>>(datasets), options, std::move(size));
}

template <class T, class Size>
Dataset<T> sample_from_datasets(const std::vector<Dataset<T>>& datasets,
                                const SampleOptions& options, Size size) {
  return Dataset<T>(detail::named(
      detail::make_sample_from_datasets(options, detail::element_size<T>(std::move(size)),
                                        type_info<T>(), detail::nodes_of(datasets)),
      options.name));
}

template <class... Ts, class Size>
Dataset<std::variant<Ts...>> sample_from_datasets(const std::tuple<Dataset<Ts>...>& datasets,
                                                  const SampleOptions& options, Size size) {
  static_assert(sizeof...(Ts) > 0, "infeed::sample_from_datasets: there are no datasets");
  using Variant = std::variant<Ts...>;
  std::vector<NodePointer> nodes;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (nodes.push_back(detail::as_alternative<I, Variant>(std::get<I>(datasets))), ...);
  }
  (std::index_sequence_for<Ts...>());
  return Dataset<Variant>(detail::named(
      detail::make_sample_from_datasets(options, detail::element_size<Variant>(std::move(size)),
                                        type_info<Variant>(), std::move(nodes)),
      options.name));
}

}  // namespace infeed
