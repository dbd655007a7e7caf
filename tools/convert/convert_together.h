#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include <infeed/communicator.h>
#include <infeed/convert/example_input.h>

#include "convert/convert.h"

namespace infeed::tools {

struct ConvertRanksOptions {
  /// A rank that gives no sign of life for so long is lost: others make its shards.
  std::chrono::nanoseconds silence_max = std::chrono::seconds(4);
  /// Called at rank 0 with a line about a rank that is lost, or has come back.
  std::function<void(const std::string&)> on_note = {};
};

/// convert() by all ranks of a job. Rank 0 hands out the shards, one at a time, also to itself, keeps
/// the journal and writes the manifest. The bytes are those of one process. Each rank sees the same
/// input; with an output in a store only rank 0 needs to find its folder again.
///
/// A rank that dies or is stopped is lost, and the others make its shards. If it wakes up, it works
/// again: of two who make a shard the first one counts, and the bytes are the same.
class ConvertRanks {
 public:
  /// `ranks` must outlive it.
  explicit ConvertRanks(Communicator& ranks, ConvertRanksOptions options = {});

  /// Called by every rank for one set after the other, with the same arguments. Rank 0 returns the
  /// result, the others one without shards.
  ///
  /// Errors: convert()'s; failed_precondition if the ranks' plans differ; unavailable if rank 0 is
  /// silent. After an error at one rank the caller must end the job (Communicator::abort()). Finished
  /// shards stay: the next call of any number of ranks goes on.
  ConvertResult convert(const ExampleInput& input, const ConvertOptions& options);

  /// Returns the ranks that are lost, as rank 0 knows them. The end of MPI would wait for them.
  const std::set<int>& lost() const { return lost_; }

 private:
  Communicator& ranks_;
  const ConvertRanksOptions options_;
  std::set<int> lost_;
  std::uint32_t set_ = 0;      ///< number of the call
  bool all_are_there_ = true;  ///< at the end of the last call
};

}  // namespace infeed::tools
