#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Reads whole numbers from the JSON of a file that anybody may have written. The parser's own
// conversions turn 3e57 and -1 into any integer. These functions throw its type_error for a number
// that Integer can't hold. `Json` is nlohmann::json, which users of this library need not have.
namespace infeed::detail {

template <class Integer, class Json>
Integer json_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = *value.template get_ptr<const typename Json::number_unsigned_t*>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  } else if (value.is_number_integer()) {
    const auto number = *value.template get_ptr<const typename Json::number_integer_t*>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  }
  throw Json::type_error::create(
      302, std::string("type must be a whole number in range, but is ") + value.type_name(),
      &value);
}

template <class Integer, class Json>
Integer json_integer(const Json& object, const char* key) {
  return json_integer<Integer>(object.at(key));
}

/// Returns `absent` where the object has no such member.
template <class Integer, class Json>
Integer json_integer(const Json& object, const char* key, Integer absent) {
  const auto found = object.find(key);
  return found == object.end() ? absent : json_integer<Integer>(*found);
}

template <class Integer, class Json>
std::vector<Integer> json_integers(const Json& list) {
  std::vector<Integer> numbers;
  for (const Json& value : list) numbers.push_back(json_integer<Integer>(value));
  return numbers;
}

}  // namespace infeed::detail
