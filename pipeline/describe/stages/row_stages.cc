#include <array>
#include <fmt/format.h>
#include <functional>

#include <infeed/pipeline/enumerate.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/unique.h>
#include <infeed/pipeline/window.h>

#include "describe/stages/padding.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct WindowStage : WindowOptions {
  WindowStage() : WindowOptions{.size = 1} {}
};
struct EnumerateStage : StageOptions {
  std::int64_t start = 0;
  std::string column = "index";
};
struct UniqueStage : StageOptions {};

Elements windows(const WindowStage& stage, const Making& making) {
  const Elements rows = rows_of(making.input(), "window");
  require_widths(rows.columns, "window");
  const auto join = [](const std::vector<ColumnBatch>& window) { return join_rows(window); };
  return batches_of(rows.batches("window") | window(stage) | map(join), rows.columns);
}

/// Puts a column of one number, the element's, behind the others.
ColumnBatch numbered(std::int64_t number, const ColumnBatch& batch, const std::string& name) {
  if (batch.find(name) != nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("enumerate: there is a column '{}' already: give another name", name));
  }
  Tensor numbers(DType::int64, {batch.rows()});
  for (std::int64_t& value : numbers.writable<std::int64_t>()) value = number;
  return batch.with_column(name, Column::dense(std::move(numbers)));
}

Elements enumerated(const EnumerateStage& stage, const Making& making) {
  const bool are_batches = making.input().kind() == ElementKind::batch;
  Elements after = are_batches ? making.input() : rows_of(making.input(), "enumerate");
  const auto number = [name = stage.column](std::int64_t at, const ColumnBatch& batch) {
    return numbered(at, batch, name);
  };
  after.dataset = after.batches("enumerate") | enumerate(stage.start, stage) |
                  map(number, {.version = stage.column});
  after.batch_at_source = {};
  if (after.columns) after.columns->column(stage.column, DType::int64);
  return after;
}

// Rows and records share memory with their neighbours. What unique() remembers is a copy, in memory
// of its own.
Record remembered(const Record& record) { return record.detached(); }
ColumnBatch remembered(const ColumnBatch& batch) {
  const std::array<ColumnBatch, 2> parts = {batch, batch.slice(0, 0)};
  return join_rows(parts);
}
/// Returns the bytes of what remembered() gives.
std::size_t remembered_bytes(const Record& record) { return Payload<Record>::bytes(record); }
std::size_t remembered_bytes(const ColumnBatch& batch) {
  return infeed::detail::held_bytes_of_copy(batch);
}
bool are_same(const Record& a, const Record& b) { return a.bytes() == b.bytes(); }
bool are_same(const ColumnBatch& a, const ColumnBatch& b) { return a == b; }
std::size_t hash_of(const Record& record) { return std::hash<std::string_view>{}(record.bytes()); }
std::size_t hash_of(const ColumnBatch& batch) { return batch.hash(); }

}  // namespace

/// An element that is equal to others of its content.
template <class T>
struct Comparable {
  explicit Comparable(T of) noexcept : value(std::move(of)) {}
  Comparable(Comparable&&) noexcept = default;
  Comparable& operator=(Comparable&&) noexcept = default;
  Comparable(const Comparable& other) : value(remembered(other.value)) {}
  Comparable& operator=(const Comparable&) = delete;
  ~Comparable() = default;
  bool operator==(const Comparable& other) const { return are_same(value, other.value); }

  T value;
};

}  // namespace infeed::describe

template <class T>
struct std::hash<infeed::describe::Comparable<T>> {
  std::size_t operator()(const infeed::describe::Comparable<T>& of) const {
    return infeed::describe::hash_of(of.value);
  }
};
template <class T>
struct infeed::Payload<infeed::describe::Comparable<T>> {
  static std::size_t bytes(const describe::Comparable<T>& of) {
    return describe::remembered_bytes(of.value);
  }
};
template <class T>
struct infeed::IsTriviallyRelocatable<infeed::describe::Comparable<T>>
    : infeed::IsTriviallyRelocatable<T> {};

namespace infeed::describe {
namespace {

/// Returns those elements that come for the first time.
struct Unique {
  const UniqueStage& stage;

  AnyDataset operator()(const Dataset<std::int64_t>& numbers) const {
    return numbers | unique(stage);
  }
  AnyDataset operator()(const Dataset<std::string>& texts) const { return texts | unique(stage); }
  AnyDataset operator()(const Dataset<Record>& records) const { return by_content(records); }
  AnyDataset operator()(const Dataset<ColumnBatch>& batches) const { return by_content(batches); }
  template <class T>
  AnyDataset operator()(const Dataset<T>&) const {
    throw Error(ErrorCode::invalid_argument,
                "unique: samples of tar files and files of folders aren't compared: put batch(n) "
                "and unbatch() before it");
  }

 private:
  template <class T>
  Dataset<T> by_content(const Dataset<T>& input) const {
    return input | map([](T element) { return Comparable<T>(std::move(element)); }) |
           unique(stage) | map([](Comparable<T> element) { return std::move(element.value); });
  }
};

}  // namespace

void add_row_stages(StageTable& table) {
  table
      .add("window", "Puts neighbouring rows into batches, which may overlap or leave gaps.",
           WindowStage{})
      .required("size", &WindowStage::size, "Rows of a window.")
      .option("shift", &WindowStage::shift,
              "Rows from the start of a window to that of the next one; 0: size, no overlap.")
      .option("stride", &WindowStage::stride, "2 takes every other row into a window.")
      .option("drop_remainder", &WindowStage::drop_remainder,
              "Leave out the shorter windows at the end.")
      .makes(windows);
  table
      .add("enumerate", "Adds a column with the number of the row, or of the batch.",
           EnumerateStage{})
      .option("start", &EnumerateStage::start, "The first number.")
      .option("column", &EnumerateStage::column, "The column's name.")
      .makes(enumerated);
  table.add("unique", "Gives each element only at its first occurrence in a pass.", UniqueStage{})
      .makes([](const UniqueStage& stage, const Making& making) {
        Elements after = making.input();
        after.batch_at_source = {};
        after.dataset = std::visit(Unique{stage}, after.dataset);
        return after;
      });
}

}  // namespace infeed::describe
