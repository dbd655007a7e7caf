#include "pipeline/drawn_whole/build_generic.h"

namespace infeed::test {

template Dataset<Sentence> add_generic(const Dataset<Sentence>&, const Step&, const Surroundings&);
template Dataset<Numbers> add_generic(const Dataset<Numbers>&, const Step&, const Surroundings&);

}  // namespace infeed::test
