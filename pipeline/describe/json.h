#pragma once

#include <nlohmann/json.hpp>

#include "infeed/describe/option_value.h"

/// nlohmann's values, which no public header shows.
namespace infeed::describe {

using Json = nlohmann::ordered_json;

inline Json parsed(const JsonText& text) { return Json::parse(text.text()); }
/// Bytes that are no UTF-8 (in names of files) become U+FFFD.
inline JsonText text_of(const Json& json) {
  return JsonText(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace infeed::describe
