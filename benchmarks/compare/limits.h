#pragma once

#include "row.h"

/// Why: "at most 20 ns" means one thing on one machine and another on the next. So such rows have a
/// limit that is measured in the same run: code written by hand for this one purpose, with nothing
/// of infeed in it.
namespace infeed::compare {

/// Returns nanoseconds an element of ten real calls, through pointers that the compiler can't see
/// through.
double ten_calls_ns(const RunOptions& options);

/// Returns nanoseconds an element of one such call.
double one_call_ns(const RunOptions& options);

/// Returns nanoseconds an element of a loop on one thread that calls a function through a pointer,
/// draws from a buffer of 10,000 that it fills up again, and copies into batches of 128.
double shuffled_batches_ns(const RunOptions& options);

/// Returns nanoseconds an element of loops that do the work of one stage by hand: a hash table by open
/// addressing, at most half full, for `options.elements` different numbers (unique); a vector of 10 a
/// window (window(10)); vectors of 0 to 19 numbers copied into rows of a batch of 32
/// (padded_batch(32)); 16 cursors over 1,000 numbers each, by turns (interleave(16)).
double hash_table_ns(const RunOptions& options);
double windows_ns(const RunOptions& options);
double padded_rows_ns(const RunOptions& options);
double cursors_ns(const RunOptions& options);

/// Returns milliseconds for a million draws from such a buffer, which a resume can't leave out.
double million_draws_ms(const RunOptions& options);

/// Hold-backs, in milliseconds, of elements that come every 20 ms and cross to another thread once,
/// by a mutex and a condition variable.
struct HandOver {
  double median_ms;
  double longest_ms;
};
HandOver hand_over(const RunOptions& options);

}  // namespace infeed::compare
