#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "infeed/detail/late_copy.h"
#include "infeed/records/detail/aligned_array.h"
#include "infeed/records/detail/example_shapes.h"
#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/name_table.h"
#include "infeed/records/detail/seen_features.h"
#include "infeed/records/example.h"

/// Why: nearly all Examples are written in one way: one Features message, each entry a name and a
/// Feature and nothing else, each Feature one list, each list of numbers packed in one run. Such
/// records are read here without views of features: 20 ns instead of 150 for a record of two
/// features. Anything else, and any error, is left to ExampleParser and FeatureView, which read the
/// record again. So false from a function says nothing about the record.
namespace infeed::detail {

/// Returns the content behind a tag and a length of up to three bytes at `at`, and moves `at`
/// behind it. Null if there is no such content.
[[gnu::always_inline]] inline const char* usual_content(const char*& at, const char* end,
                                                        std::uint8_t tag, std::size_t& size) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(at[i]); };
  constexpr std::ptrdiff_t kTagAndLengthMax = 4;
  const std::ptrdiff_t left = end - at;
  if (left < 2 || byte(0) != tag) return nullptr;
  std::size_t length = byte(1);
  const char* begin = at + 2;
  if (length >= 0x80) {
    if (left < kTagAndLengthMax) return nullptr;
    length = (length & 0x7f) | std::size_t{byte(2)} << 7;
    begin = at + 3;
    if (byte(2) >= 0x80) {
      length = (length & 0x3fff) | std::size_t{byte(3)} << 14;
      begin = at + 4;
      if (byte(3) >= 0x80) return nullptr;
    }
  }
  if (length > static_cast<std::size_t>(end - begin)) return nullptr;
  size = length;
  at = begin + length;
  return begin;
}

/// Returns such content if it is all that is left; otherwise null.
[[gnu::always_inline]] inline const char* usual_whole(std::string_view bytes, std::uint8_t tag,
                                                      std::size_t& size) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const char* const content = usual_content(at, end, tag, size);
  return at == end ? content : nullptr;
}

/// Calls visit(index in `names`, kind, list) -> bool for each feature whose name is in `names`, and
/// skip(bytes) for the content of every other feature. Returns true when the whole record is in the
/// usual form, has each of the names once, and no visit returned false.
template <class Visit, class Skip>
bool walk_usual_features(const NameTable& names, std::string_view example, Visit&& visit,
                         Skip&& skip) {
  constexpr std::uint8_t kFirst = 0x0a;   // field 1, length-delimited
  constexpr std::uint8_t kSecond = 0x12;  // field 2
  constexpr std::uint8_t kThird = 0x1a;   // field 3
  if (names.size() == 0 || names.size() > SeenFeatures::kFeaturesMax) return false;
  std::size_t size = 0;
  const char* at = usual_whole(example, kFirst, size);
  if (at == nullptr) return false;
  const char* const end = at + size;
  SeenFeatures seen(names.size());
  std::size_t found = 0;
  std::size_t predicted = names.first();
  while (at != end) {
    const char* entry = usual_content(at, end, kFirst, size);
    if (entry == nullptr) return false;
    const char* const entry_end = entry + size;
    const char* const name = usual_content(entry, entry_end, kFirst, size);
    if (name == nullptr) return false;
    const std::size_t index = names.find({name, size}, predicted);
    const char* const feature = usual_content(entry, entry_end, kSecond, size);
    if (feature == nullptr || entry != entry_end) return false;
    if (index == names.size()) {
      skip(std::string_view(feature, size));
      continue;
    }
    if (size == 0) return false;
    const auto tag = static_cast<std::uint8_t>(*feature);
    if (tag != kFirst && tag != kSecond && tag != kThird) return false;
    std::size_t list_size = 0;
    const char* const list = usual_whole({feature, size}, tag, list_size);
    if (list == nullptr || !seen.add(index)) return false;
    const auto kind = static_cast<FeatureKind>((tag >> 3) - 1);
    if (!visit(index, kind, std::string_view(list, list_size))) return false;
    ++found;
  }
  return found == names.size();
}

/// Returns the shape of an example that walk_usual_features() has walked.
std::unique_ptr<const ExampleShape> usual_shape(const NameTable& names, std::string_view example);

/// Calls visit as walk_usual_features() does, by a shape where one is known.
template <class Visit>
bool visit_usual_features(const ExampleParser& parser, std::string_view example, Visit&& visit) {
  ExampleShapes& shapes = parser.shapes();
  if (const ExampleShape* const shape = shapes.find(example)) return shape->visit(example, visit);
  const NameTable& names = parser.name_table();
  if (!walk_usual_features(names, example, visit, [](std::string_view) {})) return false;
  if (shapes.wants(example)) shapes.learn(usual_shape(names, example));
  return true;
}

// The functions below return false if a list isn't in the usual form or doesn't fit the value,
// which may then hold anything.

template <class I>
bool read_usual_integers(std::string_view list, std::span<I> out);
/// Reads one or more values to the front of `out`, which has usual_integers_room() places. Returns
/// how many there are; 0 if the list isn't in the usual form or doesn't fit.
template <class I>
std::size_t unpack_usual_integers(std::string_view list, std::span<I> out);
/// Returns the places needed: each value has at least a byte, and values are written in blocks of
/// 64.
inline std::size_t usual_integers_room(std::string_view list) { return list.size() + 64; }
/// Appends to `out`, which is unchanged where it returns false.
template <class I>
bool append_usual_integers(std::string_view list, AlignedArray<I>& out) {
  const std::size_t before = out.size();
  const std::size_t count = unpack_usual_integers<I>(list, out.extend(usual_integers_room(list)));
  out.truncate(before + count);
  return count != 0;
}

/// Reads one value, packed or not.
inline bool read_usual_float(std::string_view list, float& out) {
  constexpr std::uint8_t kPacked = 0x0a;
  constexpr std::uint8_t kUnpacked = 0x0d;
  const auto byte = [list](std::size_t i) { return static_cast<std::uint8_t>(list[i]); };
  const bool is_packed =
      list.size() == 2 + sizeof(float) && byte(0) == kPacked && byte(1) == sizeof(float);
  const bool is_unpacked = list.size() == 1 + sizeof(float) && byte(0) == kUnpacked;
  if (!is_packed && !is_unpacked) return false;
  std::memcpy(&out, list.data() + list.size() - sizeof(float), sizeof(float));
  return true;
}

inline bool read_usual_floats(std::string_view list, std::span<float> out,
                              LateCopy* late = nullptr) {
  const auto size = out.size() * sizeof(float);
  if (out.size() == 1) return read_usual_float(list, out[0]);
  std::size_t found = 0;
  const char* const values = usual_whole(list, 0x0a, found);
  if (values == nullptr || found != size || size == 0) return false;
  copy_or_leave(late, out.data(), values, size);
  return true;
}

/// Reads one value of bytes.
inline bool read_usual_bytes(std::string_view list, std::string_view& out) {
  std::size_t size = 0;
  const char* const value = usual_whole(list, 0x0a, size);
  if (value == nullptr) return false;
  out = {value, size};
  return true;
}

template <class T>
inline constexpr bool kIsUsualInteger = kIsInteger<T> && !std::is_same_v<T, bool>;

/// The record of a list, and the copy to leave for later; either may be null. They are one
/// argument, since a virtual call has no register for a second.
struct ListSource {
  const Record* record = nullptr;
  LateCopy* late = nullptr;
};

/// Reads a member from a list in the usual form. The general case never succeeds.
template <class M>
struct UsualForm {
  static bool read(FeatureKind, std::string_view, const ListSource&, M&) { return false; }
};

template <class I>
requires kIsUsualInteger<I>
struct UsualForm<I> {
  static bool read(FeatureKind kind, std::string_view list, const ListSource&, I& out) {
    return kind == FeatureKind::integers && read_usual_integers(list, std::span<I>(&out, 1));
  }
};

template <>
struct UsualForm<float> {
  static bool read(FeatureKind kind, std::string_view list, const ListSource&, float& out) {
    return kind == FeatureKind::floats && read_usual_float(list, out);
  }
};

template <class T, std::size_t N>
requires(N != 0 && (kIsUsualInteger<T> || kIsByte<T> || std::is_same_v<T, float>))  //
    struct UsualForm<std::array<T, N>> {
  static bool read(FeatureKind kind, std::string_view list, const ListSource& source,
                   std::array<T, N>& out) {
    if constexpr (kIsByte<T>) {
      std::string_view value;
      if (kind != FeatureKind::bytes || !read_usual_bytes(list, value) || value.size() != N) {
        return false;
      }
      copy_or_leave(source.late, out.data(), value.data(), N);
      return true;
    } else if constexpr (std::is_same_v<T, float>) {
      return kind == FeatureKind::floats &&
             read_usual_floats(list, std::span<float>(out), source.late);
    } else {
      return kind == FeatureKind::integers && read_usual_integers(list, std::span<T>(out));
    }
  }
};

template <>
struct UsualForm<std::string> {
  static bool read(FeatureKind kind, std::string_view list, const ListSource&, std::string& out) {
    std::string_view value;
    if (kind != FeatureKind::bytes || !read_usual_bytes(list, value)) return false;
    out.assign(value);
    return true;
  }
};

template <>
struct UsualForm<Record> {
  static bool read(FeatureKind kind, std::string_view list, const ListSource& source, Record& out) {
    std::string_view value;
    if (source.record == nullptr || kind != FeatureKind::bytes || !read_usual_bytes(list, value)) {
      return false;
    }
    out = source.record->slice(value);
    return true;
  }
};

}  // namespace infeed::detail
