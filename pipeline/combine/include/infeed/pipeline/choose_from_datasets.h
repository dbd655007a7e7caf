#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include <infeed/pipeline/sample_from_datasets.h>

namespace infeed {

struct ChooseOptions {
  /// If true, choosing a dataset that has ended ends the whole stream. If false, such choices are
  /// passed over.
  bool stop_on_empty_dataset = true;
  StageName name = {};  ///< as in StageOptions
};

/// Takes each element from the dataset whose index `choices` gives.
///
///     auto turns = infeed::range(3) | infeed::repeat();
///     infeed::choose_from_datasets({a, b, c}, turns)   // a b c a b c ...
///
/// The stream ends with the choices at the latest. An index out of range, or an error among the
/// choices, is one element's error.
template <class T>
Dataset<T> choose_from_datasets(const std::vector<Dataset<T>>& datasets,
                                const Dataset<std::int64_t>& choices,
                                const ChooseOptions& options = {});
template <class T>
Dataset<T> choose_from_datasets(std::initializer_list<Dataset<T>> datasets,
                                const Dataset<std::int64_t>& choices,
                                const ChooseOptions& options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_choose_from_datasets(const ChooseOptions& options, const TypeInfo& type,
                                      std::vector<NodePointer> datasets, NodePointer choices);

}  // namespace detail

Dataset<detail::Refused> choose_from_datasets(detail::DatasetsOfSeveralTypes,
                                              const Dataset<std::int64_t>&,
                                              const ChooseOptions& = {});

template <class T>
Dataset<T> choose_from_datasets(std::initializer_list<Dataset<T>> datasets,
                                const Dataset<std::int64_t>& choices,
                                const ChooseOptions& options) {
  return choose_from_datasets(std::vector<Dataset<T>>(datasets), choices, options);
}

template <class T>
Dataset<T> choose_from_datasets(const std::vector<Dataset<T>>& datasets,
                                const Dataset<std::int64_t>& choices,
                                const ChooseOptions& options) {
  return Dataset<T>(
      detail::named(detail::make_choose_from_datasets(options, type_info<T>(),
                                                      detail::nodes_of(datasets), choices.node()),
                    options.name));
}

}  // namespace infeed
