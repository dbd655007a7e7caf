#pragma once

#include <infeed/detail/terminal_error.h>
#include <infeed/pipeline/chunk.h>

/// The exception in flight as an Error; to be called in a catch block.
namespace infeed {

/// The error that takes an element's place: what a stage makes of what a user's function threw. An
/// Error is kept, but for its being terminal or a cancellation, which only an iteration can be; the
/// text of another exception becomes Error(user_function), and Error::cause() holds it.
///
///     void append_number(const std::string& text, infeed::Chunk& out) {
///       try {
///         out.append(std::stoll(text));
///       } catch (...) {
///         out.set_error(infeed::current_error());
///       }
///     }
ErrorPointer current_error();

namespace detail {

/// The error in the place of one dataset of several that couldn't be opened, since one missing file
/// among many is an element's. Throws it on when memory was refused.
ErrorPointer error_of_opening();

}  // namespace detail
}  // namespace infeed
