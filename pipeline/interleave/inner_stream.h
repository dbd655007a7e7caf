#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <infeed/pipeline/detail/inner_dataset.h>

#include "interleave/cycle_history.h"

// The pieces that flat_map and interleave are made of.
namespace infeed::detail {

/// The outer input, one element at a time.
class OuterInput {
 public:
  OuterInput(const TypeInfo& type, std::unique_ptr<Stage> input)
      : input_(std::move(input)), in_(type) {}

  /// Moves the next element, or its error, into `element`, an empty chunk of its type; `position`
  /// becomes its number.
  Pull next(Chunk& element, std::uint64_t& position);

 private:
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  std::uint64_t position_ = 0;
};

class InnerOpener;

/// A running inner dataset, with its description, which its stages refer to.
class InnerStream {
 public:
  InnerStream() = default;
  /// At rest, before its first element.
  InnerStream(NodePointer node, std::uint64_t position)
      : node_(std::move(node)), position_(position) {}
  ~InnerStream() { close(); }
  InnerStream(InnerStream&& other) noexcept = default;
  InnerStream& operator=(InnerStream&& other) noexcept;

  bool is_open() const { return node_ != nullptr; }
  const Node& node() const { return *node_; }
  /// Of its last stage.
  const std::string& label() const { return stage_->label(); }
  /// Elements that were pulled or skipped so far.
  std::uint64_t given() const { return given_; }
  Pull pull(Chunk& out, std::size_t want);
  std::uint64_t skip(std::uint64_t count, Known known);
  /// Of what the last pull gave; the thread that pulls.
  InnerPlaces places() const;
  void close();
  /// Stops behind its first `given` elements. InnerOpener::open_again() goes on from there, with other
  /// stages; these are for the caller to drop.
  std::unique_ptr<Stage> rest_behind(std::uint64_t given);
  bool rests() const { return node_ != nullptr && stage_ == nullptr; }

 private:
  friend class InnerOpener;
  NodePointer node_;
  std::uint64_t position_ = 0;  ///< of its outer element
  std::unique_ptr<Stage> stage_;
  std::uint64_t given_ = 0;
  std::uint64_t given_last_ = 0;  ///< by the last pull
};

/// Makes inner datasets of outer elements; outlives them. Thread-safety: any thread may call it.
class InnerOpener {
 public:
  /// `context` is that of the stage that they are opened for.
  InnerOpener(InnerDatasets datasets, const StageContext& context)
      : datasets_(std::move(datasets)), context_(context) {}

  /// Calls the user's function on the one value in `element`, which is used up. Throws what the
  /// function throws.
  NodePointer describe(Chunk& element) const;
  /// Throws what the inner stages throw. `position` is that of the outer element.
  InnerStream open(NodePointer node, std::uint64_t position) const;
  /// One that rests. Throws what the inner stages throw, and then it still rests.
  void open_again(InnerStream& stream) const;

 private:
  const InnerDatasets datasets_;
  const StageContext context_;
};

}  // namespace infeed::detail
