#pragma once

#include <string>
#include <string_view>

#include <infeed/pipeline/element_codec.h>

/// Why: what ranks and feeding processes send each other are values one behind the other, in the form
/// of ElementCodec. Both ends are the same version of this library, which agree() makes sure of.
namespace infeed::detail {

template <class T>
void append_value(const T& value, std::string& message) {
  ElementCodec<T>::encode(value, message);
}

/// Takes the value off the front of a message's bytes. Throws Error(data_loss) for other bytes.
template <class T>
T take_value(std::string_view& message) {
  const Record record = Record().slice(message);  // shows the bytes, without a copy
  ElementReader in(record);
  T value = ElementCodec<T>::decode(in);
  message = in.rest();
  return value;
}

}  // namespace infeed::detail
