#include "infeed/records/detail/column_bytes.h"

#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "infeed/error.h"
#include "io/little_endian.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kRankMax = 255;
// A tensor has a dtype, a rank and the number of its bytes. A column has the length of its name, a
// kind, a tensor and the number of partitions.
constexpr std::size_t kTensorBytesMin = 10;
constexpr std::size_t kColumnBytesMin = 8 + 1 + kTensorBytesMin + 8;

[[noreturn]] void refuse_column_bytes(std::string_view what) {
  throw Error(
      ErrorCode::data_loss,
      fmt::format("the bytes of a batch of columns are damaged: {}; remove the file, so that "
                  "it is written anew",
                  what));
}

void put_number(std::uint64_t number, std::string& out) {
  char bytes[8];
  store_little(bytes, number);
  out.append(bytes, sizeof(bytes));
}

void put_tensor(const Tensor& tensor, std::string& out) {
  out.push_back(static_cast<char>(tensor.dtype()));
  out.push_back(static_cast<char>(tensor.shape().rank()));
  for (const std::int64_t extent : tensor.shape()) {
    put_number(static_cast<std::uint64_t>(extent), out);
  }
  put_number(tensor.bytes(), out);
  out.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
}

/// Reads encoded bytes from the front.
class ColumnBytes {
 public:
  explicit ColumnBytes(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      refuse_column_bytes(
          fmt::format("{} bytes should follow where {} are left", size, rest_.size()));
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t number() { return load_little<std::uint64_t>(take(8).data()); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1).front()); }
  /// Reads a count of parts that take `bytes_each` bytes at least.
  std::size_t count(std::size_t bytes_each) {
    const std::uint64_t count = number();
    if (count > rest_.size() / bytes_each) {
      refuse_column_bytes(fmt::format("{} parts can't be in {} bytes", count, rest_.size()));
    }
    return static_cast<std::size_t>(count);
  }
  bool empty() const { return rest_.empty(); }

  Tensor tensor() {
    const std::uint8_t dtype = byte();
    if (dtype >= static_cast<std::uint8_t>(DType::bytes)) {
      refuse_column_bytes(fmt::format("there is no type of number {}", dtype));
    }
    std::vector<std::int64_t> extents(byte());
    for (std::int64_t& extent : extents) extent = static_cast<std::int64_t>(number());
    const std::string_view values = take(number());
    const Shape shape{std::span<const std::int64_t>(extents)};
    const auto items = static_cast<std::uint64_t>(shape.items());
    const std::size_t each = item_bytes(static_cast<DType>(dtype));
    if (values.size() % each != 0 || items != values.size() / each) {
      refuse_column_bytes(fmt::format("{} bytes of {} have the shape {}", values.size(),
                                      to_string(static_cast<DType>(dtype)), shape.to_string()));
    }
    Tensor result(static_cast<DType>(dtype), shape);
    if (!values.empty()) {
      std::memcpy(result.writable_bytes().data(), values.data(), values.size());
    }
    return result;
  }

 private:
  std::string_view rest_;
};

Column read_column(ColumnBytes& in) {
  const std::uint8_t kind = in.byte();
  Tensor values = in.tensor();
  std::vector<Tensor> partitions(in.count(kTensorBytesMin));
  for (Tensor& partition : partitions) partition = in.tensor();
  if (kind > static_cast<std::uint8_t>(Column::Kind::ragged_bytes)) {
    refuse_column_bytes(fmt::format("there is no kind of column of number {}", kind));
  }
  return Column::of_parts(static_cast<Column::Kind>(kind), std::move(values),
                          std::move(partitions));
}

}  // namespace

void encode_columns(const ColumnBatch& batch, std::string& out) {
  put_number(batch.columns().size(), out);
  for (std::size_t i = 0; i < batch.columns().size(); ++i) {
    const Column& column = batch.columns()[i];
    put_number(batch.names()[i].size(), out);
    out += batch.names()[i];
    if (column.values().shape().rank() > kRankMax) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("column '{}' has {} axes; a batch that is written may have {}",
                              batch.names()[i], column.values().shape().rank(), kRankMax));
    }
    out.push_back(static_cast<char>(column.kind()));
    put_tensor(column.values(), out);
    put_number(column.partitions().size(), out);
    for (const Tensor& partition : column.partitions()) put_tensor(partition, out);
  }
}

ColumnBatch decode_columns(std::string_view bytes) {
  ColumnBytes in(bytes);
  try {
    std::vector<NamedColumn> columns(in.count(kColumnBytesMin));
    for (NamedColumn& column : columns) {
      column.name = in.take(in.number());
      column.column = read_column(in);
    }
    if (!in.empty()) refuse_column_bytes("something follows them");
    return ColumnBatch(std::move(columns));
  } catch (const Error& error) {
    // An invalid_argument means here that the parts don't fit each other.
    if (error.code() == ErrorCode::invalid_argument) refuse_column_bytes(error.message());
    throw;
  }
}

}  // namespace infeed::detail
