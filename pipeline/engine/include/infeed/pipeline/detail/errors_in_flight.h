#pragma once

#include <infeed/pipeline/chunk.h>

/// The exception in flight as an Error; to be called in a catch block.
namespace infeed::detail {

/// Gives the exception in flight as the error that takes an element's place.
ErrorPointer current_error();

/// Gives it as the terminal error, which ends the run.
ErrorPointer terminal_error();

/// For an exception that kept one dataset of several from being opened: gives it as the error in
/// the place of that dataset, since one missing file among many is an element's. Throws it on when
/// memory was refused.
ErrorPointer error_of_opening();

}  // namespace infeed::detail
