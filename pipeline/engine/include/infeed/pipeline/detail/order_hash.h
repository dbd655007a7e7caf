#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <infeed/pipeline/fields.h>
#include <infeed/records/record.h>

/// Why: a resume must prove that nothing was skipped or repeated. With IterateOptions::order_hash
/// an iterator mixes the content of every element that it hands over into one number, which goes
/// into the checkpoint. If a resumed run ends with another number than an uninterrupted one,
/// something is wrong.
///
/// It covers numbers, enums, strings, Records, arrays, vectors, plain structs, pairs and tuples,
/// batches of all these, and types that ElementHash is specialised for.
namespace infeed {

template <class T>
class Batch;

/// A hash of 64 bits that depends on every value and on their order. Two different streams have the
/// same hash by chance once in 2^64.
class OrderHash {
 public:
  OrderHash() = default;
  explicit OrderHash(std::uint64_t resumed) : value_(resumed) {}

  void add(std::uint64_t word) {
    __extension__ using Wide = unsigned __int128;
    const Wide product =
        static_cast<Wide>(value_ ^ word ^ 0xA0761D6478BD642FULL) * 0xE7037ED1A0B428DBULL;
    value_ = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  void add_bytes(const void* data, std::size_t size) {
    add(size);
    const char* at = static_cast<const char*>(data);
    for (; size >= 8; at += 8, size -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      add(word);
    }
    if (size == 0) return;
    std::uint64_t rest = 0;
    std::memcpy(&rest, at, size);
    add(rest);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Hashes elements of type T; the general case has no members. For a type of your own:
///
///     template <>
///     struct infeed::ElementHash<Image> {
///       static void add(const Image& image, infeed::OrderHash& hash) {
///         const std::string bytes = image.to_png();
///         hash.add_bytes(bytes.data(), bytes.size());
///       }
///     };
template <class T, class = void>
struct ElementHash {};

namespace detail {

template <class T>
inline constexpr bool kHasElementHash = requires(const T& value, OrderHash& hash) {
  ElementHash<T>::add(value, hash);
};

template <class T>
inline constexpr bool kIsBatch = false;
template <class T>
inline constexpr bool kIsBatch<Batch<T>> = true;

/// Returns true if hash_content() knows the type.
template <class T>
constexpr bool has_content();

template <class... Ts>
constexpr bool all_have_content(std::type_identity<std::tuple<Ts...>>) {
  return (has_content<Ts>() && ...);
}

template <class T>
constexpr bool has_content() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Record> ||
                std::is_same_v<T, std::string> || kHasElementHash<T>) {
    return true;
  } else if constexpr (kIsBatch<T>) {
    return has_content<typename T::row_type>();
  } else if constexpr (kIsSequence<T>) {
    return has_content<typename T::value_type>();
  } else if constexpr (field_count<T>() > 0) {
    return all_have_content(std::type_identity<FieldTypes<T>>());
  } else {
    return false;
  }
}

template <class T>
void hash_content(OrderHash& hash, const T& value);

/// Hashes how many values there are, and each of them.
template <class U>
void hash_values(OrderHash& hash, std::span<const U> values) {
  if constexpr (std::is_arithmetic_v<U> && !std::is_same_v<U, bool>) {
    hash.add_bytes(values.data(), values.size_bytes());
  } else {
    hash.add(values.size());
    for (const U& value : values) hash_content<U>(hash, value);
  }
}

template <class T>
void hash_content(OrderHash& hash, const T& value) {
  if constexpr (kHasElementHash<T>) {
    ElementHash<T>::add(value, hash);
  } else if constexpr (std::is_same_v<T, Record>) {
    hash.add_bytes(value.bytes().data(), value.bytes().size());
  } else if constexpr (std::is_same_v<T, std::string>) {
    hash.add_bytes(value.data(), value.size());
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, std::min(sizeof(T), sizeof(word)));
    hash.add(word);
  } else if constexpr (kIsBatch<T>) {
    hash.add(value.size());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto hash_column = [&hash](const auto& column) {
        for (const auto& element : column) hash_content(hash, element);
      };
      (hash_column(value.template column<I>()), ...);
    }
    (std::make_index_sequence<T::kColumns>());
  } else if constexpr (kIsSequence<T>) {
    using Element = typename T::value_type;
    if constexpr (std::is_arithmetic_v<Element> && !std::is_same_v<Element, bool>) {
      hash.add_bytes(value.data(), value.size() * sizeof(Element));
    } else {
      hash.add(value.size());
      for (const auto& element : value) hash_content<Element>(hash, element);
    }
  } else {
    std::apply([&hash](const auto&... field) { (hash_content(hash, field), ...); },
               tie_fields(value));
  }
}

}  // namespace detail
}  // namespace infeed
