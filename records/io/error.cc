#include "infeed/error.h"

#include <fmt/format.h>
#include <new>
#include <typeinfo>
#include <utility>

#include "infeed/detail/printable_text.h"
#include "infeed/detail/terminal_error.h"
#include "infeed/records/files.h"

namespace infeed {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::permission_denied:
      return "permission_denied";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::data_loss:
      return "data_loss";
    case ErrorCode::resource_exhausted:
      return "resource_exhausted";
    case ErrorCode::failed_precondition:
      return "failed_precondition";
    case ErrorCode::deadline_exceeded:
      return "deadline_exceeded";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::user_function:
      return "user_function";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

std::string Lost::to_string() const {
  const auto count = [](std::uint64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  if (!records) return bytes ? count(*bytes, "byte") : "an unknown number of records";
  return count(*records, "record") + (bytes ? fmt::format(" ({})", count(*bytes, "byte")) : "");
}

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {
  build_text();
}

Error& Error::at_stage(std::string stage) & {
  stage_ = std::move(stage);
  build_text();
  return *this;
}

Error& Error::at_file(std::string file) & {
  // Redacts here, so that no place that makes an error can forget it.
  file_ = is_url(file) ? redacted_url(file) : std::move(file);
  build_text();
  return *this;
}

Error& Error::at_offset(std::uint64_t offset_bytes) & {
  offset_ = offset_bytes;
  build_text();
  return *this;
}

Error& Error::at_record(std::uint64_t record) & {
  record_ = record;
  build_text();
  return *this;
}

Error& Error::caused_by(std::exception_ptr cause) & {
  cause_ = std::move(cause);
  return *this;
}

Error& Error::as_terminal(bool terminal) & {
  terminal_ = terminal;
  return *this;
}

Error Error::reworded(ErrorCode code, std::string message) const {
  Error other = *this;
  other.code_ = code;
  other.message_ = std::move(message);
  other.build_text();
  return other;
}

Error& Error::losing(Lost lost) & {
  lost_ = lost;
  build_text();
  return *this;
}

Error&& Error::at_stage(std::string stage) && { return std::move(at_stage(std::move(stage))); }
Error&& Error::at_file(std::string file) && { return std::move(at_file(std::move(file))); }
Error&& Error::at_offset(std::uint64_t offset_bytes) && {
  return std::move(at_offset(offset_bytes));
}
Error&& Error::at_record(std::uint64_t record) && { return std::move(at_record(record)); }
Error&& Error::losing(Lost lost) && { return std::move(losing(lost)); }

const char* Error::what() const noexcept { return text_.c_str(); }

void Error::build_text() {
  text_ = fmt::format("{}: {}", to_string(code_), message_);
  std::string places;
  const auto add = [&places](std::string_view name, const auto& value) {
    fmt::format_to(std::back_inserter(places), "{}{} {}", places.empty() ? "" : ", ", name, value);
  };
  if (!file_.empty()) add("file", file_);
  if (offset_) add("offset", *offset_);
  if (record_) add("record", *record_);
  if (lost_) add("lost with it", lost_->to_string());
  if (!stage_.empty()) add("stage", stage_);
  if (!places.empty()) fmt::format_to(std::back_inserter(text_), " [{}]", places);
  text_ = detail::printable_text(text_, detail::LineBreaks::keep);
}

namespace detail {

namespace {

/// Returns the error of a std::bad_alloc, which is no fault of the element that was to be made.
Error without_memory() {
  Error none(
      ErrorCode::resource_exhausted,
      "the system has no more memory; use fewer threads, smaller buffers, or a machine with more");
  none.as_terminal();
  return none;
}

// Made while there is memory.
const auto no_memory = std::make_shared<const Error>(without_memory());

std::shared_ptr<const Error> error_in_flight() {
  Error error(ErrorCode::internal, "a stage failed");
  try {
    throw;
  } catch (const Error& thrown) {
    error = thrown;
    if (typeid(thrown) != typeid(Error)) error.caused_by(std::current_exception());
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (const std::exception& thrown) {
    error = Error(ErrorCode::internal, thrown.what());
    error.caused_by(std::current_exception());
  } catch (...) {
    error.caused_by(std::current_exception());
  }
  return std::make_shared<const Error>(std::move(error));
}

}  // namespace

std::shared_ptr<const Error> terminal_error() noexcept {
  try {
    return error_in_flight();
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

}  // namespace detail
}  // namespace infeed
