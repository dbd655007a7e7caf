#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace infeed::detail {

/// The bytes that stand around a record's payload in a TFRecord file: before it its length as u64le and
/// the length's masked CRC, behind it the masked CRC of the payload.
class RecordFrame {
 public:
  static constexpr std::size_t kBytesBefore = 12;
  static constexpr std::size_t kBytesAfter = 4;
  static constexpr std::size_t kBytes = kBytesBefore + kBytesAfter;

  explicit RecordFrame(std::string_view payload);
  std::string_view before() const { return {before_.data(), before_.size()}; }
  std::string_view after() const { return {after_.data(), after_.size()}; }

 private:
  std::array<char, kBytesBefore> before_;
  std::array<char, kBytesAfter> after_;
};

}  // namespace infeed::detail
