#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/detail/column_number.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/member_names.h>
#include <infeed/pipeline/unbatch.h>

namespace infeed {

/// Why: a text, a document or a sample is an element of its own for shuffle, filter, tokenisers and
/// pack, but files of columns are read quickest in batches. This takes ColumnBatches apart into
/// structs, one a row, without a batch of one row for each.
///
///     struct Document { std::string text; std::vector<std::int32_t> labels; };
///     auto documents = infeed::json_lines("corpus-*.jsonl.gz",
///         infeed::ColumnSchema().bytes("text").ragged("labels", infeed::DType::int32), 256)
///         | infeed::unbatch_as<Document>();
///
/// | leaf of T (leaves.h)             | column                                                   |
/// |----------------------------------|----------------------------------------------------------|
/// | a number, bool                   | dense, shape [], of the same type                        |
/// | std::array of them               | dense of as many values a row                            |
/// | std::string                      | bytes                                                    |
/// | std::vector of numbers           | ragged of one level, padded (without padding), or dense  |
/// | std::vector of std::string       | ragged_bytes of one level                                |
///
/// Columns are found by name: those of member_names(), or those given, one a leaf. A single value
/// is a T, too: unbatch_as<std::string>({"text"}). as_columns.h goes the other way. A batch that
/// lacks a column, or has it of another type, is an error in its place, as are unbatch()'s.
template <class T>
auto unbatch_as(std::vector<std::string> columns = member_names<T>(), StageOptions options = {});

// Only the library reads what follows.
namespace detail {

/// The columns of one batch that rows of T are made of, by leaf.
template <class T>
struct ColumnsOfRows {
  ColumnBatch batch;  ///< keeps the columns alive
  std::array<const Column*, leaf_count<T>()> columns{};
};

/// Throws invalid_argument for a column that is no `kind` of that type.
void check_leaf_column(const Column& column, const std::string& name, DType dtype,
                       std::string_view kind, bool is_kind);

/// Makes one leaf of a row of a column. A type that no column has is not possible.
template <class U>
struct LeafOfRow {
  static constexpr bool kPossible = false;
};

template <class U>
requires kIsColumnNumber<U>  //
struct LeafOfRow<U> {
  static constexpr bool kPossible = true;
  static void check(const Column& column, const std::string& name) {
    check_leaf_column(column, name, dtype_of<U>(), "dense, shape []",
                      column.kind() == Column::Kind::dense && column.row_shape().rank() == 0);
  }
  static U make(const Column& column, std::size_t row) { return column.values<U>()[row]; }
};

template <>
struct LeafOfRow<std::string> {
  static constexpr bool kPossible = true;
  static void check(const Column& column, const std::string& name) {
    check_leaf_column(column, name, DType::bytes, "bytes", column.kind() == Column::Kind::bytes);
  }
  static std::string make(const Column& column, std::size_t row) {
    return std::string(column.bytes(static_cast<std::int64_t>(row)));
  }
};

template <class U, std::size_t N>
requires kIsColumnNumber<U>  //
struct LeafOfRow<std::array<U, N>> {
  static constexpr bool kPossible = true;
  static void check(const Column& column, const std::string& name) {
    check_leaf_column(column, name, dtype_of<U>(), "dense, of " + std::to_string(N) + " values",
                      column.kind() == Column::Kind::dense &&
                          column.row_shape().items() == static_cast<std::int64_t>(N));
  }
  static std::array<U, N> make(const Column& column, std::size_t row) {
    const auto values = column.values<U>().subspan(row * N, N);
    std::array<U, N> made{};
    std::copy(values.begin(), values.end(), made.begin());
    return made;
  }
};

/// The numbers of a row: where they begin in values(), and how many there are.
struct RowPart {
  std::size_t begin;
  std::size_t count;
};
RowPart row_part(const Column& column, std::size_t row);

template <class U>
requires kIsColumnNumber<U>  //
struct LeafOfRow<std::vector<U>> {
  static constexpr bool kPossible = true;
  static void check(const Column& column, const std::string& name) {
    check_leaf_column(column, name, dtype_of<U>(), "ragged of one level, padded or dense",
                      column.levels() < 2);
  }
  static std::vector<U> make(const Column& column, std::size_t row) {
    const RowPart part = row_part(column, row);
    const auto values = column.values<U>().subspan(part.begin, part.count);
    return {values.begin(), values.end()};
  }
};

template <>
struct LeafOfRow<std::vector<std::string>> {
  static constexpr bool kPossible = true;
  static void check(const Column& column, const std::string& name) {
    check_leaf_column(column, name, DType::bytes, "ragged_bytes of one level",
                      column.kind() == Column::Kind::ragged_bytes && column.levels() == 1);
  }
  static std::vector<std::string> make(const Column& column, std::size_t row) {
    const auto splits = column.row_splits();
    std::vector<std::string> made;
    for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) made.emplace_back(column.bytes(i));
    return made;
  }
};

/// Finds the columns of T in a batch.
template <class T>
struct FindColumnsOfRows {
  ColumnsOfRows<T> operator()(const ColumnBatch& batch) const {
    ColumnsOfRows<T> found{batch, {}};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((found.columns[I] = &found.batch.column(names[I]),
        LeafOfRow<std::tuple_element_t<I, LeafTypes<T>>>::check(*found.columns[I], names[I])),
       ...);
    }
    (std::make_index_sequence<leaf_count<T>()>());
    return found;
  }

  std::vector<std::string> names;
};

template <class T>
KernelResult take_rows_as(void* element, std::size_t first, std::size_t count, void* out,
                          ErrorPointer& error) {
  const auto& rows = *static_cast<const ColumnsOfRows<T>*>(element);
  return construct_rows<T>(first, count, out, error, [&](std::size_t i) {
    return from_leaves<T>([&](auto leaf) {
      constexpr std::size_t kLeaf = decltype(leaf)::value;
      using Leaf = std::tuple_element_t<kLeaf, LeafTypes<T>>;
      return LeafOfRow<Leaf>::make(*rows.columns[kLeaf], i);
    });
  });
}

/// Returns the signature of finding the columns. Throws invalid_argument unless there are `leaves`
/// names.
std::string columns_signature(const std::vector<std::string>& names, std::size_t leaves);

template <class Leaves>
inline constexpr bool kAllLeavesOfRows = false;
template <class... Leaf>
inline constexpr bool kAllLeavesOfRows<std::tuple<Leaf...>> = (LeafOfRow<Leaf>::kPossible && ...);

template <class T>
struct UnbatchAsFactory {
  using ComposesAsStage = void;
  std::vector<std::string> columns;

  template <class Element>
  Dataset<T> operator()(const Dataset<Element>& input) const {
    static_assert(std::is_same_v<Element, ColumnBatch>,
                  "infeed::unbatch_as: the dataset's Element must be an infeed::ColumnBatch, as "
                  "csv, json_lines and parse_columns give them; other batches are unbatch()'s");
    constexpr bool kFits = kAllLeavesOfRows<LeafTypes<T>>;
    static_assert(kFits,
                  "infeed::unbatch_as: a member of T must be a number, a std::string, a std::array "
                  "or std::vector of numbers, or a std::vector of std::string");
    if constexpr (std::is_same_v<Element, ColumnBatch> && kFits) {
      using Rows = ColumnsOfRows<T>;
      ElementwiseSpec spec{.name = "columns_of_rows",
                           .signature = columns_signature(columns, leaf_count<T>()),
                           .out_type = &type_info<Rows>()};
      spec.kernel = &map_kernel<ColumnBatch, FindColumnsOfRows<T>>;
      spec.function = share_function(FindColumnsOfRows<T>{columns});
      const RowAccess access = {
          [](const void* element) {
            return static_cast<std::size_t>(static_cast<const Rows*>(element)->batch.rows());
          },
          &take_rows_as<T>};
      return Dataset<T>(
          make_unbatch(access, type_info<T>(), make_elementwise(std::move(spec), input.node())));
    } else {
      return refused<T>();
    }
  }
};

}  // namespace detail

template <class T>
auto unbatch_as(std::vector<std::string> columns, StageOptions options) {
  return named_stage(options.name, detail::UnbatchAsFactory<T>{std::move(columns)});
}

}  // namespace infeed
