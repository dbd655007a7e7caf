#include "python/errors.h"

#include <fmt/format.h>
#include <optional>

#include "python/python_object.h"
#include "python/python_words.h"

namespace infeed::python {
namespace {

/// Returns the exception of a Python function that the Error was made of, or null.
nb::object cause_of(const Error& error) {
  if (error.cause() == nullptr) return {};
  try {
    std::rethrow_exception(error.cause());
  } catch (const nb::python_error& exception) {
    return nb::borrow(exception.value());
  } catch (...) {
    return {};
  }
}

void set_python_error(const Error& error) {
  const nb::object type = nb::module_::import_("infeed._errors").attr("Error");
  // The text of a user's own exception stays as it is.
  const auto in_words = [&](const std::string& of) {
    return error.code() == ErrorCode::user_function ? of : in_python_words(of);
  };
  const nb::object value = type(nb::str(in_words(error.what()).c_str()));
  const auto text = [](const std::string& of) -> nb::object {
    return of.empty()
               ? nb::none()
               : nb::object(
                     nb::bytes(of.data(), of.size()).attr("decode")("utf-8", "surrogateescape"));
  };
  const auto number = [](const std::optional<std::uint64_t>& of) -> nb::object {
    return of ? nb::object(nb::int_(*of)) : nb::none();
  };
  value.attr("code") = nb::str(std::string(to_string(error.code())).c_str());
  value.attr("message") = text(in_words(error.message()));
  value.attr("stage") = text(error.stage());
  value.attr("file") = text(error.file());
  value.attr("offset") = number(error.offset());
  value.attr("record") = number(error.record());
  value.attr("is_terminal") = nb::bool_(error.is_terminal());
  if (const nb::object cause = cause_of(error); cause.is_valid()) value.attr("__cause__") = cause;
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      set_python_error(error);
    }
  });
}

Error error_of(nb::python_error&& exception, std::string_view what) {
  const WithGil gil;
  const std::string type = nb::cast<std::string>(nb::str(exception.type().attr("__name__")));
  std::string text;
  try {
    text = nb::cast<std::string>(nb::str(exception.value()));
  } catch (...) {
    text = "(its text can't be made)";
  }
  Error error(ErrorCode::user_function, fmt::format("{} raised {}: {}", what, type, text));
  error.caused_by(std::make_exception_ptr(std::move(exception)));
  return error;
}

}  // namespace infeed::python
