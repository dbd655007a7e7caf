#pragma once

#include <memory>
#include <string>
#include <vector>

#include <infeed/device/variable.h>

namespace infeed::detail {

struct ScopeState {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;               ///< of initial values
  std::size_t copies = 1;                ///< of each variable: one, or one a replica
  std::shared_ptr<const void> strategy;  ///< whose scope it is; null: nobody's
  std::vector<Variable> variables;
};

struct VariableState {
  std::string name;
  Shape shape;
  bool trainable = true;
  std::vector<Tensor> copies;
  std::shared_ptr<const void> strategy;

  const Tensor& copy_of(std::size_t replica) const {
    return copies[replica < copies.size() ? replica : 0];
  }
  /// To be changed in place; whoever holds a snapshot keeps it as it was.
  std::span<float> writable(std::size_t copy) {
    if (!copies[copy].is_writable()) {
      copies[copy] = Tensor::copy_of(shape, copies[copy].values<float>());
    }
    return copies[copy].writable<float>();
  }
};

}  // namespace infeed::detail
