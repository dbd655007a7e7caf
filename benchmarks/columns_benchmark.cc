#include <array>
#include <benchmark/benchmark.h>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/arrow.h>
#include <infeed/records/column_parser.h>

#include "compare/record_kinds.h"

/// Records into columns whose types are known at run time, beside ExampleSchema, which knows them
/// at compile time. One core, all in the cache, batches of 128.
namespace infeed {
namespace {

using namespace compare;

constexpr std::size_t kRows = 128;

template <class T>
std::vector<std::string> drawn_records() {
  Random random(1);
  const auto schema = T::schema();
  std::vector<std::string> records;
  auto object = std::make_unique<T>();
  for (std::size_t i = 0; i < kRows; ++i) {
    object->fill(random);
    records.push_back(schema.encode(*object));
  }
  return records;
}

/// The run-time schema of the same columns.
template <class T>
ColumnSchema columns_of() {
  if constexpr (std::is_same_v<T, PixelRecord<784>>) {
    return ColumnSchema().column("image", DType::uint8, {784}).column("label", DType::int64);
  } else if constexpr (std::is_same_v<T, FloatRecord>) {
    return ColumnSchema().column("label", DType::int64).column("values", DType::float32, {768});
  } else if constexpr (std::is_same_v<T, TokenRecord>) {
    return ColumnSchema().column("mask", DType::int64, {512}).column("tokens", DType::int64, {512});
  } else if constexpr (std::is_same_v<T, TextRecord>) {
    return ColumnSchema().bytes("text");
  } else {
    ColumnSchema schema;
    const auto typed = T::schema();
    for (const std::string& name : typed.names()) schema.column(name, DType::float32);
    return schema;
  }
}

template <class T>
std::vector<Record> records_of() {
  std::vector<Record> records;
  for (const std::string& bytes : drawn_records<T>()) records.emplace_back(bytes);
  return records;
}

void parse_columns(benchmark::State& state, const std::vector<Record>& records,
                   const ColumnParser& parser) {
  for (auto _ : state) {
    ColumnRows rows = parser.begin(kRows);
    for (std::size_t row = 0; row < kRows; ++row) {
      parser.parse_row(records[row].bytes(), &records[row], row, rows);
    }
    benchmark::DoNotOptimize(parser.finish(std::move(rows), kRows));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

template <class T>
void BM_typed(benchmark::State& state) {
  const auto schema = T::schema();
  const std::vector<Record> records = records_of<T>();
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::string> texts(kRows);
  std::vector<void*> places;
  for (const auto& column : schema.columns()) {
    memory.emplace_back(column.size_bytes * kRows);
    places.push_back(std::is_same_v<T, TextRecord> ? static_cast<void*>(texts.data())
                                                   : memory.back().data());
  }
  for (auto _ : state) {
    for (std::size_t row = 0; row < kRows; ++row) schema.parse_row(records[row], row, places);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

template <class T>
void BM_columns(benchmark::State& state) {
  parse_columns(state, records_of<T>(), ColumnParser(columns_of<T>()));
}

BENCHMARK(BM_typed<PixelRecord<784>>);
BENCHMARK(BM_columns<PixelRecord<784>>);
BENCHMARK(BM_typed<ScalarRecord>);
BENCHMARK(BM_columns<ScalarRecord>);
BENCHMARK(BM_typed<FloatRecord>);
BENCHMARK(BM_columns<FloatRecord>);
BENCHMARK(BM_typed<TokenRecord>);
BENCHMARK(BM_columns<TokenRecord>);
BENCHMARK(BM_typed<TextRecord>);
BENCHMARK(BM_columns<TextRecord>);

struct TokenRows {
  std::vector<std::int64_t> tokens;
};

/// Rows of any length: RowColumn, whose type is compiled in, beside a ragged column.
void BM_typed_ragged(benchmark::State& state) {
  const auto schema = ExampleSchema<TokenRows>().feature("tokens", &TokenRows::tokens);
  const std::vector<Record> records = records_of<TokenRecord>();
  for (auto _ : state) {
    RowColumn<std::vector<std::int64_t>> column;
    column.reserve(kRows, kRows * 512);
    const std::array<void*, 1> places = {&column};
    for (std::size_t row = 0; row < kRows; ++row) schema.append_row(records[row], row, places);
    benchmark::DoNotOptimize(column);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(BM_typed_ragged);

void BM_columns_ragged(benchmark::State& state) {
  const ColumnParser parser(ColumnSchema().ragged("tokens", DType::int64));
  parse_columns(state, records_of<TokenRecord>(), parser);
}
BENCHMARK(BM_columns_ragged);

/// Parses range(0) float columns of records with range(1) features.
void BM_columns_of_many(benchmark::State& state) {
  ExampleBuilder builder;
  ColumnSchema schema;
  for (std::int64_t i = 0; i < state.range(1); ++i) {
    const std::string name = "feature_" + std::to_string(100'000 + i);
    builder.floats(name, static_cast<float>(i));
    if (i * state.range(0) % state.range(1) < state.range(0)) schema.column(name, DType::float32);
  }
  const std::string bytes = builder.encode();
  const ColumnParser parser(schema);
  for (auto _ : state) {
    ColumnRows rows = parser.begin(kRows);
    for (std::size_t row = 0; row < kRows; ++row) parser.parse_row(bytes, nullptr, row, rows);
    benchmark::DoNotOptimize(parser.finish(std::move(rows), kRows));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(BM_columns_of_many)->Args({300, 300})->Args({300, 10'000});

constexpr std::int64_t kFloatColumns = 40;
constexpr std::int64_t kRowsOfWhole = 256;

/// Batches of float columns, and places in them as a shuffle would draw them.
struct ShuffledRows {
  ShuffledRows() {
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < kFloatColumns; ++i) texts.push_back(std::to_string(i));
    const auto names = detail::column_names(std::move(texts));
    for (int whole = 0; whole < 40; ++whole) {
      std::vector<Column> columns;
      for (std::int64_t i = 0; i < kFloatColumns; ++i) {
        Tensor values(DType::float32, {kRowsOfWhole});
        for (float& value : values.writable<float>()) value = static_cast<float>(i);
        columns.push_back(Column::dense(std::move(values)));
      }
      wholes.emplace_back(names, std::move(columns));
    }
    Random random(1);
    for (std::size_t i = 0; i < kRows; ++i)
      places.emplace_back(random() % wholes.size(), random() % kRowsOfWhole);
  }

  std::vector<ColumnBatch> wholes;
  std::vector<std::pair<std::size_t, std::int64_t>> places;
};

/// Joins rows of 40 columns in any order, as batch() does behind a shuffle.
void BM_join_shuffled_rows(benchmark::State& state) {
  const ShuffledRows shuffled;
  const TensorPool pool;
  std::vector<ColumnBatch> rows(kRows);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto& [whole, row] = shuffled.places[i];
      rows[i] = shuffled.wholes[whole].slice(row, 1);
    }
    benchmark::DoNotOptimize(join_rows(rows, pool));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(BM_join_shuffled_rows);

/// Copies the same values by the loop that a program would write for itself.
void BM_copy_shuffled_rows(benchmark::State& state) {
  const ShuffledRows shuffled;
  std::vector<std::vector<float>> to(kFloatColumns, std::vector<float>(kRows));
  for (auto _ : state) {
    for (std::size_t column = 0; column < to.size(); ++column) {
      for (std::size_t i = 0; i < kRows; ++i) {
        const auto& [whole, row] = shuffled.places[i];
        to[column][i] = shuffled.wholes[whole].columns()[column].values<float>()[row];
      }
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(BM_copy_shuffled_rows);

/// Exports a batch of 40 columns to Arrow.
void BM_export_arrow(benchmark::State& state) {
  const std::vector<std::string> records = drawn_records<ScalarRecord>();
  const ColumnParser parser(columns_of<ScalarRecord>());
  ColumnRows rows = parser.begin(kRows);
  for (std::size_t row = 0; row < kRows; ++row) parser.parse_row(records[row], nullptr, row, rows);
  const ColumnBatch batch = parser.finish(std::move(rows), kRows);
  for (auto _ : state) {
    ArrowSchema schema;
    ArrowArray array;
    export_arrow(batch, &schema, &array);
    schema.release(&schema);
    array.release(&array);
  }
}
BENCHMARK(BM_export_arrow);

void BM_hash(benchmark::State& state) {
  const ColumnBatch batch({{"x", Column::dense(Tensor(DType::uint8, {state.range(0)}))}});
  for (auto _ : state) benchmark::DoNotOptimize(batch.hash());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_hash)->Arg(784)->Arg(256 << 10);

}  // namespace
}  // namespace infeed

BENCHMARK_MAIN();
