#include "infeed/pipeline/reshard_checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string_view>

#include <infeed/detail/parse_whole.h>

#include "engine/find_shard.h"
#include "engine/resume/resharded_at.h"
#include "engine/seeds/signature.h"

namespace infeed::detail {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::failed_precondition, "reshard_checkpoint: " + why);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  return parse_whole(text, number) ? std::optional(number) : std::nullopt;
}

/// A stage's line: "batch(128, drop_remainder)" is batch, 128 rows, and "batch(?, drop_remainder)".
struct StageLine {
  std::string_view name;
  std::optional<std::uint64_t> rows = std::nullopt;  ///< the option that is a bare number
  std::uint64_t shards = 0;                          ///< the option count=, if it is a shard's
  std::string but_for_numbers = {};                  ///< the line without the numbers above
};

StageLine parse_line(std::string_view line) {
  StageLine parsed{.name = line.substr(0, line.find('('))};
  if (parsed.name == "shard") {
    constexpr std::string_view kCount = "shard(count=";
    const std::string_view rest = line.substr(std::min(line.size(), kCount.size()));
    parsed.shards = parse_number(rest.substr(0, rest.find(','))).value_or(0);
    parsed.but_for_numbers = parsed.name;
    return parsed;
  }
  parsed.but_for_numbers = line;
  if (parsed.name == "rebatch") {  // "rebatch(11 11 10)": each host has sizes of its own
    const std::size_t begin = parsed.name.size() + 1;
    const std::size_t end = std::min(line.find_first_not_of("0123456789 ", begin), line.size());
    if (begin < end) parsed.but_for_numbers.replace(begin, end - begin, "?");
    return parsed;
  }
  for (std::size_t begin = parsed.name.size() + 1; begin < line.size();) {
    const std::size_t end = std::min(line.find_first_of(",)", begin), line.size());
    parsed.rows = parse_number(line.substr(begin, end - begin));
    if (parsed.rows) {
      parsed.but_for_numbers.replace(begin, end - begin, "?");
      break;
    }
    begin = end + 2;
  }
  return parsed;
}

/// The stages behind shard, the last one first, and shard.
struct BehindShard {
  std::vector<const Node*> stages = {};
  const Node* shard = nullptr;
  const Node* repeat = nullptr;  ///< among the stages, if there is one
};

/// `has_whole_steps`: the elements are shares of global batches, so what rebatch has used follows.
BehindShard behind_shard(const Node& last, bool has_whole_steps) {
  BehindShard found{.shard = find_shard(last)};
  if (found.shard == nullptr) {
    refuse("the pipeline has no shard; one host is shard({.count = 1, .index = 0})");
  }
  for (const Node* node = &last; node != found.shard; node = &node->input()) {
    found.stages.push_back(node);
    if (node->name() == "repeat" && found.repeat == nullptr && !has_whole_steps) {
      found.repeat = node;
    } else if (!node->input_taken(0) && !(node->name() == "rebatch" && has_whole_steps)) {
      refuse(fmt::format(
          "{} stands behind shard, and which elements of the shared stream it has used doesn't "
          "follow from their number alone; put it before shard, or resume with as many shards as "
          "before",
          node->described()));
    }
  }
  return found;
}

/// Returns the pipeline's signature, in which the checkpoint's seeds replace drawn ones. Throws if
/// the pipeline differs in more than the shards and the rows of the batches behind them.
std::vector<std::string> check_same_but_for_shares(const Checkpoint& checkpoint, const Node& node) {
  SignatureMatch match = match_signature(
      checkpoint.signature, node, [](const std::string& before, const std::string& now) {
        return parse_line(before).but_for_numbers == parse_line(now).but_for_numbers;
      });
  if (match.is_whole) return std::move(match.ours);
  const auto line = [&](const std::vector<std::string>& lines) {
    return match.matched < lines.size() ? lines[match.matched] : "(none)";
  };
  refuse(
      fmt::format("the checkpoint belongs to another pipeline: its stage {} is '{}', this one's "
                  "is '{}'; only shards and the rows of batches behind them may change",
                  match.matched, line(checkpoint.signature), line(match.ours)));
}

[[noreturn]] void refuse_number(std::uint64_t position, const std::string& line) {
  refuse(
      fmt::format("position {} with the stage '{}' is beyond all that can be counted, so the "
                  "checkpoint is damaged",
                  position, line));
}

/// The elements that a shard of the checkpoint's own pipeline had given.
struct Given {
  std::uint64_t elements;
  std::uint64_t rows_in_pass = 1;  ///< rows of the batches between shard and repeat
};

Given given_by_shard(const Checkpoint& checkpoint, const std::vector<std::string>& ours,
                     const BehindShard& found) {
  std::uint64_t given = checkpoint.position;
  std::uint64_t given_to_repeat = 0;
  std::size_t line = ours.size();
  for (const Node* stage : found.stages) {
    const bool has_line = !stage->signature().empty();
    if (has_line) --line;
    if (stage == found.repeat) {
      given_to_repeat = given;
      continue;
    }
    std::optional<std::uint64_t> taken = stage->input_taken(given);
    if (has_line && checkpoint.signature[line] != ours[line]) {
      const std::uint64_t rows = parse_line(checkpoint.signature[line]).rows.value_or(1);
      std::uint64_t product = 0;
      taken = __builtin_mul_overflow(given, rows, &product) ? std::nullopt : std::optional(product);
    }
    if (!taken) refuse_number(checkpoint.position, checkpoint.signature[line]);
    given = *taken;
  }
  return {given, given_to_repeat == 0 ? 1 : given / given_to_repeat};
}

/// Throws unless the passes of all hosts ended together.
void check_passes(const Node& shard, const TakenBefore& taken, std::uint64_t shards,
                  std::uint64_t rows) {
  const Cardinality length = shard.input().cardinality();
  std::uint64_t together = 0;
  if (__builtin_mul_overflow(shards, rows, &together)) together = 0;
  const bool is_even = length.is_finite() && length.count() > 0 && together > 0 &&
                       length.count() % together == 0 &&
                       taken.elements % length.count() % together == 0;
  if (is_even) return;
  refuse(fmt::format(
      "repeat stands behind shard, and a pass of {} elements doesn't end at the "
      "same step on all of {} hosts with {} rows; put it before shard",
      length.is_finite() ? std::to_string(length.count()) : "unknown many", shards, rows));
}

/// Throws if a line before shard differs: its numbers are no share of anything.
void check_same_before_shard(const std::vector<std::string>& before,
                             const std::vector<std::string>& now, std::size_t shard_line) {
  for (std::size_t i = 0; i < shard_line; ++i) {
    if (before[i] == now[i]) continue;
    refuse(
        fmt::format("the checkpoint's stage {} is '{}', this one's is '{}', and it stands before "
                    "shard, where all hosts must have the same",
                    i, before[i], now[i]));
  }
}

/// The new pipeline's signature, and where shard stands in it.
struct Resharding {
  BehindShard found;
  std::vector<std::string> ours;
  std::size_t shard_line = 0;
  std::uint64_t shards = 0;  ///< those before
};

Resharding check_reshardable(const Checkpoint& checkpoint, const Node& node, bool has_whole_steps) {
  Resharding checked{.found = behind_shard(node, has_whole_steps),
                     .ours = check_same_but_for_shares(checkpoint, node)};
  const std::vector<const Node*>& behind = checked.found.stages;
  const auto lines_behind = std::count_if(
      behind.begin(), behind.end(), [](const Node* stage) { return !stage->signature().empty(); });
  checked.shard_line = checked.ours.size() - static_cast<std::size_t>(lines_behind) - 1;
  check_same_before_shard(checkpoint.signature, checked.ours, checked.shard_line);
  const std::string& shard_before = checkpoint.signature[checked.shard_line];
  checked.shards = parse_line(shard_before).shards;
  if (checked.shards == 0) {
    refuse(fmt::format("the checkpoint's stage '{}' is damaged", shard_before));
  }
  return checked;
}

/// Returns the checkpoint behind what all shards have taken in this run: `shares` times `each`.
Checkpoint behind_all(const Checkpoint& checkpoint, Resharding checked, std::uint64_t shares,
                      std::uint64_t each) {
  std::uint64_t together = 0;
  if (__builtin_mul_overflow(shares, each, &together) ||
      __builtin_add_overflow(together, checkpoint.taken.elements, &together) ||
      together > std::numeric_limits<std::int64_t>::max()) {
    refuse_number(checkpoint.position, checkpoint.signature[checked.shard_line]);
  }
  TakenBefore taken{.elements = together, .shards = checked.shards};
  // Shards that took nothing needn't have read what those before them left unseen.
  if (together == checkpoint.taken.elements) taken = checkpoint.taken;
  // Behind shard each host's stages have given other elements from now on.
  std::vector<Bookmark> bookmarks = checkpoint.bookmarks;
  std::erase_if(bookmarks, [&](const Bookmark& b) { return b.stage >= checked.shard_line; });
  return Checkpoint{.position = 0,
                    .epoch = checkpoint.epoch,
                    .errors = checkpoint.errors,
                    .errors_taken = 0,
                    .taken = taken,
                    .order_hash = 0,
                    .signature = std::move(checked.ours),
                    .bookmarks = std::move(bookmarks)};
}

/// Throws if the consumer took errors: one takes a step of its own beside the batches, so the steps
/// don't tell how many elements of the stream they used.
void check_no_errors_taken(const Checkpoint& checkpoint) {
  if (checkpoint.errors_taken == 0) return;
  refuse(fmt::format(
      "{} of the {} steps were errors, and behind batch or repeat it doesn't follow from "
      "the steps how many elements were taken; resume with as many shards as before, and "
      "put what fails before shard, with skip_errors behind it",
      checkpoint.errors_taken, checkpoint.position));
}

}  // namespace

Checkpoint make_resharded(const Checkpoint& checkpoint, const Node& node) {
  Resharding checked = check_reshardable(checkpoint, node, false);
  const auto [given, rows_in_pass] = given_by_shard(checkpoint, checked.ours, checked.found);
  if (checked.found.repeat != nullptr) {
    check_passes(*checked.found.shard, checkpoint.taken, checked.shards, rows_in_pass);
  }
  const bool is_an_element_each = given == checkpoint.position && checked.found.repeat == nullptr;
  if (!is_an_element_each) check_no_errors_taken(checkpoint);
  const std::uint64_t shards = checked.shards;
  return behind_all(checkpoint, std::move(checked), shards, given);
}

Checkpoint resharded_at_step(const Checkpoint& checkpoint, const Node& node,
                             std::uint64_t global_batch) {
  check_no_errors_taken(checkpoint);
  return behind_all(checkpoint, check_reshardable(checkpoint, node, true), checkpoint.position,
                    global_batch);
}

}  // namespace infeed::detail
