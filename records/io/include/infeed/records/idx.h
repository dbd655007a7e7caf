#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Why: MNIST and its relatives come as IDX files: `0 0 type rank | rank x u32be | elements`
/// (big-endian, row-major), usually gzipped. read_idx() reads one whole array.
///
///     auto images = infeed::read_idx("train-images-idx3-ubyte.gz",
///                                    {.type = infeed::IdxType::uint8, .rank = 3});
///     std::span<const std::uint8_t> first = images.row(0);   // 28 * 28
///
/// Errors: those of opening a file; data_loss for a file that is no IDX file, cut or too long;
/// invalid_argument when the array is not as expected. All name the file.
///
/// Thread-safety: pure functions.
namespace infeed {

enum class IdxType : std::uint8_t {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0b,
  int32 = 0x0c,
  float32 = 0x0d,
  float64 = 0x0e,
};

std::string_view to_string(IdxType type);
std::size_t size_bytes(IdxType type);

struct IdxArray {
  IdxType type = IdxType::uint8;
  std::vector<std::uint64_t> shape;
  /// Elements in this machine's byte order.
  std::vector<std::uint8_t> bytes;

  /// Number of elements along the first dimension.
  std::uint64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  std::size_t row_bytes() const { return rows() == 0 ? 0 : bytes.size() / rows(); }
  std::span<const std::uint8_t> row(std::uint64_t index) const {
    return std::span(bytes).subspan(index * row_bytes(), row_bytes());
  }
};

struct IdxExpectation {
  std::optional<IdxType> type = {};
  std::optional<std::size_t> rank = {};
  std::optional<std::uint64_t> rows = {};
};

/// Reads a file as ByteStream does: plain or compressed, recognised by content.
IdxArray read_idx(const std::string& file, IdxExpectation expected = {});

}  // namespace infeed
