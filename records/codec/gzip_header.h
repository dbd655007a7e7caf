#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace infeed::detail {

/// The header of one gzip member (RFC 1952), read as its bytes come, in pieces of any size. ISA-L's
/// own reader keeps neither flags nor checksum between two calls: a sound header whose bytes come in
/// two pieces is damaged to it.
class GzipHeader {
 public:
  /// Takes the header's bytes from the front of `bytes`; returns how many those are. None once
  /// is_over() or fault() says something.
  std::size_t take(std::span<const std::uint8_t> bytes);

  /// All of it was taken; deflated data follows.
  bool is_over() const { return part_ == Part::none; }
  /// Returns what is wrong with it, behind "gzip stream 3 is damaged: "; or nothing.
  std::string_view fault() const { return fault_; }

 private:
  /// In their order.
  enum class Part { fixed, extra_bytes, extra, name, comment, checksum, none };

  std::size_t take_of_part(std::span<const std::uint8_t> bytes);
  std::size_t take_fixed(std::span<const std::uint8_t> bytes);
  void take_number(std::uint8_t byte);
  std::size_t take_extra(std::size_t bytes);
  std::size_t take_text(std::span<const std::uint8_t> bytes);
  void add_to_sum(std::span<const std::uint8_t> bytes);
  void end_part();
  std::uint8_t flags() const { return fixed_[3]; }
  bool has(Part part) const;

  Part part_ = Part::fixed;
  std::array<std::uint8_t, 10> fixed_{};
  std::size_t taken_ = 0;     ///< bytes of the part
  std::uint16_t number_ = 0;  ///< the value of extra_bytes or checksum
  std::uint32_t crc_ = 0;     ///< checksum of what was taken
  std::string_view fault_;
};

}  // namespace infeed::detail
