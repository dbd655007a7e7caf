#pragma once

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <string_view>

#include <infeed/detail/printable_text.h>

#include "cli/stop_on_signal.h"

/// Why: names of files and columns may be any bytes, and JSON is UTF-8. A library that throws at
/// the first odd byte would throw away the result of hours of work.
namespace infeed::tools {

/// Returns `dumped` with characters that act on terminals as \uNNNN: --json may write to one, and
/// readers get the same text.
std::string without_control_characters(std::string_view dumped, const std::stop_token& stop = {});

/// Returns the JSON with strings and keys that are no UTF-8 in the form of utf8_name(). Names whose
/// bytes must be recoverable have that form already and stay as they are.
template <class Json>
Json with_utf8_strings(const Json& json, const std::stop_token& stop = {}) {
  throw_if_stopped(stop, "the JSON was written");
  const auto text = [](const std::string& bytes) {
    const bool is_utf8 = detail::has_only_utf8(bytes);
    return is_utf8 ? bytes : detail::utf8_name(bytes);
  };
  if (json.is_string()) return text(json.template get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json result = json.is_array() ? Json::array() : Json::object();
  for (const auto& item : json.items()) {
    if (json.is_array()) {
      result.push_back(with_utf8_strings(item.value(), stop));
    } else {
      result[text(item.key())] = with_utf8_strings(item.value(), stop);
    }
  }
  return result;
}

/// Returns the text of --json. Throws Error (cancelled) after a stop request.
template <class Json>
std::string json_text(const Json& json, const std::stop_token& stop = {}) {
  return without_control_characters(with_utf8_strings(json, stop).dump(1), stop) + "\n";
}

}  // namespace infeed::tools
