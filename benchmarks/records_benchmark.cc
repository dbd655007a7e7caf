#include <array>
#include <benchmark/benchmark.h>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <infeed/records/crc32c.h>
#include <infeed/records/example_schema.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/sequence_example_schema.h>

#include "benchmark_folder.h"

/// Records on one core, the page cache warm. Ceilings (memory copy, CRC alone) are measured in the
/// same run, because machines of one kind differ from day to day.
namespace infeed {
namespace {

void BM_memcpy(benchmark::State& state) {
  const std::string from(static_cast<std::size_t>(state.range(0)), 'x');
  std::string to = from;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  count_bytes(state, state.iterations(), state.iterations() * from.size());
}
BENCHMARK(BM_memcpy)->Arg(256 << 10)->Arg(256 << 20);

void BM_crc32c(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes));
  count_bytes(state, state.iterations(), state.iterations() * bytes.size());
}
BENCHMARK(BM_crc32c)->Arg(784)->Arg(2048)->Arg(112 << 10)->Arg(256 << 20);

void read_file(benchmark::State& state, Compression compression, RecordReaderOptions options) {
  const std::string file = folder().records(static_cast<std::size_t>(state.range(0)), compression);
  std::size_t records = 0;
  std::size_t bytes = 0;
  std::array<Record, 64> batch;
  for (auto _ : state) {
    RecordReader reader(file, options);
    while (const std::size_t count = reader.read(batch)) {
      records += count;
      for (std::size_t i = 0; i < count; ++i) bytes += batch[i].size() + 16;
    }
  }
  count_bytes(state, records, bytes);
}

void BM_read(benchmark::State& state) { read_file(state, Compression::none, {}); }
BENCHMARK(BM_read)->Arg(64)->Arg(600)->Arg(784)->Arg(2048)->Arg(112 << 10)->Arg(4 << 20);

void BM_read_without_payload_check(benchmark::State& state) {
  read_file(state, Compression::none, {.verify = Verify::lengths});
}
BENCHMARK(BM_read_without_payload_check)->Arg(784)->Arg(2048)->Arg(112 << 10);

void BM_read_blocks_of(benchmark::State& state) {
  read_file(state, Compression::none,
            {.block_bytes = static_cast<std::size_t>(state.range(1)) << 10});
}
BENCHMARK(BM_read_blocks_of)->ArgsProduct({{784, 112 << 10}, {64, 128, 256, 512, 1024}});

/// Makes the file as if it had never been read.
void drop_from_page_cache(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY);
  (void)::fdatasync(descriptor);
  (void)::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
}

/// Records of 112 KB.
void BM_read_cold(benchmark::State& state) {
  const std::string file = folder().records(112 << 10, Compression::none);
  std::array<Record, 64> batch;
  std::size_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    drop_from_page_cache(file);
    state.ResumeTiming();
    RecordReader reader(file);
    while (const std::size_t count = reader.read(batch)) {
      for (std::size_t i = 0; i < count; ++i) bytes += batch[i].size() + 16;
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(BM_read_cold)->UseRealTime();

void BM_read_gzip(benchmark::State& state) { read_file(state, Compression::gzip, {}); }
BENCHMARK(BM_read_gzip)->Arg(2048);

void BM_read_lz4(benchmark::State& state) { read_file(state, Compression::lz4, {}); }
BENCHMARK(BM_read_lz4)->Arg(2048);

/// Records of 2 KB on state.range(1) threads.
void BM_read_in_parallel(benchmark::State& state) {
  const std::string file = folder().records(2048, static_cast<Compression>(state.range(0)));
  std::vector<Record> batch(256);
  std::size_t records = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    ParallelRecordReader reader(file, {.threads = static_cast<unsigned>(state.range(1))});
    while (const std::size_t count = reader.read(batch)) {
      records += count;
      for (std::size_t i = 0; i < count; ++i) bytes += batch[i].size() + 16;
    }
    state.SetLabel(std::string(to_string(reader.compression())) + ", " + reader.how());
  }
  count_bytes(state, records, bytes);
}
BENCHMARK(BM_read_in_parallel)
    ->ArgsProduct({{static_cast<std::int64_t>(Compression::none),
                    static_cast<std::int64_t>(Compression::gzip),
                    static_cast<std::int64_t>(Compression::lz4)},
                   {1, 2}})
    ->UseRealTime();

void BM_count(benchmark::State& state) {
  const std::string file =
      folder().records(static_cast<std::size_t>(state.range(0)), Compression::none);
  std::size_t records = 0;
  for (auto _ : state) records += count_records(file);
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}
BENCHMARK(BM_count)->Arg(784)->Arg(112 << 10);

void BM_write(benchmark::State& state) {
  const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
  RecordWriter writer("/dev/null");
  for (auto _ : state) writer.write(payload);
  count_bytes(state, state.iterations(), state.iterations() * (payload.size() + 16));
}
BENCHMARK(BM_write)->Arg(784)->Arg(2048)->Arg(112 << 10);

struct Image {
  std::array<std::uint8_t, 784> pixels{};
  std::int64_t label = 0;
};
struct Scalars {
  std::array<std::int64_t, 40> values{};
};
struct Floats {
  std::array<float, 768> values{};
};
struct Tokens {
  std::array<std::int64_t, 512> input{};
  std::array<std::int64_t, 512> target{};
};
struct Text {
  Record text;
};

template <class T>
void parse_loop(benchmark::State& state, const ExampleSchema<T>& schema, const T& object) {
  const Record record(schema.encode(object));
  T out;
  for (auto _ : state) {
    schema.parse(record, out);
    benchmark::DoNotOptimize(out);
  }
  count_bytes(state, state.iterations(), state.iterations() * record.size());
}

void BM_parse_image(benchmark::State& state) {
  parse_loop<Image>(
      state,
      ExampleSchema<Image>().feature("image", &Image::pixels).feature("label", &Image::label), {});
}
BENCHMARK(BM_parse_image);

void BM_parse_text(benchmark::State& state) {
  parse_loop<Text>(state, ExampleSchema<Text>().feature("text", &Text::text),
                   {Record(std::string(2048, 'x'))});
}
BENCHMARK(BM_parse_text);

void BM_parse_768_floats(benchmark::State& state) {
  parse_loop<Floats>(state, ExampleSchema<Floats>().feature("values", &Floats::values), {});
}
BENCHMARK(BM_parse_768_floats);

void BM_parse_512_tokens_twice(benchmark::State& state) {
  Tokens tokens;
  std::mt19937_64 random(1);
  for (auto* list : {&tokens.input, &tokens.target}) {
    for (auto& token : *list) token = static_cast<std::int64_t>(random() % 50'000);
  }
  parse_loop<Tokens>(
      state,
      ExampleSchema<Tokens>().feature("input", &Tokens::input).feature("target", &Tokens::target),
      tokens);
}
BENCHMARK(BM_parse_512_tokens_twice);

void BM_parse_40_scalars(benchmark::State& state) {
  ExampleBuilder builder;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back("feature_" + std::to_string(10 + i));
    if (i % 2 == 0) {
      builder.integers(names.back(), i * 1000);
    } else {
      builder.floats(names.back(), static_cast<float>(i));
    }
  }
  const std::string bytes = builder.encode();
  const ExampleParser parser(names);
  std::vector<FeatureView> views(names.size());
  std::array<std::int64_t, 20> integers{};
  std::array<float, 20> floats{};
  for (auto _ : state) {
    parser.parse(bytes, views);
    for (std::size_t i = 0; i < 20; ++i) {
      views[2 * i].read_integers(std::span(&integers[i], 1));
      views[2 * i + 1].read_floats(std::span(&floats[i], 1));
    }
    benchmark::DoNotOptimize(integers);
    benchmark::DoNotOptimize(floats);
  }
  count_bytes(state, state.iterations(), state.iterations() * bytes.size());
}
BENCHMARK(BM_parse_40_scalars);

struct Sentence {
  std::vector<std::int64_t> tokens;
};

/// 128 steps of one token each, as a FixedLenSequenceFeature of TensorFlow reads them.
void BM_parse_sequence_of_128_tokens(benchmark::State& state) {
  const auto schema = SequenceExampleSchema<Sentence>().list("tokens", &Sentence::tokens);
  Sentence sentence;
  std::mt19937_64 random(1);
  for (int i = 0; i < 128; ++i) {
    sentence.tokens.push_back(static_cast<std::int64_t>(random() % 50'000));
  }
  const Record record(schema.encode(sentence));
  for (auto _ : state) {
    schema.parse(record, sentence);
    benchmark::DoNotOptimize(sentence);
  }
  count_bytes(state, state.iterations(), state.iterations() * record.size());
}
BENCHMARK(BM_parse_sequence_of_128_tokens);

/// 512 tokens of an Example as rows of one ragged column.
void BM_append_rows_of_512_tokens(benchmark::State& state) {
  const auto schema = ExampleSchema<Sentence>().feature("tokens", &Sentence::tokens);
  Sentence sentence;
  std::mt19937_64 random(1);
  for (int i = 0; i < 512; ++i) {
    sentence.tokens.push_back(static_cast<std::int64_t>(random() % 50'000));
  }
  const Record record(schema.encode(sentence));
  RowColumn<std::vector<std::int64_t>> column;
  const std::array<void*, 1> columns = {&column};
  std::size_t row = 0;
  for (auto _ : state) {
    if (row == 64) column.truncate(row = 0);
    schema.append_row(record, row++, columns);
  }
  count_bytes(state, state.iterations(), state.iterations() * record.size());
}
BENCHMARK(BM_append_rows_of_512_tokens);

}  // namespace
}  // namespace infeed

BENCHMARK_MAIN();
