#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <infeed/device/step_graph.h>

#include "train/step_trace.h"

namespace infeed::detail {

struct NamedType {
  std::string name = {};
  std::string type = {};  ///< "float32 [128, 784]"
};

std::string signature_of(const ColumnBatch& share);

/// The graphs of a run, one a signature.
class StepGraphs {
 public:
  /// Null: this signature hasn't come up.
  const StepGraph* find(const ColumnBatch& share) const;
  /// `step` from 1.
  const StepGraph& add(const StepTrace& trace, const ColumnBatch& share, Precision precision,
                       std::int64_t step);
  const std::vector<Compilation>& compilations() const { return compilations_; }
  /// The one that was added last; null: there is none.
  const StepGraph* newest() const { return newest_; }

 private:
  std::map<std::string, StepGraph> graphs_;
  std::vector<Compilation> compilations_;
  const StepGraph* newest_ = nullptr;    ///< in graphs_
  std::vector<NamedType> newest_types_;  ///< the columns that were compiled for last
};

}  // namespace infeed::detail
