#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/slice.h>
#include <infeed/device/step_options.h>

/// Why: whether a pipeline is fast enough depends on the time that the device needs for a step.
/// step_time() computes it from the shape of the model and the slice, in integer picoseconds, with
/// published formulas.
///
///     auto slice = infeed::Slice::parse("v3-8");
///     auto model = infeed::workload("resnet50-28");               // ResNet-50 on 28x28 images
///     infeed::StepTime t = infeed::step_time(model, slice, 1024); // global batch 1024
///
/// How: a matrix product of [M,K] by [K,N] runs tile by tile on the MXUs. Every fused operation
/// takes the longer of its arithmetic and its HBM traffic (roofline). A training step runs each
/// product three times (forward, gradient of the input, gradient of the weights), then updates the
/// weights and all-reduces the gradients. A convolution is a product with M = out_h * out_w, K =
/// kernel^2 * C_in, N = C_out. A depthwise one has K = kernel^2 and runs on the vector units.
///
/// Thread-safety: pure functions. Errors: invalid_argument.
namespace infeed {

/// A product of [m,k] by [k,n].
struct Gemm {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// Cycles of one GEMM on one systolic array without double buffering, as SCALE-Sim v2 counts them
/// (Samajdar et al., ISPASS 2020; exact against its reports).
struct SystolicArray {
  std::int64_t rows = 32;
  std::int64_t columns = 32;
  std::int64_t weight_stationary_cycles(const Gemm& gemm) const;
  std::int64_t output_stationary_cycles(const Gemm& gemm) const;
  std::int64_t input_stationary_cycles(const Gemm& gemm) const;
};

/// Returns the cycles of one GEMM on `mxus` real MXUs of the chip's size, which load the next
/// weights while they work: 8 rows by a 128x128 tile take 8 cycles, but no tile takes fewer cycles
/// than loading it, a row of weights a cycle (128; v6e 256). Spread over the MXUs, plus one fill of
/// about 256 cycles.
std::int64_t mxu_cycles(const ChipSpec& chip, std::int32_t mxus, const Gemm& gemm);

/// Returns the time to sum gradients of `bytes` over the n chips of the slice: max(2V (n-1)/n / sum
/// of the axes' links, 1 us * sum of axis sizes). An axis that wraps around has its links in both
/// directions; one that doesn't has half of that, and twice the way. 0 on one chip.
std::int64_t all_reduce_ps(const Slice& slice, std::int64_t bytes);

/// Returns the time from host to device. Each chip of a host has its own link, which its replicas
/// share.
std::int64_t transfer_ps(const ChipSpec& chip, std::int64_t bytes_of_chip);

/// The kind of an operation, which decides its cost.
enum class OpKind : std::uint8_t {
  product,          ///< activations times variables; a convolution is one
  batched_product,  ///< activations times activations: attention's scores
  elementwise,      ///< only traffic
  normalisation,    ///< only traffic: the backward pass reads its input again
  gather,           ///< rows of a table; the backward pass adds to the rows that were read
  depthwise,        ///< k multiply-adds an output on vector units: no sum over channels
};

std::string_view to_string(OpKind kind);

/// One operation of a model, for one example.
struct ModelOp {
  std::string name = {};
  OpKind kind = OpKind::product;
  /// M of an example; for a gather, the rows looked up; 0: no product, only traffic, which reads
  /// input_elements and writes n.
  std::int64_t rows = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t input_elements = 0;   ///< read by the forward pass
  bool needs_input_gradient = true;  ///< false for the first layer
  /// Passes over the rows * n outputs by normalisation, activation and their gradients, in the
  /// whole step. ResNet-50: about 8 a convolution, see kNormalisedPasses in workload.cc.
  double activation_passes = 2;
  std::int64_t parameters = 0;  ///< k * n plus biases, scales
  /// True: spread over all replicas instead of copied to each (a recommender's tables). No gradient
  /// is all-reduced; the rows travel instead.
  bool is_sharded = false;
  /// Values of an example that the devices of a replica add up behind the operation, forward and
  /// backward (split_workload.h).
  std::int64_t exchanged_forward = 0;
  std::int64_t exchanged_backward = 0;
  std::int64_t output_elements() const { return (rows == 0 ? 1 : rows) * n; }
  /// Bytes that stay in HBM until the backward pass: the output, in the type of the arithmetic.
  std::int64_t kept_bytes(Precision precision) const {
    return output_elements() * bytes_of_activation(precision);
  }
};

struct Workload {
  std::string name = {};
  std::string description = {};
  std::vector<ModelOp> ops = {};
  std::int64_t parameters() const;
  std::int64_t sharded_parameters() const;
  /// Multiply-adds of the forward pass of one example.
  std::int64_t macs() const;
  /// Returns the bytes of an example that go to the device: its first operation's input, or one
  /// number for each row that is looked up.
  std::int64_t input_bytes(Precision precision) const;
};

/// Calibrated values: one efficiency for each class of operation, and fixed costs.
struct Calibration {
  double mxu_efficiency = 1;          ///< share of the tile formula
  double hbm_efficiency = 1;          ///< share of the published bandwidth
  std::int64_t op_overhead_ns = 0;    ///< for each fused operation
  std::int64_t step_overhead_ns = 0;  ///< for each step: the host loop's launch
  bool overlaps_all_reduce = false;   ///< true: gradients travel during the backward pass
  std::string_view source = {};  ///< the published runs used for the fit; empty: not calibrated
};

/// Returns the values fitted to two published MLPerf training runs for v3 and for v4
/// (calibration.cc). Other generations borrow these values, with an empty source.
const Calibration& calibration(TpuGeneration generation);

/// One training step of the slice. The replicas work in lock-step, each on ceil(global_batch /
/// replicas) examples.
struct StepTime {
  std::int64_t compute_ps = 0;     ///< includes launch_ps
  std::int64_t all_reduce_ps = 0;  ///< the part that the backward pass doesn't hide
  std::int64_t launch_ps = 0;      ///< the host's launch of one execution, divided by its steps
  std::int64_t hidden_all_reduce_ps = 0;
  std::int64_t total_ps() const { return compute_ps + all_reduce_ps; }
};

/// Computes a step's time. In generations that overlap, gradients travel in buckets as the backward
/// pass makes them: each starts at max(bucket ready, end of the one before).
StepTime step_time(const Workload& workload, const Slice& slice, std::int64_t global_batch,
                   const StepOptions& options = {});
StepTime step_time(const Workload& workload, const Slice& slice, std::int64_t global_batch,
                   const StepOptions& options, const Calibration& calibration);

/// Returns the share of the chips' bfloat16 peak that the model's own arithmetic takes (MFU,
/// Chowdhery et al. 2022): three passes of its multiply-adds, whatever else the devices do.
double model_flop_utilisation(const Workload& workload, const Slice& slice, double examples_per_s);

/// Returns the time that XLA needs to compile a step for a new size of batch: 2 s and 50 ms an
/// operation. Assumed, not published.
std::int64_t compilation_ps(const Workload& workload);

/// Returns a named model; throws invalid_argument, with the names, for another. For 28x28 grey
/// images and 10 classes: "classifier" (784-128-10), "lenet5", "convnet", "deep-mnist",
/// "keras-cnn", "vgg6", "resnet20", "wide-resnet-16-4", "wide-resnet-28-10", "resnet50-28". For
/// 224x224 colour images and 1000 classes: "resnet50". For sequences of 512 words: "bert-large".
/// For sequences of 1024 words: "gpt2-small", "gpt2-1.5b". For 13 numbers and 26 categories:
/// "dlrm".
Workload workload(std::string_view name);
std::span<const std::string_view> workload_names();

}  // namespace infeed
