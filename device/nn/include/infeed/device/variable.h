#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/tensor.h>

/// Why: a variable has a name, by which a checkpoint, an error and a gradient refer to it. It
/// belongs to the scope that made it, so that a strategy's step can't use a variable that the
/// strategy doesn't mirror.
///
///     infeed::Scope scope({.seed = 42});
///     infeed::Variable kernel =
///         scope.below("dense").variable("kernel", {784, 128}, infeed::Initializer::glorot_uniform);
///     std::span<const float> values = kernel.value().values<float>();
///
/// Initial values come from Philox(seed, number of the draw in its scope): the same seed and the
/// same model give the same bits. All variables are float32.
///
/// Ownership: Variable and Scope are handles; copies refer to the same variable, the same scope.
/// Thread-safety: any thread may read; set values while nobody reads.
/// Errors: invalid_argument: a name that is taken, a value of another shape.
namespace infeed {

enum class Initializer : std::uint8_t {
  zeros,
  ones,
  /// +-sqrt(6 / (in + out)): Glorot and Bengio, AISTATS 2010. For a kernel [..., in, out] both are
  /// multiplied by the axes before them (a convolution's window).
  glorot_uniform,
  he_normal,     ///< sqrt(2 / in): He et al., ICCV 2015
  small_normal,  ///< 0.02: embeddings, as BERT's
};

namespace detail {
struct VariableState;
struct ScopeState;
}  // namespace detail

class Variable {
 public:
  const std::string& name() const;
  const Shape& shape() const;
  bool trainable() const;  ///< false: running statistics, which no gradient moves
  /// Returns a snapshot, which later changes don't affect: replica 0's if each has a copy.
  Tensor value() const;
  void assign(const Tensor& value);

  friend bool operator==(const Variable&, const Variable&) = default;
  /// The shared state, for the tape and the strategy.
  detail::VariableState& state() const { return *state_; }

 private:
  friend class Scope;
  explicit Variable(std::shared_ptr<detail::VariableState> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::VariableState> state_;
};

struct ScopeOptions {
  std::uint64_t seed = 0;
};

class Scope {
 public:
  /// Makes a scope of no strategy, for one device or fit(); Strategy::scope() makes the others.
  explicit Scope(ScopeOptions options = {});

  Variable variable(std::string_view name, const Shape& shape, Initializer initializer,
                    bool trainable = true);
  /// Makes a variable that begins with these values, float32.
  Variable variable(std::string_view name, const Tensor& value, bool trainable = true);
  /// Returns the initial value that the next variable would have, for a layer that keeps it in
  /// pieces: split or whole, the same seed gives the same model.
  Tensor draw(const Shape& shape, Initializer initializer);
  /// Returns the same scope; names made through it begin with `name` and a slash.
  Scope below(std::string_view name) const;
  /// All variables of the whole scope, in the order in which they were made.
  std::vector<Variable> variables() const;

 private:
  friend class Strategy;

  std::shared_ptr<detail::ScopeState> state_;
  std::string prefix_;
};

}  // namespace infeed
