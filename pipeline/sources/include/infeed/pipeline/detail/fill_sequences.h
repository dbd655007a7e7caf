#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/pipeline/padded_batch.h>
#include <infeed/pipeline/sequence_batch.h>
#include <infeed/records/sequence_example_schema.h>

/// Fills batches of sequences from records; see parse_sequences.h.
namespace infeed::detail {

template <class Schema>
struct RowOfSchema {
  static_assert(sizeof(Schema) == 0,
                "infeed: give an infeed::ExampleSchema or an infeed::SequenceExampleSchema");
};
template <class T>
struct RowOfSchema<ExampleSchema<T>> {
  using type = T;
};
template <class T>
struct RowOfSchema<SequenceExampleSchema<T>> {
  using type = T;
};

/// The expected number of values of each column: that of the batch before. Without it a column
/// grows by doubling, which costs page faults. Shared by the threads that parse.
template <class T>
using SizeGuesses = std::array<std::atomic<std::size_t>, leaf_count<T>()>;

/// Fills SequenceBatch<T, Sequence> from Records, decoding values into their final place.
template <class Schema, template <class> class Sequence>
struct FillSequences {
  using T = typename RowOfSchema<Schema>::type;
  using Filling = RowColumns<T>;
  using Result = SequenceBatch<T, Sequence>;

  Filling begin(std::size_t rows) const {
    Filling filling;
    std::size_t i = 0;
    const auto reserve = [&]<class M>(RowColumn<M>& column) {
      if (kStaysInBatch<M, Sequence>) column.use(paddings[i].memory);
      const std::size_t guess = (*guesses)[i++].load(std::memory_order_relaxed);
      column.reserve(rows, guess + guess / 16);
    };
    std::apply([&](auto&... column) { (reserve(column), ...); }, filling);
    return filling;
  }
  void write_row(const Record& record, Filling& filling, std::size_t row, const Place&,
                 std::size_t) const {
    append(record, filling, row);
  }
  void write_unverified(const Record& record, Filling& filling, std::size_t row,
                        LateCopy& late) const requires std::is_same_v<Schema, ExampleSchema<T>> {
    append(record, filling, row, &late);
  }
  static void truncate(Filling& filling, std::size_t rows) {
    std::apply([rows](auto&... column) { (column.truncate(rows), ...); }, filling);
  }
  /// Returns the bytes of the filling, and of its batch if padding makes that larger.
  static FillingBytes filling_bytes(const Filling& filling) {
    return std::apply(
        [](const auto&... column) {
          return FillingBytes{.all = ((bytes_of_column(column) + padded_bytes(column)) + ...),
                              .spare = (spare_bytes_of_column(column) + ...)};
        },
        filling);
  }
  Result finish(Filling filling, std::size_t rows, std::span<const std::size_t>) const {
    std::size_t i = 0;
    const auto remember = [&](const auto& column) {
      (*guesses)[i++].store(column.values.size(), std::memory_order_relaxed);
    };
    std::apply([&](const auto&... column) { (remember(column), ...); }, filling);
    return Result(std::move(filling), rows, paddings);
  }

  static bool rows_have_places() { return false; }
  std::string rows_signature() const { return padding; }
  /// Counts only members that aren't sequences; the lengths of sequences are known later.
  std::uint64_t batch_bytes_min() const { return size * sizeof(T); }

  Schema schema;
  std::size_t size;
  std::vector<std::size_t> columns;  ///< a column for each of the schema's features
  std::vector<PaddingOfField> paddings = std::vector<PaddingOfField>(leaf_count<T>());
  bool has_widths = false;
  std::string padding = {};  ///< as rows_signature()
  std::shared_ptr<SizeGuesses<T>> guesses = std::make_shared<SizeGuesses<T>>();

 private:
  /// `late` is a LateCopy*, or nothing.
  void append(const Record& record, Filling& filling, std::size_t row, auto... late) const {
    const auto all = std::apply(
        [](auto&... column) { return std::array<void*, sizeof...(column)>{&column...}; }, filling);
    std::array<void*, leaf_count<T>()> places;
    for (std::size_t i = 0; i < columns.size(); ++i) places[i] = all[columns[i]];
    const auto used = std::span<void* const>(places).first(columns.size());
    schema.append_row(record, row, used, late...);
    if (has_widths) check_row(record, filling, row);
  }
  template <class M>
  static std::uint64_t padded_bytes(const RowColumn<M>& column) {
    if constexpr (!std::is_same_v<Result, PaddedBatch<T>> || !kIsSequenceField<M>) {
      return 0;
    } else {
      return column.size() * column.longest_row() * sizeof(typename M::value_type);
    }
  }
  /// Takes the row back if one of its sequences is too long.
  void check_row(const Record& record, Filling& filling, std::size_t row) const {
    try {
      std::size_t i = 0;
      std::apply([&](const auto&... column) { (check_column(column, row, paddings[i++]), ...); },
                 filling);
    } catch (...) {
      truncate(filling, row);
      rethrow_with_place(record);
    }
  }
  template <class M>
  static void check_column(const RowColumn<M>& column, std::size_t row,
                           const PaddingOfField& padding) {
    if constexpr (kIsSequenceField<M>) {
      const auto splits = column.row_splits.values();
      const std::int64_t length = splits[row + 1] - splits[row];
      if (padding.width >= 0 && length > padding.width) {
        refuse_long_sequence("parse_padded_batch", static_cast<std::size_t>(length), padding.width);
      }
    }
  }
};

}  // namespace infeed::detail
