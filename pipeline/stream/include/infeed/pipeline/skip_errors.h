#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

struct SkipErrorsOptions {
  /// More failed elements than this in one pass are too many; without a value any number may fail.
  /// An error that took others with it counts for all of them, where their number is known
  /// (Error::lost()): by default a damaged record costs the rest of its shard.
  std::optional<Count> count_max = std::nullopt;
  /// More than this share of the elements (errors included) are too many: 0.01 is one in a hundred.
  /// It is judged from `share_after` elements on, and at the end of the pass however long it was.
  double share_max = 1.0;
  Count share_after = 1000;
  /// Each error is added to this file as a line of JSON (stage, position, code, message, file,
  /// offset, record), so that what was left out can be looked at later. Errors that other passes
  /// wrote are not written again. If the name is empty, no file is written.
  std::string quarantine_file = {};
  /// It is called with each error that is left out and its position in the input; what it throws is
  /// terminal.
  std::function<void(const Error& error, std::uint64_t position)> on_error = {};
  StageName name = {};  ///< as in StageOptions
};

/// Why: one bad record in ten million must not end a night's training, but a thousand of them must.
/// This leaves out elements that failed, up to a budget.
///
///     infeed::records("train-*.tfrecord",
///                     {.damage = infeed::DamagePolicy::skip_and_resynchronise})
///         | infeed::parse<Sample>(schema)
///         | infeed::skip_errors({.count_max = 100, .share_max = 0.001,
///                                .quarantine_file = "bad-records.jsonl"})
///
/// Beyond the budget comes a terminal Error (resource_exhausted) with the counts and the last
/// error. It also comes when a pass gave nothing but errors, even without a budget: a misspelt
/// feature, say. (Inside flat_map and interleave that is judged from 100 errors on, since one file
/// of many may be gone; for an endless input from 100,000 on.) A quarantine file that can't be
/// written is terminal, too. Terminal errors of the stages before pass through and are never left
/// out.
inline auto skip_errors(SkipErrorsOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_skip_errors(SkipErrorsOptions options, NodePointer input);

}  // namespace detail

inline auto skip_errors(SkipErrorsOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_skip_errors, options));
}

}  // namespace infeed
