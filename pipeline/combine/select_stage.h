#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <infeed/pipeline/stage.h>

// The shared part of sample_from_datasets and choose_from_datasets.
namespace infeed::detail {

/// Chooses the next input.
class Selector {
 public:
  virtual ~Selector() = default;
  /// Sets the `index` of an input, or an `error` that takes the place of an element. If `may_wait`
  /// is false, it returns would_wait instead of pulling.
  enum class Next { input, error, end, cancelled, would_wait };
  virtual Next next(std::size_t& index, ErrorPointer& error, bool may_wait) = 0;
  /// Returns how many choices were made, errors included.
  virtual std::uint64_t made() const = 0;
  /// Adds what the choices to come depend on, beside `made`.
  virtual void add_state(std::vector<std::uint64_t>&) const {}
  /// Goes on, before the first choice, behind `made` of them, with the numbers that add_state() had
  /// added. note_end() is called before, for the inputs that had ended by then. Returns false if they
  /// are none of its own.
  virtual bool go_behind(std::uint64_t made, std::span<const std::uint64_t> state) = 0;
  /// Returns the input that the choices are read from, one each, or null.
  virtual Stage* choices() { return nullptr; }
  /// Says that an input has ended.
  virtual void note_end(std::size_t) {}
  /// True if the choice depends on the elements, so that none can be passed over unseen.
  virtual bool sees_elements() const { return false; }
  /// Shows the element that was taken from the chosen input, or null for an error. Returns the
  /// error that takes its place, or null.
  virtual ErrorPointer see(std::size_t, const void*) { return nullptr; }
};

/// Takes each element from the input that the selector chooses. An input that has ended ends the
/// whole stream (`stop_on_empty`) or is passed over.
std::unique_ptr<Stage> make_select_stage(const StageContext& context,
                                         std::unique_ptr<Selector> selector,
                                         std::vector<std::unique_ptr<Stage>> inputs,
                                         bool stop_on_empty);

/// Opens the nodes with ordinals 0 .. count-1.
std::vector<std::unique_ptr<Stage>> open_inputs(const StageContext& context,
                                                const std::vector<NodePointer>& nodes,
                                                std::size_t count);

}  // namespace infeed::detail
