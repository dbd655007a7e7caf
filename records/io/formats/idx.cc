#include "infeed/records/idx.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

#include "infeed/error.h"
#include "infeed/records/byte_stream.h"

namespace infeed {
namespace {

constexpr std::size_t kElementBytesMax = std::size_t{64} << 30;

/// Names the file in every error.
class IdxStream {
 public:
  explicit IdxStream(const std::string& file) : stream_(file) {}

  /// Returns the bytes read: fewer than asked for only at the end.
  std::size_t read(std::span<char> into) { return stream_.read(into); }
  const std::string& file() const { return stream_.file(); }
  Error error(ErrorCode code, std::string message) const {
    return Error(code, std::move(message)).at_file(stream_.file());
  }

 private:
  ByteStream stream_;
};

bool is_known(std::uint8_t type) {
  return type == 0x08 || type == 0x09 || (type >= 0x0b && type <= 0x0e);
}

std::string describe(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

IdxArray read_header(IdxStream& stream) {
  std::array<char, 4> magic{};
  const std::size_t got = stream.read(magic);
  std::array<std::uint8_t, 4> bytes{};
  std::copy(magic.begin(), magic.end(), bytes.begin());
  if (got != magic.size() || bytes[0] != 0 || bytes[1] != 0 || !is_known(bytes[2])) {
    throw stream.error(
        ErrorCode::data_loss,
        fmt::format(
            "this is no IDX file: it begins with '{:02x}', but 00 00, a type (08, 09, 0b to "
            "0e) and the number of dimensions are expected",
            fmt::join(bytes.begin(), bytes.begin() + got, " ")));
  }
  IdxArray array;
  array.type = static_cast<IdxType>(bytes[2]);
  for (std::size_t i = 0; i < bytes[3]; ++i) {
    std::array<char, 4> size{};
    if (stream.read(size) != size.size()) {
      throw stream.error(ErrorCode::data_loss,
                         fmt::format("the file is cut inside its {} dimensions", bytes[3]));
    }
    std::uint64_t value = 0;
    for (const char c : size) value = value << 8 | static_cast<std::uint8_t>(c);
    array.shape.push_back(value);
  }
  return array;
}

void check_expectation(const IdxStream& stream, const IdxArray& array,
                       const IdxExpectation& expected) {
  const auto fail = [&stream](std::string message) {
    throw stream.error(ErrorCode::invalid_argument, std::move(message));
  };
  if (expected.type && *expected.type != array.type) {
    fail(fmt::format("the elements are {}, but {} is expected", to_string(array.type),
                     to_string(*expected.type)));
  }
  if (expected.rank && *expected.rank != array.shape.size()) {
    fail(fmt::format("the array has {} dimensions {}, but {} are expected; is it the right file?",
                     array.shape.size(), describe(array.shape), *expected.rank));
  }
  if (expected.rows && *expected.rows != array.rows()) {
    fail(fmt::format("the array has {} rows, but {} are expected; do the files belong together?",
                     array.rows(), *expected.rows));
  }
}

/// Returns the most bytes that a gzipped file of that size usually holds; 0 when the size is not
/// known.
std::size_t likely_bytes_in(const std::string& file) {
  constexpr std::uintmax_t kUsualRatioMax = 4;
  std::error_code is_unknown;
  const std::uintmax_t file_bytes = std::filesystem::file_size(file, is_unknown);
  return is_unknown ? 0 : kUsualRatioMax * std::min<std::uintmax_t>(file_bytes, kElementBytesMax);
}

void read_elements(IdxStream& stream, IdxArray& array) {
  std::size_t wanted = size_bytes(array.type);
  const bool is_empty = std::find(array.shape.begin(), array.shape.end(), 0U) != array.shape.end();
  for (const std::uint64_t size : array.shape) {
    wanted = is_empty ? 0 : wanted > kElementBytesMax / size ? kElementBytesMax : wanted * size;
  }
  // The header is only a claim: memory grows with the bytes that really come, and begins with a
  // size in proportion to the file.
  constexpr std::size_t kStepBytes = std::size_t{16} << 20;
  const std::size_t first_bytes = std::max<std::size_t>(kStepBytes, likely_bytes_in(stream.file()));
  std::size_t have = 0;
  while (have < wanted) {
    array.bytes.resize(std::min(wanted, std::max(first_bytes, 2 * have)));
    const std::span<std::uint8_t> room = std::span(array.bytes).subspan(have);
    const std::size_t got = stream.read({reinterpret_cast<char*>(room.data()), room.size()});
    have += got;
    if (got < room.size()) {
      throw stream.error(ErrorCode::data_loss,
                         fmt::format("the file is cut: {} of the {} bytes of an array {} are there",
                                     have, wanted, describe(array.shape)));
    }
  }
  std::array<char, 1> extra{};
  if (stream.read(extra) != 0) {
    throw stream.error(ErrorCode::data_loss,
                       fmt::format("there are bytes behind the {} bytes of the array {}", wanted,
                                   describe(array.shape)));
  }
}

void to_native_order(IdxArray& array) {
  const std::size_t size = size_bytes(array.type);
  if (size == 1) return;
  for (std::size_t at = 0; at < array.bytes.size(); at += size) {
    const auto begin = array.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    std::reverse(begin, begin + static_cast<std::ptrdiff_t>(size));
  }
}

}  // namespace

std::string_view to_string(IdxType type) {
  switch (type) {
    case IdxType::uint8:
      return "uint8";
    case IdxType::int8:
      return "int8";
    case IdxType::int16:
      return "int16";
    case IdxType::int32:
      return "int32";
    case IdxType::float32:
      return "float32";
    case IdxType::float64:
      return "float64";
  }
  return "unknown";
}

std::size_t size_bytes(IdxType type) {
  switch (type) {
    case IdxType::uint8:
    case IdxType::int8:
      return 1;
    case IdxType::int16:
      return 2;
    case IdxType::int32:
    case IdxType::float32:
      return 4;
    case IdxType::float64:
      return 8;
  }
  return 1;
}

IdxArray read_idx(const std::string& file, IdxExpectation expected) {
  IdxStream stream(file);
  IdxArray array = read_header(stream);
  check_expectation(stream, array, expected);
  read_elements(stream, array);
  to_native_order(array);
  return array;
}

}  // namespace infeed
