#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/detail/batch_filler.h>
#include <infeed/pipeline/element_codec.h>

/// Writes batches as bytes, column by column, so that columns of numbers are copied in one piece.
namespace infeed {

namespace detail {

template <class U>
inline constexpr bool kIsPlainRun = kIsNumber<U> && !std::is_same_v<U, bool>;
template <class U, std::size_t N>
inline constexpr bool kIsPlainRun<std::array<U, N>> = kIsPlainRun<U>;

/// Appends the values without their count.
template <class U>
void encode_run(std::span<const U> values, std::string& out) {
  if constexpr (kIsPlainRun<U>) {
    append_bytes(out, values.data(), values.size_bytes());
  } else {
    for (const U& value : values) ElementCodec<U>::encode(value, out);
  }
}

/// Reads into existing values.
template <class U>
void decode_run(ElementReader& in, std::span<U> values) {
  if constexpr (kIsPlainRun<U>) {
    const std::string_view bytes = in.bytes(values.size_bytes());
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    for (U& value : values) value = ElementCodec<U>::decode(in);
  }
}

/// Returns the fewest bytes of a row, so that damaged bytes don't ask for memory that nothing
/// fills.
template <class T>
constexpr std::size_t encoded_bytes_min() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::max<std::size_t>(1, (std::size_t{0} + ... +
                                     (kIsPlainRun<std::tuple_element_t<I, LeafTypes<T>>>
                                          ? sizeof(std::tuple_element_t<I, LeafTypes<T>>)
                                          : 0)));
  }
  (std::make_index_sequence<leaf_count<T>()>());
}

/// Returns the leaves' layouts, one after the other.
template <class T>
std::string leaf_layouts() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::string text;
    ((text += ElementCodec<std::tuple_element_t<I, LeafTypes<T>>>::layout() + ";"), ...);
    return text;
  }
  (std::make_index_sequence<leaf_count<T>()>());
}

}  // namespace detail

template <class T>
struct ElementCodec<Batch<T>, std::enable_if_t<detail::kAllHaveCodecs<detail::LeafTypes<T>>>> {
  using Indices = std::make_index_sequence<Batch<T>::kColumns>;

  static std::string layout() { return "batch<" + detail::leaf_layouts<T>() + ">"; }
  static void encode(const Batch<T>& batch, std::string& out) {
    detail::append_count(out, batch.size());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::encode_run(batch.template column<I>(), out), ...);
    }
    (Indices());
  }
  static Batch<T> decode(ElementReader& in) {
    const std::size_t rows = in.count(detail::encoded_bytes_min<T>());
    if (rows == 0) return {};
    detail::BatchReference batch = detail::BatchFiller(detail::batch_layout<T>(), rows).take(rows);
    detail::construct_columns<T>(batch, rows);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (decode_column<std::tuple_element_t<I, detail::LeafTypes<T>>>(in, batch, I), ...);
    }
    (Indices());
    return Batch<T>(std::move(batch));
  }

 private:
  template <class U>
  static void decode_column(ElementReader& in, const detail::BatchReference& batch,
                            std::size_t column) {
    detail::decode_run(in, std::span<U>(static_cast<U*>(batch.column(column)), batch.size()));
  }
};

}  // namespace infeed
