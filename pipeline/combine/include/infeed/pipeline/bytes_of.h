#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <infeed/pipeline/leaves.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/record.h>

namespace infeed {

/// Why: mixtures are weighed by the bytes of their elements (sample_from_datasets.h), which must be
/// the same on every machine. So only content counts: not room that a vector keeps, nor the objects
/// themselves where they have content.
///
///     const std::size_t five = infeed::bytes_of(std::string("hello"));
///
/// Texts and Records count their bytes, vectors those of their items, ColumnBatches those of their
/// columns, structs the sum of their members, everything else its sizeof.
struct BytesOf {
  template <class T>
  std::size_t operator()(const T& value) const {
    if constexpr (std::is_same_v<T, Record> || std::is_same_v<T, std::string>) {
      return value.size();
    } else if constexpr (std::is_same_v<T, ColumnBatch>) {
      return value.bytes();
    } else if constexpr (detail::kHasFields<T>) {
      return std::apply(
          [this](const auto&... leaf) { return (std::size_t{0} + ... + (*this)(leaf)); },
          detail::tie_leaves(value));
    } else {
      static_assert(std::is_trivially_copyable_v<T>,
                    "infeed::bytes_of: this type has content that isn't known; give a function "
                    "that returns the size of an element");
      return sizeof(T);
    }
  }
  template <class T>
  std::size_t operator()(const std::vector<T>& values) const {
    if constexpr (std::is_arithmetic_v<T>) {
      return values.size() * sizeof(T);
    } else {
      std::size_t total = 0;
      for (const T& value : values) total += (*this)(value);
      return total;
    }
  }
};

inline constexpr BytesOf bytes_of{};

}  // namespace infeed
