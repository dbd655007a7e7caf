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

/// Why: a training step computes forward, then backward through the same operations. The tape writes
/// down what runs and plays it back.
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

/// What the operands of products are rounded to. Variables, sums and everything else stay float32.
enum class Precision : std::uint8_t { float32, mixed_bfloat16, mixed_float16 };

/// "float32", "mixed_bfloat16", "mixed_float16".
std::string_view to_string(Precision precision);
Precision precision_from(std::string_view name);

/// float32 values and where they came from. A copy shares the memory.
class TapeValue {
 public:
  const Tensor& tensor() const { return tensor_; }
  const Shape& shape() const { return tensor_.shape(); }
  std::span<const float> values() const { return tensor_.values<float>(); }
  /// Of one item.
  float item() const { return values()[0]; }
  /// Whether a gradient reaches it.
  bool is_recorded() const { return node_ >= 0; }
  /// Which operation of its tape made it, from 0; -1: a variable or a constant.
  std::int32_t operation() const { return operation_; }

 private:
  friend class Tape;
  TapeValue(Tensor tensor, std::int32_t node, std::int32_t operation = -1)
      : tensor_(std::move(tensor)), node_(node), operation_(operation) {}

  Tensor tensor_;
  std::int32_t node_ = -1;
  std::int32_t operation_ = -1;
};

/// What ran, as who watches a tape is told.
struct TapeOperation {
  std::string_view name;
  std::int32_t device;  ///< of the replica's devices
  const Shape& output;
  std::span<const TapeValue> inputs;
};

using Gradients = std::vector<std::pair<Variable, Tensor>>;
/// What a variable that no gradient moves becomes after the step.
using Updates = std::vector<std::pair<Variable, Tensor>>;

/// Adds up what replicas hold that run at the same time (synchronised batch normalisation).
class Collective {
 public:
  virtual ~Collective() = default;
  /// Each replica calls it equally often, with as many values; all get the same sums, in the same
  /// order of addition whoever comes first.
  virtual void sum(std::int32_t replica, std::span<float> values) = 0;
};

struct TapeOptions {
  bool training = false;  ///< whether what runs is written down
  Precision precision = Precision::float32;
  VectorWidth width = VectorWidth::widest;
  std::int32_t replica = 0;  ///< whose copy of the variables is read
  /// That the replica is spread over (split_dense.h); 0: as many as a layer asks for.
  std::int32_t devices = 0;
  TensorPool pool = TensorPool{};
  std::shared_ptr<const void> strategy = nullptr;  ///< whose variables may be read
  /// Called for each operation, in their order.
  std::function<void(const TapeOperation& operation)> on_operation = {};
  std::uint64_t seed = 0;  ///< of dropout; its bits depend on seed, step, replica and its place
  std::uint64_t step = 0;  ///< counts tapes, also those whose gradients are accumulated
  std::shared_ptr<Collective> collective = nullptr;  ///< null: the replica is the only one
};

class Tape {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Something without a gradient. Integers, float16 and bfloat16 become float32.
  TapeValue constant(const Tensor& tensor) const;
  /// Error failed_precondition, with the name, when another strategy, or none, made it.
  TapeValue read(const Variable& variable);

  /// d loss / d variable for every trainable variable that was read, in the order of the first
  /// reading, times `scale`; zeros where none reaches it. `loss` is one number. Once a tape.
  Gradients gradients(const TapeValue& loss, float scale = 1);

  /// What running statistics become, in the order in which they came up. Who runs the step applies
  /// them: the mean over the replicas that have them.
  const Updates& updates() const { return updates_; }

  const TapeOptions& options() const { return options_; }

  /// Which of the replica's devices runs what follows, for layers that are split over them.
  void set_device(std::int32_t device) { device_ = device; }

  // For operations.
  void update(const Variable& variable, Tensor value);
  /// 0, 1, 2, ...: the place of what draws random numbers.
  std::uint64_t next_draw() { return draws_++; }
  /// Memory whose values nobody has set.
  Tensor make(const Shape& shape) const;
  /// Gives the gradients of `inputs`, of those that are recorded; the others' may be anything.
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
