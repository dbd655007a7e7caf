#include "train/step_graphs.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace infeed::detail {
namespace {

std::string type_of(const Column& column) {
  return fmt::format("{} {}", to_string(column.dtype()), column.values().shape().to_string());
}

std::vector<NamedType> types_of(const ColumnBatch& share) {
  std::vector<NamedType> types;
  for (std::size_t i = 0; i < share.names().size(); ++i) {
    types.push_back({.name = share.names()[i], .type = type_of(share.columns()[i])});
  }
  return types;
}

std::string difference(const std::vector<NamedType>& now, const std::vector<NamedType>& before) {
  std::string text;
  const auto add = [&](std::string_view more) {
    if (!text.empty()) text += "; ";
    text += more;
  };
  for (const NamedType& column : now) {
    const auto other = std::ranges::find(before, column.name, &NamedType::name);
    if (other == before.end()) {
      add(fmt::format("{} {}, which wasn't there", column.name, column.type));
    } else if (other->type != column.type) {
      add(fmt::format("{} {}, before {}", column.name, column.type, other->type));
    }
  }
  for (const NamedType& column : before) {
    if (std::ranges::find(now, column.name, &NamedType::name) == now.end()) {
      add(fmt::format("no {}", column.name));
    }
  }
  return text;
}

}  // namespace

std::string signature_of(const ColumnBatch& share) {
  std::string signature;
  for (const NamedType& column : types_of(share)) {
    signature += fmt::format("{}{} {}", signature.empty() ? "" : ", ", column.name, column.type);
  }
  return signature;
}

const StepGraph* StepGraphs::find(const ColumnBatch& share) const {
  const auto found = graphs_.find(signature_of(share));
  return found == graphs_.end() ? nullptr : &found->second;
}

const StepGraph& StepGraphs::add(const StepTrace& trace, const ColumnBatch& share,
                                 Precision precision, std::int64_t step) {
  StepGraph graph(trace, share, precision);
  std::vector<NamedType> types = types_of(share);
  compilations_.push_back({.step = step,
                           .signature = graph.signature(),
                           .reason = newest_types_.empty() ? "" : difference(types, newest_types_),
                           .operations = static_cast<std::int32_t>(graph.operations().size()),
                           .kernels = graph.kernels(),
                           .compilation_ps = compilation_ps(graph.workload())});
  newest_types_ = std::move(types);
  newest_ = &graphs_.emplace(graph.signature(), std::move(graph)).first->second;
  return *newest_;
}

}  // namespace infeed::detail
