#include <cstring>

#include <infeed/records/crc32c.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "data.h"
#include "drain.h"
#include "parse_loop.h"
#include "record_kinds.h"

// Record files of several kinds. The twins are in tfdata_records.py.
namespace infeed::compare {
namespace {

constexpr std::int64_t kRecordsPerBatch = 128;

/// Calls `step`, which returns its amount of work, for the time of a repetition. Returns the amount
/// a second.
template <class Step>
double rate(double seconds, Step step) {
  const auto run_for = [&](double limit) {
    double amount = 0;
    const auto start = Clock::now();
    do {
      amount += step();
    } while (seconds_since(start) < limit);
    return amount / seconds_since(start);
  };
  run_for(seconds / 4);
  return run_for(seconds);
}

/// Returns the sum of `of_element` over the elements of a second.
template <class T, class OfElement>
double rate_of(const RunOptions& options, const Dataset<T>& dataset, OfElement of_element) {
  auto iterator = dataset.iterate();
  return rate(options.measure_seconds, [&] {
    double amount = 0;
    const auto ready = iterator.peek();
    for (const T& element : ready) amount += of_element(element);
    iterator.take(ready.size());
    return amount;
  });
}

Dataset<Record> read(const RunOptions& options, const char* kind, bool map_files = false) {
  read_into_page_cache(record_files(options.data, kind));
  return records(record_files(options.data, kind).string(), {.map_files = map_files}) | repeat();
}

Row read_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            return {rate_of(options, read(options, kind), [](const Record&) { return 1.0; })};
          }};
}

/// Reads a kind that is one file, on two threads.
Row read_one_file_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            read_into_page_cache(record_files(options.data, kind));
            const std::string file = match_files(record_files(options.data, kind).string()).front();
            return {rate_of(options, records(file, {.parallelism = 2}) | repeat(),
                            [](const Record&) { return 1.0; })};
          }};
}

// ---- ceilings: the rates of the machine itself ----

double copy_rate(double seconds, std::size_t bytes) {
  constexpr std::size_t kMemory = std::size_t{128} << 20;  // more than the caches hold
  static const std::string from(kMemory, 'x');
  static std::string to(kMemory, 'y');
  std::size_t at = 0;
  return rate(seconds, [&] {
    std::memcpy(to.data() + at, from.data() + at, bytes);
    at = at + 2 * bytes <= kMemory ? at + bytes : 0;
    return static_cast<double>(bytes);
  });
}

double crc_rate(double seconds, std::size_t bytes) {
  const std::string data(bytes, 'x');
  return rate(seconds, [&] {
    std::uint64_t sum = 0;
    for (int i = 0; i < 16; ++i) sum += crc32c(data);
    use(sum);
    return 16.0 * static_cast<double>(bytes);
  });
}

template <class Kind>
Dataset<Batch<Kind>> batches(const Dataset<Record>& input) {
  return input | parse_batch(Kind::schema(), kRecordsPerBatch, {.parallelism = autotune});
}

/// The form of both sides' columns.
struct Form {
  LoopBytes of_loops = LoopBytes::viewed;
  bool map_files = false;
};

template <class Kind>
Row parse_row(std::string name, const char* kind, Form form = {}) {
  return {std::move(name), [kind, form](const RunOptions& options) -> Measurement {
            const auto rows = [](const Batch<Kind>& rows_of) {
              return static_cast<double>(rows_of.size());
            };
            const auto input = read(options, kind, form.map_files);
            return {rate_of(options, batches<Kind>(input) | prefetch(), rows),
                    two_plain_loops_rate(options, kind, form.of_loops)};
          }};
}

Row compressed_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            const auto rows = [](const Batch<TextRecord>& batch) {
              return static_cast<double>(batch.size());
            };
            return {rate_of(options, batches<TextRecord>(read(options, kind)) | prefetch(), rows)};
          }};
}

/// The same with a schema that is known only at run time.
Row compressed_columns_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            const auto batches = read(options, kind) |
                                 parse_columns(ColumnSchema().bytes("text"), kRecordsPerBatch,
                                               {.parallelism = autotune}) |
                                 prefetch();
            const auto rows = [](const ColumnBatch& batch) {
              return static_cast<double>(batch.rows());
            };
            return {rate_of(options, batches, rows)};
          }};
}
Row parse_columns_row(std::string name, const char* kind, ColumnSchema schema, Form form = {}) {
  return {std::move(name), [kind, schema, form](const RunOptions& options) -> Measurement {
            const auto batches =
                read(options, kind, form.map_files) |
                parse_columns(schema, kRecordsPerBatch, {.parallelism = autotune}) | prefetch();
            const auto rows = [](const ColumnBatch& batch) {
              return static_cast<double>(batch.rows());
            };
            return {rate_of(options, batches, rows),
                    two_plain_loops_rate(options, kind, form.of_loops)};
          }};
}

ColumnSchema image_columns(std::int64_t bytes) {
  return ColumnSchema().column("image", DType::uint8, {bytes}).column("label", DType::int64);
}
ColumnSchema scalar_columns() {
  ColumnSchema schema;
  for (int i = 0; i < 40; ++i) {
    const std::string digits = std::to_string(i);
    schema.column("s" + std::string(2 - digits.size(), '0') + digits, DType::float32);
  }
  return schema;
}
ColumnSchema float_columns() {
  return ColumnSchema().column("label", DType::int64).column("values", DType::float32, {768});
}
ColumnSchema token_columns() {
  return ColumnSchema().column("mask", DType::int64, {512}).column("tokens", DType::int64, {512});
}

/// Returns megabytes of payload a second, and the lower of the two ceilings.
Row ceiling_row(std::string name, const char* kind, std::size_t bytes) {
  return {std::move(name), [kind, bytes](const RunOptions& options) -> Measurement {
            const double seconds = options.measure_seconds / 2;
            const double ceiling = std::min(copy_rate(seconds, bytes), crc_rate(seconds, bytes));
            const double ours = rate_of(options, read(options, kind), [](const Record& record) {
              return static_cast<double>(record.size());
            });
            return {ours / 1e6, ceiling / 1e6};
          }};
}

}  // namespace

std::vector<Row> records_rows() {
  return {
      read_row("read, 784 B images, one core", "image-784"),
      read_row("read, 2 KB images, one core", "image-2k"),
      read_row("read, 112 KB images, one core", "image-112k"),
      read_row("read, gzip text, one core", "text-gzip"),
      read_one_file_row("read, one gzip file with flush points, two cores", "text-one-gzip"),
      parse_row<PixelRecord<784>>("parse, 784 B images", "image-784"),
      parse_row<PixelRecord<2048>>("parse, 2 KB images", "image-2k"),
      parse_row<PixelRecord<112 * 1024>>("parse, 112 KB images", "image-112k"),
      parse_row<PixelRecord<112 * 1024>>("parse, 112 KB images, beside loops that fill rows",
                                         "image-112k", {.of_loops = LoopBytes::copied}),
      parse_row<PixelRecord<112 * 1024>>("parse, 112 KB images, mapped", "image-112k",
                                         {.map_files = true}),
      parse_row<ScalarRecord>("parse, 40 scalars", "scalars"),
      parse_row<FloatRecord>("parse, 768 floats", "floats"),
      parse_row<TokenRecord>("parse, 512 tokens", "tokens"),
      parse_row<TextOfRecord>("parse, 2 KB text", "text"),
      parse_columns_row("columns, 784 B images", "image-784", image_columns(784)),
      parse_columns_row("columns, 2 KB images", "image-2k", image_columns(2048)),
      parse_columns_row("columns, 112 KB images", "image-112k", image_columns(112 * 1024)),
      parse_columns_row("columns, 112 KB images, mapped", "image-112k", image_columns(112 * 1024),
                        {.map_files = true}),
      parse_columns_row("columns, 40 scalars", "scalars", scalar_columns()),
      parse_columns_row("columns, 768 floats", "floats", float_columns()),
      parse_columns_row("columns, 512 tokens", "tokens", token_columns()),
      parse_columns_row("columns, 2 KB text", "text", ColumnSchema().bytes("text")),
      compressed_row("parse, gzip text", "text-gzip"),
      compressed_row("parse, one gzip file with flush points", "text-one-gzip"),
      compressed_row("parse, lz4 text", "text-lz4"),
      compressed_columns_row("columns, gzip text", "text-gzip"),
      compressed_columns_row("columns, lz4 text", "text-lz4"),
      ceiling_row("read, 784 B images, against the lower ceiling", "image-784", 784),
      ceiling_row("read, 2 KB images, against the lower ceiling", "image-2k", 2048),
      ceiling_row("read, 112 KB images, against the lower ceiling", "image-112k", 112 * 1024),
      {"ceiling: memcpy of 2 KB, one core",
       [](const RunOptions& options) -> Measurement {
         return {copy_rate(options.measure_seconds, 2048) / 1e6};
       }},
      {"ceiling: CRC-32C of 2 KB, one core",
       [](const RunOptions& options) -> Measurement {
         return {crc_rate(options.measure_seconds, 2048) / 1e6};
       }},
  };
}

}  // namespace infeed::compare
