#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/device/variable.h>
#include <infeed/device/vector_width.h>
#include <infeed/error.h>
#include <infeed/records/tensor.h>
#include <infeed/records/tensor_pool.h>

/// Why: a training step computes forward, then backward through the same operations. The tape
/// records the operations as they run and plays them backward.
///
///     infeed::Scope scope;
///     infeed::Variable kernel = scope.variable("kernel", {4, 2}, infeed::Initializer::ones);
///     infeed::Tape tape({.training = true});
///     infeed::TapeValue x = tape.constant(infeed::Tensor::copy_of({1, 4}, {1.F, 2.F, 3.F, 4.F}));
///     infeed::TapeValue y = infeed::nn::matrix_product(tape, x, tape.read(kernel));
///     infeed::Gradients gradients = tape.gradients(infeed::nn::sum(tape, y));
///     gradients[0].first.name();                              // "kernel"
///
/// Thread-safety: one thread at a time; tapes of different replicas are independent.
namespace infeed {

/// The type to which operands of products are rounded. Variables, sums and everything else stay
/// float32.
enum class Precision : std::uint8_t { float32, mixed_bfloat16, mixed_float16 };

/// "float32", "mixed_bfloat16", "mixed_float16".
std::string_view to_string(Precision precision);
Precision precision_from(std::string_view name);

/// float32 values and the operation that made them. A copy shares the memory.
class TapeValue {
 public:
  const Tensor& tensor() const { return tensor_; }
  const Shape& shape() const { return tensor_.shape(); }
  std::span<const float> values() const { return tensor_.values<float>(); }
  /// Returns the value of a one-item tensor.
  float item() const { return values()[0]; }
  /// True if a gradient reaches it.
  bool is_recorded() const { return node_ >= 0; }
  /// The operation of its tape that made it, from 0; -1: a variable or a constant.
  std::int32_t operation() const { return operation_; }

 private:
  friend class Tape;
  TapeValue(Tensor tensor, std::int32_t node, std::int32_t operation = -1)
      : tensor_(std::move(tensor)), node_(node), operation_(operation) {}

  Tensor tensor_;
  std::int32_t node_ = -1;
  std::int32_t operation_ = -1;
};

/// An operation as TapeOptions::on_operation sees it.
struct TapeOperation {
  std::string_view name;
  std::int32_t device;  ///< its number among the replica's devices
  const Shape& output;
  std::span<const TapeValue> inputs;
};

using Gradients = std::vector<std::pair<Variable, Tensor>>;
/// New values, after the step, of variables that no gradient moves.
using Updates = std::vector<std::pair<Variable, Tensor>>;

/// Adds up values of replicas that run at the same time (synchronised batch normalisation).
class Collective {
 public:
  virtual ~Collective() = default;
  /// Each replica calls it equally often, with equally many values. All get the same sums; the
  /// order of addition doesn't depend on who comes first.
  virtual void sum(std::int32_t replica, std::span<float> values) = 0;
};

struct TapeOptions {
  bool training = false;  ///< true: operations are recorded for gradients()
  Precision precision = Precision::float32;
  VectorWidth width = VectorWidth::widest;
  std::int32_t replica = 0;  ///< the replica whose copy of the variables is read
  /// Devices of the replica (split_dense.h); 0: as many as a layer asks for.
  std::int32_t devices = 0;
  TensorPool pool = TensorPool{};
  std::shared_ptr<const void> strategy = nullptr;  ///< the one whose variables may be read
  /// Called for each operation, in the order in which they run.
  std::function<void(const TapeOperation& operation)> on_operation = {};
  std::uint64_t seed = 0;  ///< seed of dropout, whose bits depend on seed, step, replica and place
                           ///< on the tape
  std::uint64_t step = 0;  ///< counts tapes, also those whose gradients are accumulated
  std::shared_ptr<Collective> collective = nullptr;  ///< null: the replica is the only one
};

class Tape {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Makes a value without a gradient. Integers, float16 and bfloat16 become float32.
  TapeValue constant(const Tensor& tensor) const;
  /// Throws failed_precondition, with the name, if another strategy, or none, made the variable.
  TapeValue read(const Variable& variable);

  /// Returns d loss / d variable, times `scale`, for every trainable variable that was read, in the
  /// order of the first reading; zeros if no gradient arrives. `loss` is one number. Once a tape.
  Gradients gradients(const TapeValue& loss, float scale = 1);

  /// New running statistics, in the order in which they were made. The code that runs the step
  /// applies them: the mean over the replicas that have them.
  const Updates& updates() const { return updates_; }

  const TapeOptions& options() const { return options_; }

  /// Sets the device of the replica that runs the following operations, for layers that are split.
  void set_device(std::int32_t device) { device_ = device; }

  // For operations only.
  void update(const Variable& variable, Tensor value);
  /// Returns 0, 1, 2, ...: the place on the tape of an operation that draws random numbers.
  std::uint64_t next_draw() { return draws_++; }
  /// Returns memory with undefined values.
  Tensor make(const Shape& shape) const;
  /// Returns the gradients of `inputs`; gradients of inputs that aren't recorded may be anything.
  using Backward = std::function<std::vector<Tensor>(const Tensor& gradient)>;
  TapeValue record(std::string_view operation, Tensor output, const std::vector<TapeValue>& inputs,
                   Backward backward);
  struct Workspace;
  Workspace& workspace() { return *workspace_; }

 private:
  struct Node;

  TapeOptions options_;
  std::vector<Node> nodes_;
  std::vector<std::pair<Variable, std::int32_t>> leaves_;
  Updates updates_;
  std::uint64_t draws_ = 0;
  std::int32_t device_ = 0;
  std::int32_t operations_ = 0;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace infeed
