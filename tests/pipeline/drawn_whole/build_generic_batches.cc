#include "pipeline/drawn_whole/build_generic.h"

namespace infeed::test {

template Dataset<Batch<std::int64_t>> add_generic(const Dataset<Batch<std::int64_t>>&, const Step&,
                                                  const Surroundings&);
template Dataset<Batch<Sample>> add_generic(const Dataset<Batch<Sample>>&, const Step&,
                                            const Surroundings&);

}  // namespace infeed::test
