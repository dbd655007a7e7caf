#pragma once

namespace infeed::autotuning {

/// Returns the time in ns that a line of memory takes from one core, which has written it, to
/// another, between the first two cores of this process; 0 if there is only one. In a virtual
/// machine the time changes now and then: 30 to 60 if the two share a cache, 150 to 350 if they
/// don't. Hand-overs between threads then take up to half as long again.
double core_to_core_ns();

}  // namespace infeed::autotuning
