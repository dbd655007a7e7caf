#include <fmt/format.h>
#include <optional>
#include <string_view>

#include <infeed/error.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/iterator.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/reshard_checkpoint.h>
#include <infeed/pipeline/shard.h>
#include <infeed/records/crc32c.h>

#include "fuzz.h"

/// Checkpoints of any text, with a right checksum, too: refused, or a place that resumes and
/// reshards to the elements of that place, or not at all.
namespace infeed::fuzz {
namespace {

auto share(std::uint64_t hosts) {
  return range(1'000) | shard({.count = hosts, .index = 0}) | batch(2);
}

std::optional<Checkpoint> parse(std::string_view text) try {
  return Checkpoint::from_text(text);
} catch (const Error& error) {
  const bool is_later = error.code() == ErrorCode::failed_precondition &&
                        error.message().find("format version") != std::string_view::npos;
  require(is_later || error.code() == ErrorCode::invalid_argument,
          "a bad checkpoint is refused as such, a later version's by its number");
  return std::nullopt;
}

}  // namespace

/// The first two bytes choose whether there is a checksum, and the numbers of hosts.
void check(Input input) {
  const bool is_sealed = input.byte() % 2 != 0;
  const std::uint8_t hosts = input.byte();
  std::string text(input.rest());
  if (is_sealed) text += fmt::format("\nchecksum {:08x}\n", crc32c(text + "\n"));
  const std::optional<Checkpoint> checkpoint = parse(text);
  if (!checkpoint) return;
  require(parse(checkpoint->to_text()) == checkpoint, "it can be written and read");
  const std::uint64_t before = 1 + hosts % 16U;
  const std::uint64_t now = 1 + hosts / 16U;
  try {
    const Checkpoint there = reshard_checkpoint(*checkpoint, share(now));
    require(there.position == 0 && there.taken.elements >= checkpoint->taken.elements,
            "no fewer elements lie behind it");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::failed_precondition, "what can't be resharded is refused");
  }
  try {
    auto dataset = share(before);
    auto iterator = dataset.iterate({.resume = *checkpoint});
    iterator.next();
  } catch (const Error&) {  // it may be of any other pipeline
  }
}

}  // namespace infeed::fuzz
