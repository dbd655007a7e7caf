#include "infeed/pipeline/errors_in_flight.h"

#include <exception>
#include <new>
#include <typeinfo>
#include <utility>

namespace infeed {

ErrorPointer current_error() {
  Error error(ErrorCode::user_function, "threw something that is not a std::exception");
  try {
    throw;
  } catch (const Error& thrown) {
    // Only an iteration can be cancelled. A function that throws `cancelled` gives up one element.
    error = thrown.code() == ErrorCode::cancelled
                ? thrown.reworded(ErrorCode::user_function, thrown.message())
                : thrown;
    error.as_terminal(false);
    if (typeid(thrown) != typeid(Error)) error.caused_by(std::current_exception());
  } catch (const std::bad_alloc&) {
    error = Error(ErrorCode::user_function,
                  "found no memory; use fewer threads, smaller buffers, or a machine with more");
    error.caused_by(std::current_exception());
  } catch (const std::exception& thrown) {
    error = Error(ErrorCode::user_function, thrown.what());
    error.caused_by(std::current_exception());
  } catch (...) {
    error.caused_by(std::current_exception());
  }
  return std::make_shared<const Error>(std::move(error));
}

namespace detail {

ErrorPointer error_of_opening() {
  ErrorPointer error = terminal_error();
  if (error->code() == ErrorCode::resource_exhausted) throw Error(*error);
  return error;
}

}  // namespace detail
}  // namespace infeed
