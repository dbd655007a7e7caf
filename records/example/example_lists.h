#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "example/varints.h"
#include "example/wire.h"
#include "infeed/records/example.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

/// The lists inside a Feature, value by value.
namespace infeed::detail {

inline constexpr std::uint32_t kFirstBytes = make_tag(1, kLengthDelimited);
inline constexpr std::uint32_t kSecondBytes = make_tag(2, kLengthDelimited);

inline std::optional<FeatureKind> kind_of_tag(std::uint32_t tag) {
  switch (tag) {
    case make_tag(1, kLengthDelimited):
      return FeatureKind::bytes;
    case make_tag(2, kLengthDelimited):
      return FeatureKind::floats;
    case make_tag(3, kLengthDelimited):
      return FeatureKind::integers;
    default:
      return std::nullopt;
  }
}

struct WalkedLists {
  std::optional<FeatureKind> kind;  // kind of the last run, the one that counts
  std::size_t run = 0;
};

/// Calls visit(run, list) for every list in a Feature. Neighbours of one kind make one run, which
/// is one list. Another kind begins a new run, and the runs before it don't count.
template <class Visitor>
void walk_feature(std::string_view bytes, WalkedLists& walked, Visitor&& visit) {
  WireReader feature(bytes);
  while (!feature.is_at_end()) {
    const std::uint32_t tag = feature.tag();
    const auto kind = kind_of_tag(tag);
    if (!kind) {
      feature.skip_value(tag);
      continue;
    }
    if (walked.kind != kind) ++walked.run;
    walked.kind = kind;
    visit(walked.run, feature.bytes());
  }
}

/// Does the same for the Features of a map entry, which count as one.
template <class Visitor>
void walk_entry(std::string_view entry, WalkedLists& walked, Visitor&& visit) {
  WireReader fields(entry);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kSecondBytes) {
      walk_feature(fields.bytes(), walked, visit);
    } else {
      fields.skip_value(tag);
    }
  }
}

/// Calls visit(std::span<const std::uint64_t>) for runs of values of an Int64List, as the bits of
/// int64.
template <class Visitor>
void visit_integers(std::string_view list, Visitor&& visit) {
  WireReader fields(list);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kFirstBytes) {
      visit_packed_varints(fields.bytes(), visit);
    } else if (tag == make_tag(1, kVarint)) {
      const std::uint64_t value = fields.varint();
      visit(std::span<const std::uint64_t>(&value, 1));
    } else {
      fields.skip_value(tag);
    }
  }
}

/// Returns how many bytes are below 0x80.
inline std::size_t count_small_bytes(std::string_view bytes) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  std::size_t count = 0;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    const std::uint64_t small = (~load_little<std::uint64_t>(bytes.data()) >> 7) & kOnes;
    count += (small * kOnes) >> 56;  // the sum of the bytes of `small`
  }
  for (const char byte : bytes) count += (byte & 0x80) == 0 ? 1 : 0;
  return count;
}

/// Returns the number of values in an Int64List without decoding them: each ends in a byte below
/// 0x80. (Values that are wrong for another reason are found by decoding.)
inline std::size_t count_integers(std::string_view list) {
  std::size_t count = 0;
  WireReader fields(list);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kFirstBytes) {
      const std::string_view run = fields.bytes();
      if (!run.empty() && (run.back() & 0x80) != 0) fail_wire("an integer is cut");
      count += count_small_bytes(run);
    } else if (tag == make_tag(1, kVarint)) {
      fields.varint();
      ++count;
    } else {
      fields.skip_value(tag);
    }
  }
  return count;
}

/// Calls visit(run) for every run of little-endian floats of a FloatList.
template <class Visitor>
void visit_float_runs(std::string_view list, Visitor&& visit) {
  WireReader fields(list);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kFirstBytes) {
      const std::string_view run = fields.bytes();
      if (run.size() % sizeof(float) != 0) fail_wire("packed floats are cut");
      visit(run);
    } else if (tag == make_tag(1, kFixed32)) {
      visit(std::string_view(fields.fixed(sizeof(float)), sizeof(float)));
    } else {
      fields.skip_value(tag);
    }
  }
}

/// Calls visit(value) for every value of a BytesList.
template <class Visitor>
void visit_bytes(std::string_view list, Visitor&& visit) {
  WireReader fields(list);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kFirstBytes) {
      visit(fields.bytes());
    } else {
      fields.skip_value(tag);
    }
  }
}

}  // namespace infeed::detail
