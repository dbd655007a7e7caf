#pragma once

#include <cstdint>
#include <string_view>

#include <infeed/describe/elements.h>

#include "describe/stages/stages.h"

namespace infeed::describe {

/// Returns the elements as rows of columns, for stages that work on single rows: records are parsed
/// as parse() said; numbers, texts and records become rows of one column, "value". `at_once` of them
/// are parsed together, which takes less time for each, but their errors come before their rows, and
/// several failed ones as one error. So a stage whose rows depend on their neighbours, or on their
/// number, gives 1. Throws invalid_argument that names the stage if they are batches, or samples of
/// tar files.
Elements rows_of(const Elements& input, std::string_view stage, std::int64_t at_once = kRowsAtOnce);

}  // namespace infeed::describe
