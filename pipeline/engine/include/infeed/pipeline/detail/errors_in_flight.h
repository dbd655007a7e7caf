#pragma once

#include <infeed/pipeline/chunk.h>

/// The exception in flight as an Error; to be called in a catch block.
namespace infeed::detail {

/// As the error that takes an element's place.
ErrorPointer current_error();

/// As the terminal error, which ends the run.
ErrorPointer terminal_error();

/// It kept one dataset of several from being opened: as the error in its place, since one missing
/// file among many is an element's. Throws it on when memory was refused.
ErrorPointer error_of_opening();

}  // namespace infeed::detail
