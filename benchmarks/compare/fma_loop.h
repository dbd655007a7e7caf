#pragma once

/// Why: a product is measured as a share of the machine's peak. The peak is this core's rate when
/// nothing has to be loaded: independent fused multiply-adds, as many as its units take.
namespace infeed::compare {

/// Returns operations a second (a multiply-add is two), the best of some tries that take `seconds`
/// together.
double fma_peak_per_s(double seconds);

}  // namespace infeed::compare
