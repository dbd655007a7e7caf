#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/detail/late_copy.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/batch_filler.h>
#include <infeed/pipeline/detail/element_call.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/philox.h>
#include <infeed/records/record.h>

/// Fills batches by a function that writes rows in place, with several threads at once. batch_into
/// and the stages that parse records into batches are built on it.
namespace infeed::detail {

/// Bytes of a filling. Arrays grow by doubling, and begin as large as those of the batch before: what
/// they have to spare depends on what was filled before, perhaps in another run. So nothing is
/// refused for it.
struct FillingBytes {
  std::uint64_t all;
  std::uint64_t spare;  ///< part of them that no row uses yet
};

/// Fills one kind of batch. The stage (row_filling.cc) knows neither the rows nor the elements. A
/// filling is a batch in the making.
struct RowFillSpec {
  std::string name;
  /// Tells rows of one kind from those of another, in the stage's signature: ", schema=1a2b3c4d".
  std::string rows_signature = {};
  std::size_t size = 0;
  bool drop_remainder = false;
  Count parallelism = 1;
  const TypeInfo* batch_type = nullptr;
  /// Bytes of a batch of `size` rows, as far as they are known beforehand.
  std::uint64_t batch_bytes_min = 0;
  /// True if each row has its place. Then any threads may write different rows at once, and a
  /// failed row leaves a gap. Otherwise one thread at a time appends rows, and a failed row leaves
  /// nothing.
  bool rows_have_places = false;
  std::shared_ptr<const void> fill = nullptr;
  std::optional<Seeds> seeds = std::nullopt;  ///< if rows draw; the signature has them
  DrawKey key = {};                           ///< for write(); make_row_filling() sets it

  /// Returns the same `fill` with pools for one run, in the run's memory account. Null if it has no
  /// pools.
  std::shared_ptr<const void> (*for_run)(const void* fill, MemoryAccount& memory) = nullptr;
  void* (*begin)(const void* fill, std::size_t rows) = nullptr;
  void (*drop)(void* filling) noexcept = nullptr;
  /// Writes an element to a row. Returns its error, or null. The row's element is number i of the
  /// place.
  ErrorPointer (*write)(const void* fill, const void* element, void* filling, std::size_t row,
                        const Place& place, std::size_t i) = nullptr;
  /// Writes a record whose checksum wasn't checked yet, so its bytes may be damaged. It may leave a
  /// copy to `late`. Null if only verified records may be read.
  ErrorPointer (*write_unverified)(const void* fill, const Record& record, void* filling,
                                   std::size_t row, LateCopy& late) = nullptr;
  /// Forgets the rows from `rows` on. Only used if rows are appended.
  void (*truncate)(void* filling, std::size_t rows) = nullptr;
  /// Returns the bytes that a filling has, and those that its batch needs beside. Null if they are
  /// batch_bytes_min and don't change, as far as is known.
  FillingBytes (*filling_bytes)(const void* filling) = nullptr;
  /// Appends the batch of the first `rows` rows, without those at `gaps`, to `out`, and destroys
  /// the filling. At least one row is left.
  void (*finish)(const void* fill, void* filling, std::size_t rows,
                 std::span<const std::size_t> gaps, Chunk& out) = nullptr;
};

NodePointer make_row_filling(RowFillSpec spec, NodePointer input);

/// Returns the error `first`, with the number of failed rows of the batch added.
ErrorPointer rows_failed(const ErrorPointer& first, std::size_t failed, std::size_t rows);

/// Fills the rows of Batch<Out> by `write(const In&, const BatchReference&, row)`. `write` may take
/// one more argument: an Rng&, or a LateCopy*. With a LateCopy* it may be called for records that
/// aren't verified.
template <class Out, class Write>
struct FillColumns {
  using Filling = BatchReference;
  using Result = Batch<Out>;
  static constexpr bool kTakesUnverified =
      kCallable<Write, const Record&, const BatchReference&, std::size_t, LateCopy*>;

  FillColumns for_run(MemoryAccount& memory) const { return {filler.for_run(memory), write}; }
  BatchReference begin(std::size_t rows) const {
    BatchReference batch = filler.take(rows);
    construct_columns<Out>(batch, rows);
    return batch;
  }
  template <class In>
  void write_row(const In& element, BatchReference& batch, std::size_t row, const Place& place,
                 std::size_t i) const {
    if constexpr (kCallable<Write, const In&, const BatchReference&, std::size_t, Rng&>) {
      Rng rng(place.key.seed, place.epoch, place.unsharded(i));
      write(element, batch, row, rng);
    } else if constexpr (kTakesUnverified) {
      write(element, batch, row, nullptr);
    } else {
      write(element, batch, row);
    }
  }
  void write_unverified(const Record& record, BatchReference& batch, std::size_t row,
                        LateCopy& late) const requires kTakesUnverified {
    write(record, batch, row, &late);
  }
  Result finish(BatchReference batch, std::size_t rows, std::span<const std::size_t> gaps) const {
    BatchFiller::close_gaps(batch, rows, gaps);
    return Result(std::move(batch));
  }
  static void truncate(BatchReference&, std::size_t) {}
  bool rows_have_places() const { return true; }
  std::uint64_t batch_bytes_min() const { return filler.batch_bytes(); }

  BatchFiller filler;
  Write write;
};

template <class In, class Fill>
struct RowFillFunctions {
  using Filling = typename Fill::Filling;

  static std::shared_ptr<const void> for_run(const void* fill, MemoryAccount& memory) {
    return std::make_shared<const Fill>(static_cast<const Fill*>(fill)->for_run(memory));
  }
  static void* begin(const void* fill, std::size_t rows) {
    return new Filling(static_cast<const Fill*>(fill)->begin(rows));
  }
  static void drop(void* filling) noexcept { delete static_cast<Filling*>(filling); }
  static ErrorPointer write(const void* fill, const void* element, void* filling, std::size_t row,
                            const Place& place, std::size_t i) {
    try {
      static_cast<const Fill*>(fill)->write_row(*static_cast<const In*>(element),
                                                *static_cast<Filling*>(filling), row, place, i);
      return nullptr;
    } catch (...) {
      return current_error();
    }
  }
  static ErrorPointer write_unverified(const void* fill, const Record& record, void* filling,
                                       std::size_t row, LateCopy& late) {
    try {
      static_cast<const Fill*>(fill)->write_unverified(record, *static_cast<Filling*>(filling), row,
                                                       late);
      return nullptr;
    } catch (...) {
      return current_error();
    }
  }
  static void truncate(void* filling, std::size_t rows) {
    Fill::truncate(*static_cast<Filling*>(filling), rows);
  }
  static FillingBytes filling_bytes(const void* filling) {
    return Fill::filling_bytes(*static_cast<const Filling*>(filling));
  }
  static void finish(const void* fill, void* filling, std::size_t rows,
                     std::span<const std::size_t> gaps, Chunk& out) {
    const std::unique_ptr<Filling> owned(static_cast<Filling*>(filling));
    out.append(static_cast<const Fill*>(fill)->finish(std::move(*owned), rows, gaps));
  }
};

template <class Fill>
inline constexpr bool kFillsUnverified = requires(const Fill& fill, const Record& record,
                                                  typename Fill::Filling& filling, LateCopy& late) {
  fill.write_unverified(record, filling, std::size_t{0}, late);
};

/// True if an element is one column, from which the rows can be written.
template <class In>
inline constexpr bool kIsRowInput = field_count<In>() == 0 || std::is_same_v<In, Record>;

/// Returns the batches of type Fill::Result that `fill` makes of the input's elements. Fill has the
/// functions of FillColumns; write_unverified() is optional. If rows are appended it also has
/// truncate(), and optionally filling_bytes(filling). rows_signature() is optional, too. The options
/// are those of BatchIntoOptions.
template <class Fill, class In>
Dataset<typename Fill::Result> fill_batches(const Dataset<In>& input, std::size_t size, Fill fill,
                                            std::string name, const auto& options,
                                            std::optional<Seeds> seeds = std::nullopt) {
  using Functions = RowFillFunctions<In, Fill>;
  RowFillSpec spec;
  spec.name = std::move(name);
  spec.size = size;
  spec.drop_remainder = options.drop_remainder;
  spec.parallelism = options.parallelism;
  spec.batch_type = &type_info<typename Fill::Result>();
  spec.batch_bytes_min = fill.batch_bytes_min();
  spec.rows_have_places = fill.rows_have_places();
  if constexpr (requires { fill.rows_signature(); }) spec.rows_signature = fill.rows_signature();
  spec.seeds = seeds;
  spec.fill = std::make_shared<const Fill>(std::move(fill));
  if constexpr (requires(const Fill& own, MemoryAccount& memory) { own.for_run(memory); }) {
    spec.for_run = &Functions::for_run;
  }
  spec.begin = &Functions::begin;
  spec.drop = &Functions::drop;
  spec.write = &Functions::write;
  if constexpr (kFillsUnverified<Fill>) spec.write_unverified = &Functions::write_unverified;
  spec.truncate = &Functions::truncate;
  spec.finish = &Functions::finish;
  if constexpr (requires(const typename Fill::Filling& filling) { Fill::filling_bytes(filling); }) {
    if (!spec.rows_have_places) spec.filling_bytes = &Functions::filling_bytes;
  }
  return Dataset<typename Fill::Result>(
      named(make_row_filling(std::move(spec), input.node()), options.name));
}

template <class Out, class In, class Write>
Dataset<Batch<Out>> fill_columns(const Dataset<In>& input, std::int64_t size, Write write,
                                 std::string name, const auto& options,
                                 std::optional<Seeds> seeds = std::nullopt) {
  const std::size_t rows = checked_batch_size(name, size, batch_layout<Out>().row->size);
  return fill_batches(input, rows,
                      FillColumns<Out, Write>{
                          BatchFiller(batch_layout<Out>(), rows, options.memory), std::move(write)},
                      std::move(name), options, seeds);
}

/// Returns, for each feature of the schema, the column of Batch<T> that it fills. Throws
/// invalid_argument if a column has no feature, or several.
std::vector<std::size_t> columns_of_features(std::string_view stage, const BatchLayout& layout,
                                             const std::vector<std::size_t>& feature_offsets);
template <class T, class Schema>
std::vector<std::size_t> columns_of_schema(std::string_view stage, const Schema& schema) {
  std::vector<std::size_t> offsets;
  for (const auto& column : schema.columns()) offsets.push_back(column.offset_bytes);
  return columns_of_features(stage, batch_layout<T>(), offsets);
}

}  // namespace infeed::detail
