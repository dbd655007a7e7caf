#pragma once

namespace infeed::autotuning {

/// How long a line of memory that one core has written takes to come to another, in ns, between the first two
/// cores of this process; 0 where it has one. Of a virtual machine that changes, now and then: 30 to 60 where
/// the two have a cache in common, 150 to 350 where they have none, and what threads hand to each other then
/// takes up to half as long again.
double core_to_core_ns();

}  // namespace infeed::autotuning
