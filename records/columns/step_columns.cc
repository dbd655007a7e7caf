#include "columns/step_columns.h"

#include <fmt/format.h>
#include <span>
#include <vector>

#include "columns/column_values.h"
#include "columns/feature_reading.h"
#include "infeed/error.h"
#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/schema_lists.h"
#include "infeed/records/detail/usual_form.h"

namespace infeed::detail {
namespace {

// ---- one step with a fixed number of numbers ----

constexpr std::size_t kAnyNumber = SIZE_MAX;

/// Returns the place of the next step's numbers.
template <class T>
std::span<T> place_of_step(RowOfSteps& row) {
  const PlannedColumn& column = row.column;
  const std::size_t count = column.step_values;
  const std::size_t room = column.steps_max;
  ++row.steps;
  if (room == kAnyNumber) return row.out.values.extend_by<T>(count, row.pool);
  T* const rows = reinterpret_cast<T*>(row.out.values.data());
  return {rows + (row.row * room + row.steps - 1) * count, count};
}

template <class T>
void parse_step(RowOfSteps& row, const FeatureView& step) {
  const bool is_scalar = row.column.steps_are_scalars;
  if (!step.is_present()) fail_empty_step(step);
  // Steps that are too many are only counted, and refused at the end of the row.
  if (row.steps >= row.column.steps_max) {
    ++row.steps;
    return;
  }
  const std::span<T> to = place_of_step<T>(row);
  if (is_scalar) {
    read_numbers(step, to);
  } else {
    read_numbers_or_bytes(step, to);
  }
}

template <class T>
bool read_usual_step(RowOfSteps& row, FeatureKind kind, std::string_view list) {
  if (row.steps >= row.column.steps_max || row.column.step_values == 0) return false;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    std::string_view bytes;
    if (kind == FeatureKind::bytes && !row.column.steps_are_scalars) {
      if (!read_usual_bytes(list, bytes) || bytes.size() != row.column.step_values) return false;
      std::memcpy(place_of_step<T>(row).data(), bytes.data(), bytes.size());
      return true;
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    return kind == FeatureKind::floats && read_usual_floats(list, place_of_step<T>(row));
  } else if constexpr (kIsUsualInteger<T>) {
    return kind == FeatureKind::integers && read_usual_integers(list, place_of_step<T>(row));
  } else {
    return false;
  }
}

// ---- any number of values a step: an inner sequence each ----

template <class T>
void append_step(RowOfSteps& row, const FeatureView& step) {
  if (std::is_same_v<T, std::uint8_t> && !step.is_present()) fail_empty_step(step);
  const std::size_t items = append_numbers<T>(row.column, step, row.out.values, row.pool);
  end_row(row.out.partitions[1], items, row.pool);
  ++row.steps;
}

template <class T>
bool append_usual_step(RowOfSteps& row, FeatureKind kind, std::string_view list) {
  if (row.column.item_values != 1) return false;
  GrowingBuffer& values = row.out.values;
  std::size_t items = 0;
  if constexpr (std::is_same_v<T, float>) {
    std::size_t size = 0;
    const char* const run = kind == FeatureKind::floats ? usual_whole(list, 0x0a, size) : nullptr;
    if (run == nullptr || size == 0 || size % sizeof(float) != 0) return false;
    std::memcpy(values.extend(size, row.pool), run, size);
    items = size / sizeof(float);
  } else if constexpr (std::is_same_v<T, std::uint8_t> || !kIsUsualInteger<T>) {
    return false;
  } else {
    if (kind != FeatureKind::integers) return false;
    const std::size_t before = values.size_bytes();
    items =
        unpack_usual_integers<T>(list, values.extend_by<T>(usual_integers_room(list), row.pool));
    values.truncate(before + items * sizeof(T));
    if (items == 0) return false;
  }
  end_row(row.out.partitions[1], items, row.pool);
  ++row.steps;
  return true;
}

// ---- bytes ----

void append_step_of_text(RowOfSteps& row, std::string_view text) {
  append_text(text, row.out, row.column.partitions - 1, row.pool);
  ++row.steps;
}

void parse_step_of_bytes(RowOfSteps& row, const FeatureView& step) {
  if (!step.is_present()) fail_empty_step(step);
  append_step_of_text(row, step.single_bytes());
}

bool read_usual_step_of_bytes(RowOfSteps& row, FeatureKind kind, std::string_view list) {
  std::string_view text;
  if (kind != FeatureKind::bytes || !read_usual_bytes(list, text)) return false;
  append_step_of_text(row, text);
  return true;
}

void append_step_of_bytes(RowOfSteps& row, const FeatureView& step) {
  const std::size_t items = append_texts(step, row.out, 2, row.pool);
  end_row(row.out.partitions[1], items, row.pool);
  ++row.steps;
}

// ---- rows ----

/// True if the row has a right number of steps.
bool has_right_steps(const RowOfSteps& row) {
  const std::size_t room = row.column.steps_max;
  return row.column.type.kind == Column::Kind::dense ? row.steps == room : row.steps <= room;
}

[[noreturn]] void refuse_steps(const RowOfSteps& row) {
  const ColumnType& type = row.column.type;
  const std::string_view noun = row.steps == 1 ? "step" : "steps";
  if (type.kind == Column::Kind::dense) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("feature list '{}' has {} {}, but {} {} wanted", type.name, row.steps,
                            noun, type.shape[0], type.shape[0] == 1 ? "is" : "are"));
  }
  throw Error(ErrorCode::data_loss,
              fmt::format("feature list '{}' has {} {}, but is to be padded to {}; cut it, or make "
                          "the width larger",
                          type.name, row.steps, noun, *type.width));
}

void end_row_of_steps(RowOfSteps& row) {
  const ColumnType& type = row.column.type;
  if (type.kind == Column::Kind::dense) return;
  if (!type.width) {
    end_row(row.out.partitions[0], row.steps, row.pool);
    return;
  }
  with_dtype(type.dtype, [&]<class T>(T) {
    const std::size_t row_values = static_cast<std::size_t>(*type.width) * row.column.item_values;
    T* const to = reinterpret_cast<T*>(row.out.values.data()) + row.row * row_values;
    pad_row(row.column, to, row.steps * row.column.item_values, row_values);
  });
  row.out.partitions[0].values<std::int64_t>()[row.row] = static_cast<std::int64_t>(row.steps);
}

void parse_list(const PlannedColumn& column, const FeatureListView& list, std::string_view example,
                GrowingColumn& out, std::size_t row_number, const TensorPool& pool) {
  if (column.type.missing && (!list.is_present() || list.size() == 0)) {
    append_default(column, out, row_number, pool);
    return;
  }
  if (column.must_be_there && !list.is_present()) fail_missing_list(list, example);
  RowOfSteps row{column, out, row_number, pool};
  FeatureSteps steps(list);
  for (FeatureView step; steps.next(step);) column.parse_step(row, step);
  if (!has_right_steps(row)) refuse_steps(row);
  end_row_of_steps(row);
}

/// Reads a list's content in the usual form. Refuses a list without steps, which may count as
/// missing.
bool parse_usual_list(const PlannedColumn& column, std::string_view list, GrowingColumn& out,
                      std::size_t row_number, const TensorPool& pool) {
  if (column.read_usual_step == nullptr || list.empty()) return false;
  RowOfSteps row{column, out, row_number, pool};
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    std::size_t size = 0;
    const char* const feature = usual_content(at, end, 0x0a, size);
    if (feature == nullptr || size == 0) return false;
    const auto tag = static_cast<std::uint8_t>(*feature);
    if (tag != 0x0a && tag != 0x12 && tag != 0x1a) return false;
    std::size_t list_size = 0;
    const char* const values = usual_whole({feature, size}, tag, list_size);
    if (values == nullptr) return false;
    const auto kind = static_cast<FeatureKind>((tag >> 3) - 1);
    if (!column.read_usual_step(row, kind, {values, list_size})) return false;
  }
  if (!has_right_steps(row)) return false;
  end_row_of_steps(row);
  return true;
}

/// Calls visit(index in `names`, content of the list) -> bool for each list whose name is in
/// `names`. Returns true as visit_usual_features() does.
template <class Visit>
bool visit_usual_lists(const NameTable& names, std::string_view map, Visit&& visit) {
  if (names.size() > SeenFeatures::kFeaturesMax) return false;
  SeenFeatures seen(names.size());
  std::size_t found = 0;
  std::size_t predicted = names.first();
  const char* at = map.data();
  const char* const end = at + map.size();
  std::size_t size = 0;
  while (at != end) {
    const char* entry = usual_content(at, end, 0x0a, size);
    if (entry == nullptr) return false;
    const char* const entry_end = entry + size;
    const char* const name = usual_content(entry, entry_end, 0x0a, size);
    if (name == nullptr) return false;
    const std::size_t index = names.find({name, size}, predicted);
    const char* const list = usual_content(entry, entry_end, 0x12, size);
    if (list == nullptr || entry != entry_end) return false;
    if (index == names.size()) continue;
    if (!seen.add(index) || !visit(index, std::string_view(list, size))) return false;
    ++found;
  }
  return found == names.size();
}

/// True if a map has entries and nothing else.
bool is_usual_map(std::string_view map) {
  const char* at = map.data();
  const char* const end = at + map.size();
  std::size_t size = 0;
  while (at != end) {
    if (usual_content(at, end, 0x0a, size) == nullptr) return false;
  }
  return true;
}

template <class T>
void plan_steps_of(PlannedColumn& column) {
  if (column.type.ragged_levels == 2) {
    column.parse_step = &append_step<T>;
    column.read_usual_step = &append_usual_step<T>;
  } else {
    column.parse_step = &parse_step<T>;
    column.read_usual_step = &read_usual_step<T>;
  }
}

}  // namespace

void check_steps(const ColumnType& type) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' comes from a feature list, {}", type.name, why));
  };
  if (type.kind == Column::Kind::bytes) {
    refuse("which has any number of steps: it can be ragged_bytes, but not bytes");
  }
  if (type.kind == Column::Kind::dense && type.shape.rank() == 0) {
    refuse("so the first extent of its shape is the number of steps, but its shape is []");
  }
  if (type.partition) refuse("whose steps cut its values: no other feature can");
  if (type.ragged_levels > 2) {
    refuse(
        fmt::format("which has one ragged level, or two with any number of values a step, but "
                    "it has {}",
                    type.ragged_levels));
  }
}

void plan_steps(PlannedColumn& column) {
  const ColumnType& type = column.type;
  column.must_be_there = !type.missing && type.ragged_levels != 2;
  column.steps_max = type.kind == Column::Kind::dense ? static_cast<std::size_t>(type.shape[0])
                     : type.width                     ? static_cast<std::size_t>(*type.width)
                                                      : kAnyNumber;
  if (column.is_of_bytes()) {
    const bool has_one_value = type.ragged_levels == 1;
    column.parse_step = has_one_value ? &parse_step_of_bytes : &append_step_of_bytes;
    column.read_usual_step = has_one_value ? &read_usual_step_of_bytes : nullptr;
    return;
  }
  const Shape step = type.kind == Column::Kind::dense ? type.shape.without_first() : type.shape;
  column.step_values = static_cast<std::size_t>(step.items());
  column.steps_are_scalars = step.rank() == 0;
  with_dtype(type.dtype, [&]<class T>(T) { plan_steps_of<T>(column); });
}

void parse_lists(const ColumnPlan& plan, std::string_view example, std::size_t row,
                 std::span<GrowingColumn> rows, const TensorPool& pool) {
  thread_local std::vector<FeatureListView> spare;
  if (spare.size() < plan.list_columns.size()) spare.resize(plan.list_columns.size());
  const std::span<FeatureListView> lists = std::span(spare).first(plan.list_columns.size());
  plan.lists.parse(example, {}, lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::size_t at = plan.list_columns[i];
    parse_list(*plan.columns[at], lists[i], example, rows[at], row, pool);
  }
}

bool parse_usual_sequence(const ColumnPlan& plan, std::string_view example, std::size_t row,
                          std::span<GrowingColumn> rows, const TensorPool& pool) {
  if (plan.has_partitions) return false;
  const char* at = example.data();
  const char* const end = at + example.size();
  std::size_t size = 0;
  const char* const context = usual_content(at, end, 0x0a, size);
  const std::string_view context_field(example.data(),
                                       static_cast<std::size_t>(at - example.data()));
  const UsualRow usual_row = {row, pool, nullptr};
  const auto read_feature = [&](std::size_t i, FeatureKind kind, std::string_view list) {
    const std::size_t to = plan.feature_columns[i];
    const ParseList parse = plan.parse_lists[to];
    return parse != nullptr && parse(*plan.columns[to], kind, list, rows[to], usual_row);
  };
  const bool is_usual_context =
      plan.parser.size() == 0 ? context == nullptr || is_usual_map({context, size})
                              : visit_usual_features(plan.parser, context_field, read_feature);
  if (!is_usual_context) return false;
  const char* const lists = usual_content(at, end, 0x12, size);
  if (lists == nullptr || at != end) return false;
  return visit_usual_lists(plan.lists.list_name_table(), {lists, size},
                           [&](std::size_t i, std::string_view list) {
                             const std::size_t to = plan.list_columns[i];
                             return parse_usual_list(*plan.columns[to], list, rows[to], row, pool);
                           });
}

}  // namespace infeed::detail
