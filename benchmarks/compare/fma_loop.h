#pragma once

/// Why: what share of the machine a product reaches. The peak is what this core does when nothing
/// has to be loaded: independent fused multiply-adds, as many as its units take.
namespace infeed::compare {

/// Operations a second (a multiply-add is two), the best of some tries that take `seconds` together.
double fma_peak_per_s(double seconds);

}  // namespace infeed::compare
