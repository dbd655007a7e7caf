#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

struct SkipErrorsOptions {
  /// The most failed elements in one pass; without a value any number may fail. An error that took
  /// other elements with it counts for all of them, if their number is known (Error::lost()): by
  /// default a damaged record costs the rest of its shard.
  std::optional<Count> count_max = std::nullopt;
  /// The largest share of failed elements (errors included in the total): 0.01 is one in a hundred.
  /// It is checked from `share_after` elements on, and at the end of a pass of any length.
  double share_max = 1.0;
  Count share_after = 1000;
  /// A file to which each error is added as a line of JSON (stage, position, code, message, file,
  /// offset, record), so that left-out elements can be looked at later. Errors that other passes
  /// wrote aren't written again. If the name is empty, no file is written.
  std::string quarantine_file = {};
  /// Called with each left-out error and its position in the input. Its exception is terminal.
  std::function<void(const Error& error, std::uint64_t position)> on_error = {};
  StageName name = {};  ///< as in StageOptions
};

/// Why: one bad record in ten million must not end a night's training, but a thousand of them must.
/// This stage leaves out failed elements, up to a budget.
///
///     infeed::records("train-*.tfrecord",
///                     {.damage = infeed::DamagePolicy::skip_and_resynchronise})
///         | infeed::parse<Sample>(schema)
///         | infeed::skip_errors({.count_max = 100, .share_max = 0.001,
///                                .quarantine_file = "bad-records.jsonl"})
///
/// Beyond the budget comes a terminal Error (resource_exhausted) with the counts and the last
/// error. It also comes, even without a budget, if a pass gave only errors, for example because of
/// a misspelt feature. (Inside flat_map and interleave only from 100 errors on, since one file of
/// many may be gone; for an endless input from 100,000 on.) A quarantine file that can't be written
/// is terminal, too. Terminal errors of the stages before pass through and are never left out.
///
/// A server's trouble (unavailable, deadline_exceeded) is left out as all else. But a cache or a
/// snapshot behind this stage keeps no elements from there on, since the next pass may give those that
/// are missing: one in files goes on there, one in memory is filled then. It becomes complete in a pass
/// without such an error.
inline auto skip_errors(SkipErrorsOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_skip_errors(SkipErrorsOptions options, NodePointer input);

}  // namespace detail

inline auto skip_errors(SkipErrorsOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_skip_errors, options));
}

}  // namespace infeed
