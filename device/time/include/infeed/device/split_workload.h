#pragma once

#include <cstdint>

#include <infeed/device/cost_model.h>

/// Why: a model whose layers are split over the devices of a replica (model parallelism) takes less memory
/// and less arithmetic a device, and adds up activations between them.
///
///     infeed::Workload part = infeed::split_workload(infeed::workload("gpt2-1.5b"), 4);
///     part.parameters();                    // about a quarter
///
/// How, after Shoeybi et al. (arXiv:1909.08053): products are split by columns and by rows in turn, so that
/// what lies between the two needs no exchange; behind each one by rows the outputs are added up, and
/// in the backward pass the gradient of each pair's input. A last one by columns is gathered, which costs
/// half of that. Attention's products are split by heads. A depthwise convolution is split by channels: it stays
/// between the two, or begins a pair, for which the gradient of its input is gathered. Tables, normalisation and what is elementwise
/// are done by every device.
///
/// Thread-safety: pure functions. Errors: invalid_argument for less than one device.
namespace infeed {

/// What one of `devices` does; ModelOp::exchanged_forward and exchanged_backward say what they add up.
Workload split_workload(const Workload& workload, std::int32_t devices);

/// `bytes` of every device of a replica added up. Within a chip they go through HBM; chips of a host are a
/// line on one axis of the torus.
std::int64_t exchange_ps(const ChipSpec& chip, std::int32_t devices, std::int64_t bytes);

}  // namespace infeed
