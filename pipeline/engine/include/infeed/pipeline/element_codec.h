#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/fields.h>
#include <infeed/records/record.h>

/// Why: a file cache writes elements as records and reads them back. A codec says how one type
/// becomes bytes. The library has codecs for numbers, std::string, Record, std::array, std::vector
/// and std::optional, and for pairs, tuples and plain structs of these. It also has codecs for
/// batches of every kind, and for other types that may be copied byte by byte. For a type of your
/// own:
///
///     template <>
///     struct infeed::ElementCodec<Image> {
///       static std::string layout() { return "image-1"; }   // change it when the bytes change
///       static void encode(const Image& image, std::string& out) { out += image.to_png(); }
///       static Image decode(infeed::ElementReader& in) { return Image::from_png(in.rest()); }
///     };
///
/// A string or Record on its own is written as it is, so every TFRecord reader can read its shards.
/// Numbers are little-endian. Codecs are called from any number of threads.
namespace infeed {

/// The general case has no members: elements of such a type can't be written.
template <class T, class = void>
struct ElementCodec {};

template <class T>
inline constexpr bool kHasElementCodec = requires {
  ElementCodec<T>::layout();
};

/// Reads the bytes of one element from front to back. Throws Error(data_loss) if there are too few.
class ElementReader {
 public:
  explicit ElementReader(const Record& record) : record_(record), rest_(record.bytes()) {}

  /// Returns the next `size` bytes.
  std::string_view bytes(std::uint64_t size);
  /// Returns all remaining bytes.
  std::string_view rest() { return std::exchange(rest_, {}); }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  /// Reads how many parts follow. Each part has at least `bytes_each` bytes.
  std::size_t count(std::size_t bytes_each);
  /// The record that holds the bytes.
  const Record& record() const { return record_; }
  /// Throws unless all bytes were read.
  void expect_end() const;

 private:
  const Record& record_;
  std::string_view rest_;
};

namespace detail {

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/// Structs are written field by field, because the padding between fields has no defined value.
template <class T>
inline constexpr bool kIsPlainStruct = std::is_class_v<T> && (field_count<T>() > 0);

inline void append_bytes(std::string& out, const void* data, std::size_t size) {
  out.append(static_cast<const char*>(data), size);
}
inline void append_count(std::string& out, std::uint64_t count) {
  append_bytes(out, &count, sizeof(count));
}

template <class Tuple>
inline constexpr bool kAllHaveCodecs = false;
template <class... Ts>
inline constexpr bool kAllHaveCodecs<std::tuple<Ts...>> = (kHasElementCodec<Ts> && ...);

}  // namespace detail

template <class T>
struct ElementCodec<T, std::enable_if_t<detail::kIsNumber<T>>> {
  static std::string layout() {
    // `char` has no sign on ARM and one on x86-64. Both write the same byte, so it has one name, and
    // caches that were written on one are read on the other.
    constexpr bool kSigned = std::is_signed_v<T> || std::is_same_v<T, char>;
    const char* const kind = std::is_floating_point_v<T> ? "f" : (kSigned ? "i" : "u");
    return kind + std::to_string(8 * sizeof(T));
  }
  static void encode(const T& value, std::string& out) {
    detail::append_bytes(out, &value, sizeof(T));
  }
  static T decode(ElementReader& in) { return in.number<T>(); }
};

template <>
struct ElementCodec<std::string> {
  static std::string layout() { return "string"; }
  static void encode(const std::string& text, std::string& out) {
    detail::append_count(out, text.size());
    out += text;
  }
  static std::string decode(ElementReader& in) { return std::string(in.bytes(in.count(1))); }
};

template <>
struct ElementCodec<Record> {
  static std::string layout() { return "string"; }
  static void encode(const Record& record, std::string& out) {
    detail::append_count(out, record.size());
    out += record.bytes();
  }
  static Record decode(ElementReader& in) { return in.record().slice(in.bytes(in.count(1))); }
};

template <class T, std::size_t N>
struct ElementCodec<std::array<T, N>, std::enable_if_t<kHasElementCodec<T>>> {
  static std::string layout() {
    return "array<" + ElementCodec<T>::layout() + "," + std::to_string(N) + ">";
  }
  static void encode(const std::array<T, N>& values, std::string& out) {
    if constexpr (detail::kIsNumber<T>) {
      detail::append_bytes(out, values.data(), sizeof(values));
    } else {
      for (const T& value : values) ElementCodec<T>::encode(value, out);
    }
  }
  static std::array<T, N> decode(ElementReader& in) {
    if constexpr (detail::kIsNumber<T>) {
      return in.number<std::array<T, N>>();
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<T, N>{(static_cast<void>(I), ElementCodec<T>::decode(in))...};
      }
      (std::make_index_sequence<N>());
    }
  }
};

template <class T, class A>
struct ElementCodec<std::vector<T, A>, std::enable_if_t<kHasElementCodec<T>>> {
  static std::string layout() { return "vector<" + ElementCodec<T>::layout() + ">"; }
  static void encode(const std::vector<T, A>& values, std::string& out) {
    detail::append_count(out, values.size());
    if constexpr (detail::kIsNumber<T> && !std::is_same_v<T, bool>) {
      detail::append_bytes(out, values.data(), values.size() * sizeof(T));
    } else {
      for (const T& value : values) ElementCodec<T>::encode(value, out);
    }
  }
  static std::vector<T, A> decode(ElementReader& in) {
    std::vector<T, A> values;
    if constexpr (detail::kIsNumber<T> && !std::is_same_v<T, bool>) {
      values.resize(in.count(sizeof(T)));
      const std::string_view bytes = in.bytes(values.size() * sizeof(T));
      if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      const std::size_t count = in.count(std::is_empty_v<T> ? 0 : 1);
      for (std::size_t i = 0; i < count; ++i) values.push_back(ElementCodec<T>::decode(in));
    }
    return values;
  }
};

template <class T>
struct ElementCodec<std::optional<T>, std::enable_if_t<kHasElementCodec<T>>> {
  static std::string layout() { return "optional<" + ElementCodec<T>::layout() + ">"; }
  static void encode(const std::optional<T>& value, std::string& out) {
    out.push_back(value ? '\1' : '\0');
    if (value) ElementCodec<T>::encode(*value, out);
  }
  static std::optional<T> decode(ElementReader& in) {
    if (in.number<char>() == '\0') return std::nullopt;
    return ElementCodec<T>::decode(in);
  }
};

template <class T>
struct ElementCodec<T, std::enable_if_t<detail::kIsPlainStruct<T> &&
                                        detail::kAllHaveCodecs<detail::FieldTypes<T>>>> {
  using Fields = detail::FieldTypes<T>;
  using Indices = std::make_index_sequence<std::tuple_size_v<Fields>>;

  static std::string layout() {
    std::string text;
    const auto add = [&text](const std::string& field) {
      text += (text.empty() ? "{" : ",") + field;
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add(ElementCodec<std::tuple_element_t<I, Fields>>::layout()), ...);
    }
    (Indices());
    return text + "}";
  }
  static void encode(const T& value, std::string& out) {
    std::apply(
        [&out](const auto&... field) {
          (ElementCodec<std::remove_cvref_t<decltype(field)>>::encode(field, out), ...);
        },
        detail::tie_fields(value));
  }
  static T decode(ElementReader& in) {
    return [&in]<std::size_t... I>(std::index_sequence<I...>) {
      return T{ElementCodec<std::tuple_element_t<I, Fields>>::decode(in)...};  // left to right
    }
    (Indices());
  }
};

/// For types that can only be copied as a whole: classes with constructors.
template <class T>
struct ElementCodec<
    T, std::enable_if_t<std::is_class_v<T> && std::is_trivially_copyable_v<T> &&
                        std::is_default_constructible_v<T> && !detail::kIsPlainStruct<T> &&
                        !detail::kIsStdArray<T> && !detail::kIsOptional<T>>> {
  static std::string layout() { return "bytes<" + std::to_string(sizeof(T)) + ">"; }
  static void encode(const T& value, std::string& out) {
    detail::append_bytes(out, &value, sizeof(T));
  }
  static T decode(ElementReader& in) { return in.number<T>(); }
};

}  // namespace infeed
