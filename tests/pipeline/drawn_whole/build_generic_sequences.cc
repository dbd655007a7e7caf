#include "pipeline/drawn_whole/build_generic.h"

namespace infeed::test {

template Dataset<RaggedBatch<Sentence>> add_generic(const Dataset<RaggedBatch<Sentence>>&,
                                                    const Step&, const Surroundings&);
template Dataset<PaddedBatch<Sentence>> add_generic(const Dataset<PaddedBatch<Sentence>>&,
                                                    const Step&, const Surroundings&);
template Dataset<ColumnBatch> add_generic(const Dataset<ColumnBatch>&, const Step&,
                                          const Surroundings&);

}  // namespace infeed::test
