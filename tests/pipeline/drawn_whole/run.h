#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/iterator.h>

#include "pipeline/drawn_whole/kinds.h"

/// An iterator of a drawn pipeline, whatever its elements are, and its stream as text.
namespace infeed::test {

/// A text an element, "! ..." for an error in an element's place, "!! ..." for a terminal error,
/// which is the last.
using Stream = std::vector<std::string>;

inline bool is_terminal(const std::string& text) { return text.starts_with("!! "); }

/// The way in which a consumer asks for elements.
enum class Manner { next, poll, peek, look };
inline constexpr int kManners = 4;

class Run {
 public:
  virtual ~Run() = default;

  /// Returns the next element, its error or the terminal error; none at the end.
  virtual std::optional<std::string> next(Manner manner) = 0;
  virtual std::uint64_t position() const = 0;
  virtual std::uint64_t order_hash() const = 0;
  virtual Checkpoint checkpoint() const = 0;
  virtual void cancel() = 0;
  virtual PipelineStatistics statistics() const = 0;
  virtual TuningReport tuning() const = 0;
  virtual RecordingStatus recording() const = 0;
  virtual void freeze_tuning() = 0;
  virtual const MemoryAccount& memory() const = 0;
  virtual void set_memory_limit(std::uint64_t bytes) = 0;
  /// Returns the code of the terminal error; none before it.
  virtual std::optional<ErrorCode> ended_by() const = 0;
  /// Returns the most bytes of one element.
  virtual std::uint64_t largest_element_bytes() const = 0;
};

/// `shows_places`: errors show their file and record, which elements from a cache in files don't
/// keep.
std::unique_ptr<Run> start(const AnyDataset& dataset, IterateOptions options,
                           bool shows_places = true);
Cardinality cardinality_of(const AnyDataset& dataset);

/// Takes up to `count` elements.
Stream take(Run& run, std::size_t count, Manner manner = Manner::next);

}  // namespace infeed::test
