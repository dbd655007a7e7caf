#include "columns/small_columns.h"

#include <memory>
#include <utility>

namespace infeed::detail {
namespace {

constexpr std::size_t kSmallColumnBytes = 4096;
constexpr std::size_t kCacheLineBytes = 64;
/// Bytes of a column's reference count: a cache line, since any thread may drop references.
constexpr std::size_t kCountBytes = kCacheLineBytes;

/// Puts a column's reference count at `place` in the block, and keeps the block as long as the
/// count.
template <class T>
struct InBlock {
  using value_type = T;

  InBlock(std::shared_ptr<std::byte> in, std::byte* at) noexcept
      : block(std::move(in)), place(at) {}
  template <class Other>
  InBlock(const InBlock<Other>& other) noexcept : block(other.block), place(other.place) {}

  T* allocate(std::size_t) noexcept {
    static_assert(sizeof(T) <= kCountBytes && alignof(T) <= kCountBytes);
    return reinterpret_cast<T*>(place);
  }
  void deallocate(T*, std::size_t) noexcept {}
  bool operator==(const InBlock&) const = default;

  std::shared_ptr<std::byte> block;
  std::byte* place;
};

/// Returns the column's bytes in whole cache lines; 0 for a column that isn't small.
std::size_t small_bytes(const PlannedColumn& column, std::size_t rows_max) {
  if (column.partitions != 0) return 0;
  std::size_t values_bytes = 0;
  const bool is_too_much = __builtin_mul_overflow(rows_max, column.row_bytes, &values_bytes);
  if (is_too_much || values_bytes > kSmallColumnBytes) return 0;
  return (values_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
}

}  // namespace

void begin_small_columns(const ColumnPlan& plan, std::size_t rows_max, std::span<GrowingColumn> out,
                         const TensorPool& pool) {
  std::size_t columns = 0;
  std::size_t bytes = 0;
  for (const auto& column : plan.columns) {
    const std::size_t own_bytes = small_bytes(*column, rows_max);
    columns += own_bytes != 0 ? 1 : 0;
    bytes += own_bytes;
  }
  if (columns < 2) return;
  const std::shared_ptr<std::byte> block = pool.take(bytes + columns * kCountBytes).memory;
  std::byte* values = block.get();
  std::byte* count = values + bytes;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t own_bytes = small_bytes(*plan.columns[i], rows_max);
    if (own_bytes == 0) continue;
    // The column has a count of its own, so its tensor can be written if nobody else has it.
    out[i].values.adopt({std::shared_ptr<std::byte>(
                             values, [](std::byte*) {}, InBlock<std::byte>(block, count)),
                         own_bytes});
    values += own_bytes;
    count += kCountBytes;
  }
}

}  // namespace infeed::detail
