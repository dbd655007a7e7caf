#include <random>

#include <infeed/pipeline/interleave.h>
#include <infeed/pipeline/parse_columns.h>
#include <infeed/pipeline/parse_sequences.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/records.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "measured_case.h"
#include "temporary_folder.h"

// Records that are parsed into batches.
namespace infeed::memory_limit {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kParsers = 4;

/// Rows whose sizes swing: up to kWordsBytesMax of text and kTokensMax tokens.
struct Sentence {
  std::vector<std::int64_t> tokens;
  std::vector<std::string> words;
};

constexpr std::size_t kTokensMax = 10'000;
constexpr std::size_t kWordBytesMax = 60'000;
constexpr std::uint64_t kSentenceBytesMax = kTokensMax * sizeof(std::int64_t) + 2 * kWordBytesMax;

void write_images(const std::string& file, int count) {
  RecordWriter writer(file);
  for (int i = 0; i < count; ++i) {
    const std::vector<float> pixels(kPixels, static_cast<float>(i));
    writer.write(ExampleBuilder().floats("pixels", std::span(pixels)).encode());
  }
  writer.close();
}

/// About 30 MB, in stretches of small and of large records.
void write_sentences(const std::string& file, Compression compression) {
  std::mt19937_64 random(1);
  RecordWriter writer(file, {.compression = compression});
  std::size_t scale = 1000;
  for (std::uint64_t bytes = 0; bytes < 30'000'000;) {
    if (random() % 100 == 0) scale = random() % 4 == 0 ? 1 : 1 + random() % 1000;
    const std::vector<std::int64_t> tokens(random() % (kTokensMax / 1000 * scale + 1), 70'000);
    const std::vector<std::string> words(
        random() % 3, std::string(random() % (kWordBytesMax / 1000 * scale + 1), 'w'));
    ExampleBuilder builder;
    builder.integers("tokens", std::span<const std::int64_t>(tokens));
    builder.bytes("words", std::span<const std::string>(words));
    const std::string record = builder.encode();
    writer.write(record);
    bytes += record.size();
  }
  writer.close();
}

MemoryCase image_case(const std::string& name,
                      std::function<Figures(const MemoryCase&, const std::string& file)> run) {
  return {.name = name,
          .limit_bytes = 64 * kMiB,
          .calls = kParsers,
          .element_bytes = sizeof(Image),
          .on_top = "an image a call",
          .consumer_bytes = 32 * sizeof(Image),
          .run = [run = std::move(run)](const MemoryCase& of) {
            const TemporaryFolder folder;
            write_images(folder.file("images"), 96);
            return run(of, folder.file("images"));
          }};
}

MemoryCase sentence_case(const std::string& name, std::uint64_t limit_mib, std::uint64_t calls,
                         std::function<Figures(const MemoryCase&, const std::string& file)> run,
                         Compression compression = Compression::none) {
  return {.name = name,
          .limit_bytes = limit_mib * kMiB,
          .calls = calls,
          .element_bytes = kSentenceBytesMax,
          .on_top = "a row a call",
          .run = [run = std::move(run), compression](const MemoryCase& of) {
            const TemporaryFolder folder;
            write_sentences(folder.file("sentences"), compression);
            return run(of, folder.file("sentences"));
          }};
}

ExampleSchema<Sentence> sentence_schema() {
  return ExampleSchema<Sentence>()
      .feature("tokens", &Sentence::tokens)
      .feature("words", &Sentence::words);
}

Figures parse_images(const MemoryCase& of, const std::string& file) {
  const auto schema = ExampleSchema<Image>().feature("pixels", &Image::pixels);
  const auto batches =
      records(file) | repeat() | parse_batch(schema, 32, {.parallelism = kParsers}) | prefetch();
  return measure(of, batches, {.elements_max = 25, .step = milliseconds(60)});
}

Figures parse_image_columns(const MemoryCase& of, const std::string& file) {
  const auto schema = ColumnSchema().column("pixels", DType::float32, {224, 224, 3});
  const auto batches =
      records(file) | repeat() | parse_columns(schema, 32, {.parallelism = kParsers}) | prefetch();
  return measure(of, batches, {.elements_max = 25, .step = milliseconds(60)});
}

Figures parse_ragged(const MemoryCase& of, const std::string& file) {
  const auto batches = records(file) | repeat(4) |
                       parse_ragged_batch(sentence_schema(), 128, {.parallelism = kParsers});
  return measure(of, batches, {.step = milliseconds(10)});
}

Figures parse_ragged_columns(const MemoryCase& of, const std::string& file) {
  const auto schema = ColumnSchema().ragged("tokens", DType::int64).ragged_bytes("words");
  const auto batches = records(file) | repeat(4) |
                       parse_columns(schema, 128, {.parallelism = kParsers}) | prefetch(100);
  return measure(of, batches, {.step = milliseconds(10)});
}

/// Threads that decompress inside one file.
Figures read_in_parallel(const MemoryCase& of, const std::string& file) {
  const auto all = records(file, {.parallelism = kParsers}) | repeat(2) | prefetch(100'000);
  return measure(of, all, {.step = milliseconds(10), .elements_per_step = 100});
}

Figures interleave_records(const MemoryCase& of, const std::string& file) {
  const auto open = [file](std::int64_t) { return records(file); };
  const auto all =
      range(8) | interleave(open, {.cycle_length = 8, .parallelism = kParsers}) | prefetch(100'000);
  return measure(of, all, {.step = milliseconds(10), .elements_per_step = 200});
}

}  // namespace

std::vector<MemoryCase> record_cases() {
  return {
      sentence_case("parse_ragged_batch(128) x4", 24, kParsers, parse_ragged),
      sentence_case("parse_columns(128) x4, ragged, prefetch", 24, kParsers, parse_ragged_columns),
      image_case("parse_batch(32) x4 of images, prefetch", parse_images),
      image_case("parse_columns(32) x4 of images, prefetch", parse_image_columns),
      sentence_case("interleave x4 of 8 files of records, prefetch", 24, kParsers,
                    interleave_records),
      sentence_case("records x4 of an LZ4 file, prefetch", 16, kParsers, read_in_parallel,
                    Compression::lz4),
  };
}

}  // namespace infeed::memory_limit
