#include "example/varints.h"

#include <algorithm>
#include <optional>
#include <string>

#include <infeed/error.h>

#include "fuzz.h"

/// Runs of varints: each form that this machine can run decodes a block as byte by byte.
namespace infeed::fuzz {
namespace {

using detail::kVarintBlockBytes;
using detail::UnpackBlock;
using detail::WireReader;

struct Block {
  std::vector<std::uint64_t> values;
  std::ptrdiff_t bytes = 0;

  bool operator==(const Block&) const = default;
};

/// Returns nothing for an error.
std::optional<Block> unpack(UnpackBlock unpack_block, const char* begin) {
  std::array<std::uint64_t, kVarintBlockBytes> values;
  const char* at = begin;
  try {
    const std::size_t count = unpack_block(at, values.data());
    return Block{{values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}, at - begin};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Decodes the varints that begin and end in the first block.
std::optional<Block> unpack_one_by_one(const char* begin) {
  Block block;
  WireReader reader({begin, static_cast<std::size_t>(kVarintBlockBytes)});
  try {
    while (!reader.is_at_end()) {
      const std::string_view rest = reader.rest();
      const bool is_whole = std::any_of(rest.begin(), rest.end(), [](char c) { return c >= 0; });
      if (!is_whole && block.bytes != 0) break;
      block.values.push_back(reader.varint());
      block.bytes = reader.position() - begin;
    }
    return block;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::uint64_t> all_of(std::string_view run) {
  std::vector<std::uint64_t> values;
  detail::visit_packed_varints(run, [&](std::span<const std::uint64_t> some) {
    values.insert(values.end(), some.begin(), some.end());
  });
  return values;
}

}  // namespace

void check(Input input) {
  std::string run(input.rest());
  std::optional<std::vector<std::uint64_t>> expected(std::in_place);
  try {
    for (detail::WireReader reader(run); !reader.is_at_end();) expected->push_back(reader.varint());
  } catch (const Error&) {
    expected.reset();
  }
  try {
    const auto values = all_of(run);
    require(expected == values, "a run has the values that it has one by one");
  } catch (const Error& error) {
    require(!expected, error.what());
  }
  constexpr std::size_t kLoadedBytes = detail::kVarintLoadedBytes;
  if (run.size() < kLoadedBytes) run.resize(kLoadedBytes, '\x80');
  const std::string block = run.substr(0, kLoadedBytes);
  const auto one_by_one = unpack_one_by_one(block.data());
  for (const detail::UnpackBlock form : detail::unpack_block_forms()) {
    require(unpack(form, block.data()) == one_by_one, "all forms decode alike");
  }
}

}  // namespace infeed::fuzz
