#include "io/range_crcs.h"

#include <array>

#include "infeed/records/crc32c.h"

namespace infeed::detail {
namespace {

/// Polynomials over bits modulo CRC-32C's. The lowest bit holds the highest power.
constexpr std::uint32_t kPolynomial = 0x82f63b78U;
constexpr std::uint32_t kOne = 0x80000000U;

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int i = 0; i < 32; ++i) {
    if ((a & (kOne >> i)) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1U) != 0 ? kPolynomial : 0U);
  }
  return product;
}

/// Multiplies the register by x^(8 n), as n bytes of zeros do.
class Shifts {
 public:
  constexpr Shifts() {
    std::uint32_t step = kOne >> 8;  // x^8
    for (auto& table : tables_) {
      table[0] = kOne;
      for (std::size_t i = 1; i < table.size(); ++i) table[i] = multiply(table[i - 1], step);
      step = multiply(table.back(), step);
    }
  }
  std::uint32_t apply(std::uint32_t state, std::uint64_t bytes) const {
    for (std::size_t i = 0; bytes != 0 && i < tables_.size(); ++i, bytes >>= 8) {
      if ((bytes & 0xff) != 0) state = multiply(tables_[i][bytes & 0xff], state);
    }
    return state;
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 8> tables_{};
};

}  // namespace

std::uint32_t RangeCrcs::update(std::uint32_t state, std::string_view bytes) {
  bytes_hashed_ += bytes.size();
  return ~extend_crc32c(~state, bytes);
}

void RangeCrcs::begin_at(std::uint64_t offset) {
  states_.assign(1, 0);
  begin_ = end_ = offset;
}

/// Makes the states up to the last whole step in `bytes`, which begin at or before end_.
void RangeCrcs::extend(std::string_view bytes, std::uint64_t offset) {
  while (end_ + kStepBytes <= offset + bytes.size()) {
    states_.push_back(
        update(states_.back(), bytes.substr(static_cast<std::size_t>(end_ - offset), kStepBytes)));
    end_ += kStepBytes;
  }
}

std::uint32_t RangeCrcs::crc32c_of(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() < 2 * kStepBytes) return ~update(~0U, bytes);
  static const Shifts kShifts;
  if (states_.empty() || offset < begin_ || offset > end_) begin_at(offset);
  extend(bytes, offset);
  // The first and the last state in the range.
  const std::uint64_t first = (offset - begin_ + kStepBytes - 1) / kStepBytes;
  const std::uint64_t last = (offset + bytes.size() - begin_) / kStepBytes;
  const auto place = [&](std::uint64_t state) {
    return static_cast<std::size_t>(begin_ + state * kStepBytes - offset);
  };
  const std::uint32_t before = update(~0U, bytes.substr(0, place(first))) ^ states_[first];
  const std::uint64_t between = (last - first) * kStepBytes;
  const std::uint32_t at_last = kShifts.apply(before, between) ^ states_[last];
  const std::uint32_t crc = ~update(at_last, bytes.substr(place(last)));
  // Later ranges begin later, so earlier states can go.
  const std::uint64_t passed = (offset - begin_) / kStepBytes;
  states_.erase(states_.begin(), states_.begin() + static_cast<std::ptrdiff_t>(passed));
  begin_ += passed * kStepBytes;
  return crc;
}

}  // namespace infeed::detail
