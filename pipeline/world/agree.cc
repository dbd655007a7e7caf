#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <utility>

#include <infeed/agree.h>
#include <infeed/detail/meet_before_throwing.h>
#include <infeed/detail/message_values.h>
#include <infeed/detail/parse_whole.h>
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
  std::string_view rest = std::string_view(line).substr(0, end).substr(kRebatch.size());
  while (!rest.empty()) {
    if (!detail::take_number(rest, sizes.emplace_back())) return line;
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
  }
  std::sort(sizes.begin(), sizes.end());
  return fmt::format("{}{}{}", kRebatch, fmt::join(sizes, " "), line.substr(end));
}

using Facts = std::map<std::string, std::string>;

/// Returns the facts that a rank sent; none for another version's bytes.
Facts facts_in(std::string_view message) {
  Facts facts;
  try {
    for (JobFact& fact : detail::take_value<std::vector<JobFact>>(message))
      facts[std::move(fact.name)] = std::move(fact.value);
  } catch (const Error&) {
    facts.clear();
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
  std::string message;
  detail::append_value(facts, message);
  const std::vector<std::string> all = all_gather(communicator, message, when);
  const Facts first = facts_in(all[0]);
  std::string differences;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    Facts other = facts_in(all[rank]);
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
  detail::meet_before_throwing(communicator, when);
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
  detail::meet_before_throwing(communicator, purpose);
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("in {} {}: one of them reads other data, or a function of the pipeline isn't "
                  "pure",
                  purpose, differences));
}

}  // namespace infeed
