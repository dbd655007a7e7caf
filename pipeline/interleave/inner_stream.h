#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <infeed/pipeline/detail/inner_dataset.h>

#include "interleave/cycle_history.h"

// The parts that flat_map and interleave share.
namespace infeed::detail {

/// The outer input, one element at a time.
class OuterInput {
 public:
  OuterInput(const TypeInfo& type, std::unique_ptr<Stage> input)
      : input_(std::move(input)), in_(type) {}

  /// Moves the next element, or its error, into `element`, an empty chunk of its type. Sets
  /// `position` to its number.
  Pull next(Chunk& element, std::uint64_t& position);
  /// Returns the number of the next element.
  std::uint64_t position() const { return position_; }
  /// Drops `count` elements that were pulled, if there are so many. Returns how many are left to be
  /// passed over in the input.
  std::uint64_t drop(std::uint64_t count, Known known);
  Stage& input() { return *input_; }
  /// Says that elements of the input were passed over.
  void note_skipped(std::uint64_t count) { position_ += count; }

 private:
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  std::uint64_t position_ = 0;
};

class InnerOpener;

/// A running inner dataset with its description, which its stages refer to.
class InnerStream {
 public:
  InnerStream() = default;
  /// Makes a resting stream, before its first element.
  InnerStream(NodePointer node, std::uint64_t position)
      : node_(std::move(node)), position_(position) {}
  ~InnerStream() { close(); }
  InnerStream(InnerStream&& other) noexcept = default;
  InnerStream& operator=(InnerStream&& other) noexcept;

  bool is_open() const { return node_ != nullptr; }
  const Node& node() const { return *node_; }
  /// The label of its last stage.
  const std::string& label() const { return stage_->label(); }
  /// Number of elements pulled or skipped so far.
  std::uint64_t given() const { return given_; }
  Pull pull(Chunk& out, std::size_t want);
  std::uint64_t skip(std::uint64_t count, Known known);
  /// Returns the places of the last pull's elements. Only for the thread that pulls.
  InnerPlaces places() const;
  void close();
  /// Makes the stream rest after its first `given` elements. Returns its stages, which the caller
  /// drops. InnerOpener::open_again() goes on from there with new stages.
  std::unique_ptr<Stage> rest_behind(std::uint64_t given);
  bool rests() const { return node_ != nullptr && stage_ == nullptr; }

 private:
  friend class InnerOpener;
  NodePointer node_;
  std::uint64_t position_ = 0;  ///< the outer element's position
  std::unique_ptr<Stage> stage_;
  std::uint64_t given_ = 0;
  std::uint64_t given_last_ = 0;   ///< elements of the last pull
  Known known_ = Known::nothing;   ///< about elements given: open_again() passes over them
  bool pulls_one_by_one_ = false;  ///< so that each can be traced to its offset
};

/// Makes inner datasets of outer elements, and must outlive them. Thread-safety: any thread may
/// call it.
class InnerOpener {
 public:
  /// `context` is the context of the stage that they are opened for.
  InnerOpener(InnerDatasets datasets, const StageContext& context)
      : datasets_(std::move(datasets)), context_(context) {}

  /// Calls the user's function on the one value in `element`, which is used up. Throws the
  /// function's exceptions.
  NodePointer describe(Chunk& element) const;
  /// Opens the inner dataset. `position` is that of the outer element. Throws the exceptions of the
  /// inner stages.
  InnerStream open(NodePointer node, std::uint64_t position) const;
  /// Opens a resting stream. Throws the exceptions of the inner stages; then the stream still
  /// rests.
  void open_again(InnerStream& stream) const;

 private:
  const InnerDatasets datasets_;
  const StageContext context_;
};

}  // namespace infeed::detail
