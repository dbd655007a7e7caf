#include "columns/column_plan.h"
#include "columns/column_values.h"
#include "infeed/detail/late_copy.h"
#include "infeed/records/detail/usual_form.h"

// Fills columns from lists in the usual form (usual_form.h).
namespace infeed::detail {
namespace {

template <class T>
bool read_dense(const PlannedColumn& column, FeatureKind kind, std::string_view list,
                GrowingColumn& out, const UsualRow& row) {
  const std::size_t count = column.item_values;
  const std::span<T> to(reinterpret_cast<T*>(out.values.data()) + row.index * count, count);
  if constexpr (std::is_same_v<T, float>) {
    return kind == FeatureKind::floats && read_usual_floats(list, to, row.late);
  } else if (kind == FeatureKind::integers) {
    return read_usual_integers(list, to);
  }
  return false;
}

/// Reads a number a row and nothing else that a column can be: 40 take 230 ns instead of 270.
template <class T>
bool read_scalar(const PlannedColumn&, FeatureKind kind, std::string_view list, GrowingColumn& out,
                 const UsualRow& row) {
  T* const to = reinterpret_cast<T*>(out.values.data()) + row.index;
  if constexpr (std::is_same_v<T, float>) {
    return kind == FeatureKind::floats && read_usual_float(list, *to);
  } else {
    return kind == FeatureKind::integers && read_usual_integers(list, std::span<T>(to, 1));
  }
}

/// Reads the bytes of a single value.
bool read_pixels(const PlannedColumn& column, FeatureKind kind, std::string_view list,
                 GrowingColumn& out, const UsualRow& row) {
  std::string_view bytes;
  if (kind != FeatureKind::bytes || !read_usual_bytes(list, bytes)) return false;
  if (bytes.size() != column.item_values || bytes.empty()) return false;
  copy_or_leave(row.late, out.values.data() + row.index * bytes.size(), bytes.data(), bytes.size());
  return true;
}

bool append_usual_text(const PlannedColumn&, FeatureKind kind, std::string_view list,
                       GrowingColumn& out, const UsualRow& row) {
  std::string_view text;
  if (kind != FeatureKind::bytes || !read_usual_bytes(list, text)) return false;
  std::byte* const to = out.values.extend(text.size(), row.pool);
  if (!text.empty()) copy_or_leave(row.late, to, text.data(), text.size());
  out.partitions[0].push_back(static_cast<std::int64_t>(out.values.size_bytes()), row.pool);
  return true;
}

template <class T>
bool append_integers(const PlannedColumn&, FeatureKind kind, std::string_view list,
                     GrowingColumn& out, const UsualRow& row) {
  if (kind != FeatureKind::integers) return false;
  const std::size_t before = out.values.size_bytes();
  const std::span<T> room = out.values.extend_by<T>(usual_integers_room(list), row.pool);
  const std::size_t count = unpack_usual_integers<T>(list, room);
  out.values.truncate(before + count * sizeof(T));
  if (count != 0) end_row(out.partitions[0], count, row.pool);
  return count != 0;
}

bool append_floats(const PlannedColumn&, FeatureKind kind, std::string_view list,
                   GrowingColumn& out, const UsualRow& row) {
  std::size_t size = 0;
  const char* const run = kind == FeatureKind::floats ? usual_whole(list, 0x0a, size) : nullptr;
  if (run == nullptr || size == 0 || size % sizeof(float) != 0) return false;
  copy_or_leave(row.late, out.values.extend(size, row.pool), run, size);
  end_row(out.partitions[0], size / sizeof(float), row.pool);
  return true;
}

template <class T>
ParseList parse_list_of(const ColumnType& type) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  if constexpr (!kIsFloat && !kIsUsualInteger<T>) {
    return nullptr;
  } else if (type.kind == Column::Kind::dense) {
    if (std::is_same_v<T, std::uint8_t> && type.shape.rank() != 0) return &read_pixels;
    if (type.shape.items() == 1) return &read_scalar<T>;
    return type.shape.items() == 0 ? nullptr : &read_dense<T>;
  } else if (type.width || type.kind != Column::Kind::ragged || type.shape.rank() != 0) {
    return nullptr;
  } else if constexpr (kIsFloat) {
    return &append_floats;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return nullptr;
  } else {
    return &append_integers<T>;
  }
}

}  // namespace

ParseList plan_usual_form(const ColumnType& type) {
  if (type.partition) return nullptr;
  if (type.kind == Column::Kind::bytes) return &append_usual_text;
  if (type.dtype == DType::bytes) return nullptr;
  ParseList parse = nullptr;
  with_dtype(type.dtype, [&]<class T>(T) { parse = parse_list_of<T>(type); });
  return parse;
}

}  // namespace infeed::detail
