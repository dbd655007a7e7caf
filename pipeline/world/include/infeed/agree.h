#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/pipeline/checkpoint.h>

/// Why: hosts that read without talking to each other go wrong without a sign if one of them has
/// another copy of the data, another seed or another version of the program. So they compare what
/// must be equal: at the start, and at each checkpoint. A difference names the rank.
///
///     auto iterator = dataset.iterate();
///     infeed::agree(*ranks, "the start", infeed::facts_of(iterator.checkpoint(), ranks->world()));
///     ...
///     infeed::agree(*ranks, "the checkpoint of step 500", {{"optimiser", optimiser_bytes}});
///
/// Thread-safety and silent ranks: as Communicator's calls, which these are.
namespace infeed {

/// A name and a value that must be the same at each rank.
struct JobFact {
  std::string name;
  std::string value;

  bool operator==(const JobFact&) const = default;
};

/// Returns the facts that a checkpoint holds: the pipeline with its seeds, numbers of elements and
/// checksums of its data (checkpoint.h says what they cover), the position, the epoch, and the
/// elements taken by earlier runs. Errors and the order hash are left out: each rank has its own. So
/// is the rank where it is the index of a shard, and the order of host_batches()' sizes.
std::vector<JobFact> facts_of(const Checkpoint& checkpoint, const World& world);

/// Compares the facts, and infeed's version. Throws Error(failed_precondition) at every rank if any
/// of them differs from rank 0's: the message has each such fact, with a rank and both values.
void agree(Communicator& communicator, std::string_view when, std::vector<JobFact> facts);

/// Lets each rank make the batch of the next rank anew, since a batch is a function of description,
/// world and step, and compare hashes. So it finds data that differs where checksums don't look, and
/// functions that aren't pure.
///
///     infeed::cross_check(*ranks, 500, [&](const infeed::World& place) {
///       const auto part = numbers | infeed::shard({.count = place.size, .index = place.rank});
///       return std::hash<std::int64_t>()(part.at(500).element);
///     });
///
/// `hash_of` is called for this rank's own place, then for the next one's. Throws
/// Error(failed_precondition) at every rank, naming the two ranks that don't agree.
void cross_check(Communicator& communicator, std::uint64_t step,
                 const std::function<std::uint64_t(const World& world)>& hash_of);

}  // namespace infeed
