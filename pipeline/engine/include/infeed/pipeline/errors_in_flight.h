#pragma once

#include <infeed/detail/terminal_error.h>
#include <infeed/pipeline/chunk.h>

/// Converts the exception in flight to an Error. Call these functions in a catch block.
namespace infeed {

/// Returns the error that takes an element's place after a user's function threw. An Error is kept,
/// except that it is no longer terminal or a cancellation, since only an iteration can be that. The
/// text of any other exception becomes Error(user_function), and Error::cause() holds the
/// exception.
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

/// Returns the error that takes the place of one dataset of several that couldn't be opened. (One
/// missing file among many costs one element, not the iteration.) If memory was refused, it throws
/// the exception on.
ErrorPointer error_of_opening();

}  // namespace detail
}  // namespace infeed
