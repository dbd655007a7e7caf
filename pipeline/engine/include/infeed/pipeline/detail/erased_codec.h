#pragma once

#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/element_codec.h>
#include <infeed/records/record.h>

namespace infeed::detail {

/// A codec without its type.
struct ErasedCodec {
  std::string layout;
  void (*encode)(const void* element, std::string& out);
  /// Constructs the element at `to`.
  void (*decode)(const Record& record, void* to);
};

template <class T>
ErasedCodec erased_codec() {
  constexpr bool kRaw = std::is_same_v<T, std::string> || std::is_same_v<T, Record>;
  ErasedCodec codec{ElementCodec<T>::layout(), nullptr, nullptr};
  codec.encode = [](const void* element, std::string& out) {
    const T& value = *static_cast<const T*>(element);
    if constexpr (std::is_same_v<T, std::string>) {
      out += value;
    } else if constexpr (kRaw) {
      out += value.bytes();
    } else {
      ElementCodec<T>::encode(value, out);
    }
  };
  codec.decode = [](const Record& record, void* to) {
    if constexpr (std::is_same_v<T, std::string>) {
      ::new (to) T(record.bytes());
    } else if constexpr (kRaw) {
      ::new (to) T(record);
    } else {
      ElementReader in(record);
      T value = ElementCodec<T>::decode(in);
      in.expect_end();
      ::new (to) T(std::move(value));
    }
  };
  return codec;
}

}  // namespace infeed::detail
