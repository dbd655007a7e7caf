#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>

#include <infeed/agree.h>
#include <infeed/error.h>

#include "world/shortened.h"

namespace infeed {
namespace {

/// Replaces the rank where the line is a shard of this world, and sorts the sizes of rebatch, which
/// come in another order at each rank.
std::string without_rank(const std::string& line, const World& world) {
  if (line == fmt::format("shard(count={}, index={})", world.size, world.rank)) {
    return fmt::format("shard(count={}, index=rank)", world.size);
  }
  constexpr std::string_view kRebatch = "rebatch(";
  if (!line.starts_with(kRebatch)) return line;
  const std::size_t end =
      std::min(line.find_first_not_of("0123456789 ", kRebatch.size()), line.size());
  std::vector<std::uint64_t> sizes;
  const char* at = line.data() + kRebatch.size();
  while (at < line.data() + end) {
    std::uint64_t size = 0;
    const auto parsed = std::from_chars(at, line.data() + end, size);
    if (parsed.ec != std::errc()) return line;
    sizes.push_back(size);
    at = parsed.ptr + (parsed.ptr < line.data() + end ? 1 : 0);
  }
  std::sort(sizes.begin(), sizes.end());
  return fmt::format("{}{}{}", kRebatch, fmt::join(sizes, " "), line.substr(end));
}

/// Writes "3:nameLENGTH:value", which holds any bytes.
void append_text(std::string& out, std::string_view text) {
  out += fmt::format("{}:{}", text.size(), text);
}

/// Returns the text in front and drops it; nothing if there is none.
std::optional<std::string> take_text(std::string_view& in) {
  std::size_t size = 0;
  const auto parsed = std::from_chars(in.data(), in.data() + in.size(), size);
  if (parsed.ec != std::errc() || parsed.ptr == in.data() + in.size() || *parsed.ptr != ':') {
    return std::nullopt;
  }
  in.remove_prefix(static_cast<std::size_t>(parsed.ptr - in.data()) + 1);
  if (size > in.size()) return std::nullopt;
  const std::string text(in.substr(0, size));
  in.remove_prefix(size);
  return text;
}

using Facts = std::map<std::string, std::string>;

Facts parse_facts(std::string_view text) {
  Facts facts;
  while (!text.empty()) {
    const std::optional<std::string> name = take_text(text);
    const std::optional<std::string> value = name ? take_text(text) : std::nullopt;
    if (!value) break;  // another version's text: its version differs, too
    facts[*name] = *value;
  }
  return facts;
}

}  // namespace

std::vector<JobFact> facts_of(const Checkpoint& checkpoint, const World& world) {
  std::vector<std::string> lines;
  for (const std::string& line : checkpoint.signature) lines.push_back(without_rank(line, world));
  return {{"pipeline", fmt::format("{}", fmt::join(lines, " | "))},
          {"position", std::to_string(checkpoint.position)},
          {"epoch", std::to_string(checkpoint.epoch)},
          {"elements taken before",
           fmt::format("{} by {}", checkpoint.taken.elements, checkpoint.taken.shards)}};
}

void agree(Communicator& communicator, std::string_view when, std::vector<JobFact> facts) {
  facts.push_back({"infeed's version", INFEED_VERSION});
  std::string text;
  for (const JobFact& fact : facts) {
    append_text(text, fact.name);
    append_text(text, fact.value);
  }
  const std::vector<std::string> all = all_gather(communicator, text, when);
  const Facts first = parse_facts(all[0]);
  std::string differences;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    Facts other = parse_facts(all[rank]);
    Facts names = first;
    names.insert(other.begin(), other.end());
    for (const auto& [name, value] : names) {
      const auto of = [&name = name](const Facts& of_rank) {
        const auto found = of_rank.find(name);
        return found == of_rank.end() ? "(nothing)" : found->second;
      };
      const std::string theirs = of(other), ours = of(first);
      if (theirs == ours) continue;
      differences += fmt::format("; {}: rank {} has {}, rank 0 has {}", name, rank,
                                 detail::shortened(theirs, ours), detail::shortened(ours, theirs));
    }
  }
  if (differences.empty()) return;
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("the ranks differ at {}{}; all ranks of a job must run the same program with "
                  "the same options and data",
                  when, differences));
}

void cross_check(Communicator& communicator, std::uint64_t step,
                 const std::function<std::uint64_t(const World& world)>& hash_of) {
  const World own = communicator.world();
  const World next{(own.rank + 1) % own.size, own.size};
  const std::string purpose = fmt::format("the cross-check of step {}", step);
  const auto hashes = all_gather(
      communicator, fmt::format("{:016x} {:016x}", hash_of(own), hash_of(next)), purpose);
  std::string differences;
  for (int rank = 0; rank < own.size; ++rank) {
    const int other = (rank + 1) % own.size;
    const std::string found = hashes[static_cast<std::size_t>(rank)].substr(17);
    const std::string said = hashes[static_cast<std::size_t>(other)].substr(0, 16);
    if (found == said) continue;
    differences += fmt::format(
        "{}rank {} made a batch of hash {}, where rank {} makes {} of the same "
        "description",
        differences.empty() ? "" : "; ", other, said, rank, found);
  }
  if (differences.empty()) return;
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("in {} {}: one of them reads other data, or a function of the pipeline isn't "
                  "pure",
                  purpose, differences));
}

}  // namespace infeed
