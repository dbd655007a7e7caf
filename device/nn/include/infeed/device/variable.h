#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/tensor.h>

/// Why: what a training changes has a name, so that a checkpoint, an error and a gradient can say
/// what they mean; and it belongs to the scope that made it, so that a variable which no strategy
/// mirrors can't slip into one's step.
///
///     infeed::Scope scope({.seed = 42});
///     infeed::Variable kernel =
///         scope.below("dense").variable("kernel", {784, 128}, infeed::Initializer::glorot_uniform);
///     std::span<const float> values = kernel.value().values<float>();
///
/// Initial values come from Philox(seed, number of the drawing in its scope): the same seed, the
/// same model, the same bits. All variables are float32.
///
/// Ownership: Variable and Scope are handles; copies are the same variable, the same scope.
/// Thread-safety: reading from any thread; setting while nobody reads.
/// Errors: invalid_argument: a name twice, a value of another shape.
namespace infeed {

enum class Initializer : std::uint8_t {
  zeros,
  ones,
  /// +-sqrt(6 / (in + out)): Glorot and Bengio, AISTATS 2010. For a kernel [..., in, out] both
  /// count what stands before them (a convolution's window).
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
  /// A snapshot: what is set later doesn't change it. With a copy a replica, that of replica 0.
  Tensor value() const;
  void assign(const Tensor& value);

  friend bool operator==(const Variable&, const Variable&) = default;
  /// For the tape and the strategy.
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
  /// Belongs to no strategy: for one device, or for fit(). Strategy::scope() makes one that does.
  explicit Scope(ScopeOptions options = {});

  Variable variable(std::string_view name, const Shape& shape, Initializer initializer,
                    bool trainable = true);
  /// One that begins with these values, float32.
  Variable variable(std::string_view name, const Tensor& value, bool trainable = true);
  /// What the next variable would begin with, for a layer that keeps it in pieces: split or whole, the
  /// same seed gives the same model.
  Tensor draw(const Shape& shape, Initializer initializer);
  /// The same scope; names made through it begin with `name` and a slash.
  Scope below(std::string_view name) const;
  /// Of the whole scope, in the order in which they were made.
  std::vector<Variable> variables() const;

 private:
  friend class Strategy;

  std::shared_ptr<detail::ScopeState> state_;
  std::string prefix_;
};

}  // namespace infeed
