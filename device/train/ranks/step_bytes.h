#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <infeed/error.h>

// Numbers and texts as bytes, for messages between ranks, which run the same program on the same
// kind of machine.

namespace infeed::detail {

class StepWriter {
 public:
  template <class Value>
  void number(Value value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes_.append(text);
  }
  void floats(std::span<const float> values) {
    text({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Throws internal for a message that is cut.
class StepReader {
 public:
  explicit StepReader(std::string_view bytes) : bytes_(bytes) {}

  template <class Value>
  Value number() {
    Value value{};
    const std::string_view found = take(sizeof(value));
    std::memcpy(&value, found.data(), sizeof(value));
    return value;
  }
  std::string_view text() { return take(number<std::uint64_t>()); }
  /// Fills `values`, which must be as many as were sent.
  void floats(std::span<float> values) {
    const std::string_view found = text();
    if (found.size() != values.size_bytes()) refuse();
    std::memcpy(values.data(), found.data(), found.size());
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) refuse();
    const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::internal, "a message of another rank doesn't hold what it should");
  }

  std::string_view bytes_;
};

}  // namespace infeed::detail
