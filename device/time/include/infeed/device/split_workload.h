#pragma once

#include <cstdint>

#include <infeed/device/cost_model.h>

/// Why: a model whose layers are split over the devices of a replica (model parallelism) takes less
/// memory and less arithmetic on each device. In exchange the devices add up activations between
/// them.
///
///     infeed::Workload part = infeed::split_workload(infeed::workload("gpt2-1.5b"), 4);
///     part.parameters();                    // about a quarter
///
/// How, after Shoeybi et al. (arXiv:1909.08053): products are split by columns and by rows in turn,
/// so that the operations between the two need no exchange. Behind each product by rows the outputs
/// are added up; in the backward pass the gradient of each pair's input is. A last product by
/// columns is gathered, which costs half of that. Attention's products are split by heads. A
/// depthwise convolution is split by channels: it stays inside a pair, or begins one, and then the
/// gradient of its input is gathered. Every device computes tables, normalisation and elementwise
/// operations.
///
/// Thread-safety: pure functions. Errors: invalid_argument for less than one device.
namespace infeed {

/// Returns the part of one of `devices`; ModelOp::exchanged_forward and exchanged_backward are the
/// values that the devices add up.
Workload split_workload(const Workload& workload, std::int32_t devices);

/// Returns the time to add up `bytes` of every device of a replica. Within a chip they go through
/// HBM; the chips of a host are a line on one axis of the torus.
std::int64_t exchange_ps(const ChipSpec& chip, std::int32_t devices, std::int64_t bytes);

}  // namespace infeed
