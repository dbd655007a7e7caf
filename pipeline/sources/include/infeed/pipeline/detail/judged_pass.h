#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <infeed/error.h>
#include <infeed/pipeline/node.h>

/// Why: a wrong schema shows in each record, so the first records of a pass tell it. But whoever
/// counts "so far" in the threads that parse says something else in each run, and in a resume, which
/// begins to count in the middle. This stage looks at a pass from its beginning, in order, before its
/// elements are parsed. Not for direct use.
namespace infeed::detail {

/// Judges one pass by its first elements.
class PassJudge {
 public:
  virtual ~PassJudge() = default;
  /// Looks at the next element that isn't an error.
  virtual void look_at(const void* element) = 0;
  /// Returns true if the pass is good, whatever follows.
  virtual bool is_content() const = 0;
  /// Returns the number of elements that count for the verdict.
  virtual std::uint64_t records() const = 0;
  /// Returns the verdict on a pass that isn't good.
  virtual Error error() const = 0;
};

struct JudgeSpec {
  std::function<std::unique_ptr<PassJudge>()> begin_pass;
  /// The number of records, 1 or more, behind which a pass that isn't good ends with the judge's error.
  std::uint64_t records_max;
  bool judges_shorter = false;  ///< a pass that ends before does so, too
};

/// Hands the elements on. The stage has no line of its own in statistics, paths and checkpoints.
NodePointer make_judged_pass(JudgeSpec spec, NodePointer input);

}  // namespace infeed::detail
