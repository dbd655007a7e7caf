#include "sources/url_stop.h"

#include <new>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"

namespace infeed::detail {

UrlStop::UrlStop(const StageContext& context, UrlOptions& url) {
  IteratorContext& run = context.run;
  if (url.credentials == nullptr) url.credentials = run.readers().shared_credentials();
  users_stop_token_ = url.stop;
  url.stop = stop_.get_token();
  end_waiting_.emplace(run, [this] { stop_.request_stop(); });
  // A stage may be opened inside a pull that began before the cancellation.
  if (run.cancelled()) stop_.request_stop();
  if (users_stop_token_.stop_possible()) {
    users_stop_.emplace(users_stop_token_, [this] { stop_.request_stop(); });
  }
}

ErrorPointer UrlStop::error_in_flight() const {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;  // terminal
  } catch (const Error& error) {
    // The system gave no thread or no memory. That is no fault of the file, whose other records would
    // be left out.
    if (error.is_terminal()) throw;
    if (stopped_by_user() && error.code() == ErrorCode::cancelled) throw;
    return current_error();
  } catch (...) {
    return current_error();
  }
}

}  // namespace infeed::detail
