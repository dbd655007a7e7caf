#include "drain.h"

namespace infeed::compare {
std::vector<Row> main_rows() { return {}; }
}  // namespace infeed::compare
