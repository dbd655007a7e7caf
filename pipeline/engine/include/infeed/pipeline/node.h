#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/cardinality.h>
#include <infeed/pipeline/detail/resume.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/stage_context.h>
#include <infeed/pipeline/stage_traits.h>
#include <infeed/pipeline/type_info.h>

/// Why: a node is the description of a stage. It is immutable, shared by all iterators, and safe to
/// use from any thread. The running stage is in stage.h, which includes this header.
namespace infeed {

class Stage;
using NodePointer = std::shared_ptr<const Node>;

namespace detail {

/// Gives the node the user's name. A factory has just made the node, and nobody else has seen it.
/// Throws invalid_argument if the name breaks the rules of StageName.
NodePointer named(NodePointer node, const StageName& name);

}  // namespace detail

class Node {
 public:
  /// Throws Error(invalid_argument) if more than 3,200 stages would follow each other.
  Node(std::string name, const TypeInfo& type, std::vector<NodePointer> inputs = {});
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }  ///< the stage's kind: "map"
  /// The user's name for the stage (StageName); empty if there is none.
  const std::string& given_name() const { return given_name_; }
  /// "map 'augment'", or just "map".
  std::string described() const;
  /// Returns true if the stage has a line of its own in statistics and paths. A stage whose open()
  /// returns its input's stage has no line.
  virtual bool has_counters() const { return true; }
  /// Tells what statistics and other stages need to know of the stage's kind.
  virtual StageTraits traits() const { return {}; }
  /// The type of the elements that the stage gives.
  const TypeInfo& type() const { return *type_; }
  const std::vector<NodePointer>& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

  /// Returns the kind and those options that affect the values or their order:
  /// "shuffle(buffer=10000, seed=42)". A checkpoint is bound to the signatures of all stages. It is
  /// empty for a stage that changes neither (prefetch).
  virtual std::string signature() const { return name_; }
  /// Returns the lines of stages that another process runs for this one, whose own signature() is
  /// empty. A checkpoint has them as if they ran here.
  virtual std::vector<std::string> signature_elsewhere() const { return {}; }
  /// Returns the seeds of a stage that draws random numbers. Its signature() holds them as "seed="
  /// and, if there are two, "seed2="; it draws from StageContext::seeds.
  virtual std::optional<Seeds> seeds() const { return std::nullopt; }
  /// Returns the signature() with these seeds. Only called if the stage has seeds().
  virtual std::string signature_with(const Seeds&) const { return signature(); }
  /// Returns the positions that key random numbers, which don't depend on how many hosts there are:
  /// shard spreads its input's, other stages have those of their first input.
  virtual UnshardedPositions unsharded_positions() const {
    return inputs_.empty() ? UnshardedPositions{} : input().unsharded_positions();
  }
  /// Returns how many of the input's first elements the first `given` are made of; nothing if that
  /// isn't known, or if the input can't begin behind them (filter, shuffle, enumerate).
  virtual std::optional<std::uint64_t> input_taken(std::uint64_t given) const;
  /// Returns true if the stage needs a bookmark (detail/resume.h) where no element has failed, or
  /// where some have (Known::nothing). False for a stage that seeks then.
  virtual bool needs_bookmark(Known) const { return true; }
  /// Returns the first element that this stage asks of an input in a resume. A lower one is
  /// allowed, and a stage that pulls all of its input again says 0. The bookmarks that a checkpoint
  /// gets are chosen by it.
  virtual StreamPlace input_resumed(std::size_t input, const ResumedStage& stage) const;
  /// Returns how many elements there are if none fails.
  virtual Cardinality cardinality() const { return Cardinality::unknown(); }
  /// Returns true if cardinality() is a user's promise, which only the end of a pass checks.
  virtual bool rests_on_a_promise() const;
  /// Returns true if the node's stages can pull_at(): the element at a position is a function of
  /// the position, and the cardinality is finite and exact.
  virtual bool is_indexable() const { return false; }
  /// Returns the fewest bytes that an element takes: its sizeof, and the payload that is known
  /// beforehand. A stage that hands on its input's elements returns the input's number.
  virtual std::uint64_t element_bytes_min() const { return type().size; }
  /// Returns the fewest bytes that the stage must be able to hold, for example its buffer's
  /// elements times the input's element_bytes_min().
  virtual std::uint64_t buffer_bytes_min() const { return 0; }

  /// Makes the running stage. `consumer` is the context of the stage that will pull it.
  virtual std::unique_ptr<Stage> open(const StageContext& consumer) const;

 protected:
  /// Makes the stage. `context` is the new stage's own: give it to Stage's constructor and to
  /// open() of the inputs.
  virtual std::unique_ptr<Stage> make_stage(const StageContext& context) const = 0;

 private:
  friend NodePointer detail::named(NodePointer node, const StageName& name);

  std::string name_;
  mutable std::string given_name_;  ///< set by named() before the node is shared
  const TypeInfo* type_;
  std::vector<NodePointer> inputs_;
  int stages_in_a_row_ = 1;  ///< from the farthest source to this stage
};

namespace detail {

/// Returns the node. Throws Error(invalid_argument) if its elements have another type.
NodePointer of_type(NodePointer node, const TypeInfo& type);

}  // namespace detail
}  // namespace infeed
