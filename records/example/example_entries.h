#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "example/example_lists.h"
#include "example/wire.h"

/// The map entries of an Example or SequenceExample.
namespace infeed::detail {

/// Returns the name of a map entry. The last one wins; without one it is empty.
inline std::string_view name_of_entry(std::string_view entry) {
  std::string_view name;
  WireReader fields(entry);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kFirstBytes) {
      name = fields.bytes();
    } else {
      fields.skip_value(tag);
    }
  }
  return name;
}

/// Calls visit(entry) for every entry of the maps in the message's fields with `map_tag`, in the
/// record's order.
template <class Visitor>
void visit_entries(std::string_view example, std::uint32_t map_tag, Visitor&& visit) {
  WireReader message(example);
  while (!message.is_at_end()) {
    const std::uint32_t tag = message.tag();
    if (tag != map_tag) {
      message.skip_value(tag);
      continue;
    }
    WireReader map(message.bytes());
    while (!map.is_at_end()) {
      const std::uint32_t inner = map.tag();
      if (inner == kFirstBytes) {
        visit(map.bytes());
      } else {
        map.skip_value(inner);
      }
    }
  }
}

/// One map entry. The usual form is name, value, nothing else. Anything else is legal and rare; the
/// general walk finds it.
struct Entry {
  explicit Entry(std::string_view entry) : whole(entry) {
    const auto byte = [entry](std::size_t i) { return static_cast<std::uint8_t>(entry[i]); };
    if (entry.size() >= 2 && byte(0) == kFirstBytes && byte(1) < 0x80 &&
        std::size_t{2} + byte(1) < entry.size() && byte(2U + byte(1)) == kSecondBytes) {
      name = entry.substr(2, byte(1));
      WireReader rest(entry.substr(3U + byte(1)));
      value = rest.bytes();
      is_usual = rest.is_at_end();
    }
    if (!is_usual) name = name_of_entry(entry);
  }

  std::string_view whole;
  std::string_view name;
  std::string_view value;  ///< only in the usual form
  bool is_usual = false;
};

}  // namespace infeed::detail
