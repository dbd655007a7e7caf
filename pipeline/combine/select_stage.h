#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <infeed/pipeline/stage.h>

// What sample_from_datasets and choose_from_datasets share.
namespace infeed::detail {

/// Says which input is next.
class Selector {
 public:
  virtual ~Selector() = default;
  /// `index` of an input, or an `error` in the place of an element. `may_wait` false: rather
  /// would_wait than a pull.
  enum class Next { input, error, end, cancelled, would_wait };
  virtual Next next(std::size_t& index, ErrorPointer& error, bool may_wait) = 0;
  /// It is told of an input that has ended.
  virtual void note_end(std::size_t) {}
};

/// Takes each element from the input that the selector says. An input that has ended ends the whole
/// (`stop_on_empty`) or is passed over.
std::unique_ptr<Stage> make_select_stage(const StageContext& context,
                                         std::unique_ptr<Selector> selector,
                                         std::vector<std::unique_ptr<Stage>> inputs,
                                         bool stop_on_empty);

/// Opens them with ordinals first, first+1, ...
std::vector<std::unique_ptr<Stage>> open_inputs(const StageContext& context,
                                                const std::vector<NodePointer>& nodes,
                                                std::size_t count);

}  // namespace infeed::detail
