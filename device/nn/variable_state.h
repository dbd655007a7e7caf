#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infeed/device/variable.h>

namespace infeed::detail {

struct ScopeState {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;               ///< initial values drawn so far
  std::size_t copies = 1;                ///< copies of each variable: one, or one a replica
  std::shared_ptr<const void> strategy;  ///< owner of the scope; null: none
  std::vector<Variable> variables;
};

/// Returns the values, to be changed in place; other holders of the tensor keep the old ones.
inline std::span<float> writable_values(Tensor& tensor) {
  if (!tensor.is_writable()) {
    tensor = Tensor::copy_of(tensor.shape(), std::as_const(tensor).values<float>());
  }
  return tensor.writable<float>();
}

struct VariableState {
  std::string name;
  Shape shape;
  bool trainable = true;
  std::vector<Tensor> copies;
  std::shared_ptr<const void> strategy;

  const Tensor& copy_of(std::size_t replica) const {
    return copies[replica < copies.size() ? replica : 0];
  }
  std::span<float> writable(std::size_t copy) { return writable_values(copies[copy]); }
};

}  // namespace infeed::detail
