#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/detail/encoded_number.h"
#include "infeed/records/example.h"
#include "infeed/records/record.h"

/// Writes one C++ value into a feature and reads it back. Specialise it for a type of your own:
///
///     template <>
///     struct infeed::FeatureCodec<Image> {
///       static constexpr bool kMayBeMissing = false;
///       static void decode(const infeed::FeatureView& view, Image& out) {
///         out = Image::from_png(view.single_bytes());
///       }
///       static void encode(const std::string& name, const Image& value,
///                          infeed::ExampleBuilder& builder) {
///         builder.bytes(name, value.to_png());
///       }
///     };
///
/// decode() is called with a view that is present unless kMayBeMissing. It throws infeed::Error
/// when the feature isn't what the type needs. Any number of threads may call both functions.
namespace infeed {

/// The general case has no members: no feature fills such a type.
template <class T, class = void>
struct FeatureCodec {};

namespace detail {

template <class T>
inline constexpr bool kHasFeatureCodec = requires {
  FeatureCodec<T>::kMayBeMissing;
};

template <class T>
inline constexpr bool kIsByte = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::byte>;
template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, char>;
template <class T>
inline constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
inline constexpr bool kIsListElement =
    kIsByte<T> || kIsInteger<T> || kIsFloat<T> || std::is_same_v<T, std::string>;

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

bool is_missing_or_empty(const FeatureView& view);
/// Throws "feature 'label' is required but could not be found; the record has 'image' (bytes), ..."
[[noreturn]] void fail_missing(const FeatureView& view, std::string_view example);
/// Throws "step 3 of feature list 'frames' holds no list of values".
[[noreturn]] void fail_empty_step(const FeatureView& step);
/// Returns the ends of inner sequences among the `values` values of a feature, by a partition of
/// lengths or splits. If partition and values are both missing there are none.
std::vector<std::size_t> ends_of_rows(const FeatureView& partition, bool has_splits,
                                      const FeatureView& view, std::size_t values);
[[noreturn]] void fail_columns(std::size_t given, const std::vector<std::string>& names);
/// Throws the exception in flight, with its place when it is an Error.
[[noreturn]] void rethrow_with_place(const Record& record);
void copy_exactly(const FeatureView& view, void* out, std::size_t size_bytes);
/// Returns how many rows of `row_values` values the feature holds; 0 when it is missing.
std::size_t count_rows(const FeatureView& view, std::size_t row_values);
inline std::string_view bytes_of(std::string_view bytes) { return bytes; }
inline std::string_view bytes_of(const Record& record) { return record.bytes(); }

/// Reads all values of a feature of numbers, row by row.
template <class T, std::size_t N>
void read_rows(const FeatureView& view, std::span<std::array<T, N>> rows) {
  if (rows.empty()) return;
  const std::span<T> values(rows.front().data(), rows.size() * N);
  if constexpr (kIsInteger<T>) {
    view.read_integers(values);
  } else {
    view.read_floats(values);
  }
}

template <class T>
void encode_integers(const std::string& name, std::span<const T> values, ExampleBuilder& builder) {
  std::vector<std::int64_t> wide;
  wide.reserve(values.size());
  for (const T value : values) wide.push_back(encoded_integer(name, value));
  builder.integers(name, std::span<const std::int64_t>(wide));
}
template <class T>
void encode_floats(const std::string& name, std::span<const T> values, ExampleBuilder& builder) {
  std::vector<float> narrow;
  narrow.reserve(values.size());
  for (const T value : values) narrow.push_back(encoded_float(name, value));
  builder.floats(name, std::span<const float>(narrow));
}

}  // namespace detail

template <class T>
struct FeatureCodec<T, std::enable_if_t<detail::kIsInteger<T>>> {
  static constexpr bool kMayBeMissing = false;
  static void decode(const FeatureView& view, T& out) { view.read_integers(std::span<T>(&out, 1)); }
  static void encode(const std::string& name, T value, ExampleBuilder& builder) {
    builder.integers(name, detail::encoded_integer(name, value));
  }
};

template <class T>
struct FeatureCodec<T, std::enable_if_t<detail::kIsFloat<T>>> {
  static constexpr bool kMayBeMissing = false;
  static void decode(const FeatureView& view, T& out) { view.read_floats(std::span<T>(&out, 1)); }
  static void encode(const std::string& name, T value, ExampleBuilder& builder) {
    builder.floats(name, detail::encoded_float(name, value));
  }
};

template <>
struct FeatureCodec<std::string> {
  static constexpr bool kMayBeMissing = false;
  static void decode(const FeatureView& view, std::string& out) { out = view.single_bytes(); }
  static void encode(const std::string& name, const std::string& value, ExampleBuilder& builder) {
    builder.bytes(name, std::string_view(value));
  }
};

template <>
struct FeatureCodec<Record> {
  static constexpr bool kMayBeMissing = false;
  static void decode(const FeatureView& view, Record& out) {
    const std::string_view bytes = view.single_bytes();
    out = view.record() != nullptr ? view.record()->slice(bytes) : Record(bytes);
  }
  static void encode(const std::string& name, const Record& value, ExampleBuilder& builder) {
    builder.bytes(name, value.bytes());
  }
};

template <class T, std::size_t N>
struct FeatureCodec<std::array<T, N>, std::enable_if_t<detail::kIsListElement<T>>> {
  static constexpr bool kMayBeMissing = false;
  static void decode(const FeatureView& view, std::array<T, N>& out) {
    if constexpr (detail::kIsByte<T>) {
      detail::copy_exactly(view, out.data(), N);
    } else if constexpr (detail::kIsInteger<T>) {
      view.read_integers(std::span<T>(out));
    } else if constexpr (detail::kIsFloat<T>) {
      view.read_floats(std::span<T>(out));
    } else {
      std::array<std::string_view, N> views;
      view.read_bytes(views);
      for (std::size_t i = 0; i < N; ++i) out[i] = T(views[i]);
    }
  }
  static void encode(const std::string& name, const std::array<T, N>& value,
                     ExampleBuilder& builder) {
    if constexpr (detail::kIsByte<T>) {
      builder.bytes(name, std::string_view(reinterpret_cast<const char*>(value.data()), N));
    } else if constexpr (detail::kIsInteger<T>) {
      detail::encode_integers<T>(name, value, builder);
    } else if constexpr (detail::kIsFloat<T>) {
      detail::encode_floats<T>(name, value, builder);
    } else {
      builder.bytes(name, std::span<const std::string>(value));
    }
  }
};

template <class T>
struct FeatureCodec<std::vector<T>, std::enable_if_t<detail::kIsListElement<T>>> {
  static constexpr bool kMayBeMissing = !detail::kIsByte<T>;
  static void decode(const FeatureView& view, std::vector<T>& out) {
    out.clear();
    if constexpr (detail::kIsByte<T>) {
      const std::string_view bytes = view.single_bytes();
      const auto* data = reinterpret_cast<const T*>(bytes.data());
      out.assign(data, data + bytes.size());
    } else if constexpr (detail::kIsInteger<T>) {
      view.append_integers(out);
    } else if constexpr (detail::kIsFloat<T>) {
      view.append_floats(out);
    } else {
      std::vector<std::string_view> views;
      view.append_bytes(views);
      for (const std::string_view bytes : views) out.emplace_back(bytes);
    }
  }
  static void encode(const std::string& name, const std::vector<T>& value,
                     ExampleBuilder& builder) {
    if constexpr (detail::kIsByte<T>) {
      const auto* data = reinterpret_cast<const char*>(value.data());
      builder.bytes(name, std::string_view(data, value.size()));
    } else if constexpr (std::is_same_v<T, bool>) {
      const std::vector<std::int64_t> wide(value.begin(), value.end());
      builder.integers(name, std::span<const std::int64_t>(wide));
    } else if constexpr (detail::kIsInteger<T>) {
      detail::encode_integers<T>(name, value, builder);
    } else if constexpr (detail::kIsFloat<T>) {
      detail::encode_floats<T>(name, value, builder);
    } else {
      builder.bytes(name, std::span<const std::string>(value));
    }
  }
};

/// Any number of rows of N values each: TensorFlow's FixedLenSequenceFeature.
template <class T, std::size_t N>
struct FeatureCodec<std::vector<std::array<T, N>>,
                    std::enable_if_t<N != 0 && (detail::kIsInteger<T> || detail::kIsFloat<T>)>> {
  static constexpr bool kMayBeMissing = true;
  static void decode(const FeatureView& view, std::vector<std::array<T, N>>& out) {
    out.resize(detail::count_rows(view, N));
    detail::read_rows(view, std::span(out));
  }
  static void encode(const std::string& name, const std::vector<std::array<T, N>>& value,
                     ExampleBuilder& builder) {
    const std::span<const T> flat(value.empty() ? nullptr : value.front().data(), value.size() * N);
    if constexpr (detail::kIsInteger<T>) {
      detail::encode_integers<T>(name, flat, builder);
    } else {
      detail::encode_floats<T>(name, flat, builder);
    }
  }
};

template <class T>
struct FeatureCodec<std::optional<T>, std::enable_if_t<detail::kHasFeatureCodec<T>>> {
  static constexpr bool kMayBeMissing = true;
  static void decode(const FeatureView& view, std::optional<T>& out) {
    if (detail::is_missing_or_empty(view)) {
      out.reset();
    } else {
      FeatureCodec<T>::decode(view, out.emplace());
    }
  }
  static void encode(const std::string& name, const std::optional<T>& value,
                     ExampleBuilder& builder) {
    if (value) FeatureCodec<T>::encode(name, *value, builder);
  }
};

}  // namespace infeed
