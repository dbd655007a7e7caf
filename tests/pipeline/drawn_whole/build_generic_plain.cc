#include "pipeline/drawn_whole/build_generic.h"

namespace infeed::test {

template Dataset<std::int64_t> add_generic(const Dataset<std::int64_t>&, const Step&,
                                           const Surroundings&);
template Dataset<std::string> add_generic(const Dataset<std::string>&, const Step&,
                                          const Surroundings&);
template Dataset<Record> add_generic(const Dataset<Record>&, const Step&, const Surroundings&);

}  // namespace infeed::test
