#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/error.h>

#include "fuzz.h"
#include "io/byte_source.h"
#include "records/codec/skippable.h"

/// Parts of the targets for files of compressed frames: a file made from a recipe, and what must
/// hold of every file.
namespace infeed::fuzz {

/// Most bytes that are decompressed: a few bytes can stand for gigabytes.
constexpr std::size_t kContentBytesMax = std::size_t{1} << 20;

struct Decompressed {
  std::string bytes;
  bool is_whole = true;  ///< false: the limit came first
  std::optional<std::string> damage = {};
};

/// Random bytes hardly ever hold a valid checksum. So an input is a recipe: a byte that says if it
/// is one, then pieces of a file, then changes to it. `compress` makes a frame; its second argument
/// chooses how.
inline std::string file_of_frames(
    Input& input, const std::function<std::string(std::string_view, std::uint8_t)>& compress) {
  if ((input.byte() & 1) != 0) return std::string(input.rest());
  std::string file;
  std::vector<std::pair<std::uint16_t, char>> changes;
  while (!input.is_empty()) {
    switch (input.byte() % 5) {
      case 0: {
        const std::uint8_t how = input.byte();
        file += compress(input.bytes(input.two_bytes()), how);
        break;
      }
      case 1: {  // many bytes from few
        const std::uint8_t how = input.byte();
        const std::size_t size = std::size_t{input.two_bytes()} * 8;
        file += compress(std::string(size, static_cast<char>(input.byte())), how);
        break;
      }
      case 2:
        file += test::skippable_frame(std::string(input.bytes(input.byte())),
                                      0x184d2a50U + input.byte() % 16);
        break;
      case 3:
        file += input.bytes(input.byte());
        break;
      default: {
        const std::uint16_t at = input.two_bytes();
        changes.emplace_back(at, static_cast<char>(input.byte()));
        break;
      }
    }
  }
  for (const auto& [at, bits] : changes) {
    if (!file.empty()) file[at % file.size()] = static_cast<char>(file[at % file.size()] ^ bits);
  }
  return file;
}

inline Decompressed decompress(const std::string& file, Compression compression,
                               std::size_t input_block_bytes, std::size_t room_bytes,
                               const detail::ThreadsAhead& ahead = {}) {
  Decompressed found;
  const detail::OpenedSource opened = detail::open_source(
      file, {.compression = compression, .input_block_bytes = input_block_bytes, .ahead = ahead});
  std::string room(room_bytes, '\0');
  try {
    while (const std::size_t got = opened.source->read(room)) {
      require(got <= room.size(), "no more than there is room for");
      found.bytes.append(room, 0, got);
      if (found.bytes.size() <= kContentBytesMax) continue;
      found.is_whole = false;
      return found;
    }
    require(opened.source->read(room) == 0, "behind the end there is nothing");
  } catch (const detail::StreamDamage& damage) {
    require(!damage.message.empty(), "damage has a text");
    found.damage = damage.message;
    if (!damage.resumes_at) require(opened.source->read(room) == 0, "behind damage it is over");
  }
  return found;
}

/// Checks that neither the size of blocks nor that of rooms changes anything, and that a file which
/// is read without damage has the content that `reference` (the library, all at once) finds; it
/// gives nothing for damage.
inline void check_frames(
    const std::string& bytes, Compression compression,
    const std::function<std::optional<std::string>(std::string_view)>& reference) {
  const MemoryFile memory;
  const std::string file = memory.write(bytes);
  const Decompressed first = decompress(file, compression, 64, std::size_t{256} << 10);
  for (const std::size_t room : {std::size_t{1000}, std::size_t{70'000}}) {
    const Decompressed other = decompress(file, compression, std::size_t{256} << 10, room);
    if (!first.is_whole || !other.is_whole) continue;
    require(first.bytes == other.bytes, "the sizes of blocks and rooms change no byte");
    require(first.damage == other.damage, "the sizes of blocks and rooms change no text");
  }
  if (!first.is_whole) return;
  const std::optional<std::string> expected = reference(bytes);
  if (!first.damage) require(expected == first.bytes, "the library finds the same bytes");
}

}  // namespace infeed::fuzz
