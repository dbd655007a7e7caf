#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

namespace infeed::test {

/// A stage that does what the test says.
class ScriptedStage final : public Stage {
 public:
  using Script = std::function<Pull(Chunk&, std::size_t)>;
  ScriptedStage(const StageContext& context, Script script)
      : Stage(context), script_(std::move(script)) {}
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }
  using Stage::position;

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override { return script_(out, want); }

 private:
  const Script script_;
};

/// A scripted stage that nothing pulls but the test, and its chunk.
template <class T>
struct StageAlone {
  explicit StageAlone(ScriptedStage::Script script)
      : stage({.run = run, .counters = &counters, .type = &type_info<T>()}, std::move(script)) {
    counters.label = "scripted";
  }

  IteratorContext run{IterateOptions{}};
  detail::StageCounters counters;
  ScriptedStage stage;
  Chunk chunk{type_info<T>(), 128};
};

}  // namespace infeed::test
