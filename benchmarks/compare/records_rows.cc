#include <cstring>
#include <fstream>
#include <thread>

#include <infeed/records/crc32c.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "data.h"
#include "drain.h"
#include "record_kinds.h"

// Record files of several kinds. The twins are in tfdata_records.py.
namespace infeed::compare {
namespace {

constexpr std::int64_t kRecordsPerBatch = 128;

/// Calls `step`, which returns how much it did, for the time of a repetition; amount a second.
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

/// What `of_element` makes of all elements that come in a second.
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

Dataset<Record> read(const RunOptions& options, const char* kind) {
  return records(record_files(options.data, kind).string()) | repeat();
}

Row read_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            return {rate_of(options, read(options, kind), [](const Record&) { return 1.0; })};
          }};
}

/// A kind that is one file, on two threads.
Row read_one_file_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            const std::string file = match_files(record_files(options.data, kind).string()).front();
            return {rate_of(options, records(file, {.parallelism = 2}) | repeat(),
                            [](const Record&) { return 1.0; })};
          }};
}

// ---- ceilings: what the machine itself can do ----

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

/// Records a second that both cores could do at most: get the file's bytes, check them, copy them
/// once.
double read_check_copy_rate(const RunOptions& options, const char* kind) {
  const std::vector<std::string> files = match_files(record_files(options.data, kind).string());
  std::uint64_t records_in_files = 0;
  std::uint64_t bytes_in_files = 0;
  for (const std::string& file : files) {
    records_in_files += count_records(file);
    bytes_in_files += std::filesystem::file_size(file);
  }
  const std::size_t record_bytes = bytes_in_files / records_in_files;
  const auto pass = [&](std::size_t first) {
    std::vector<char> block(std::size_t{256} << 10);
    std::vector<char> copy(std::size_t{4} << 20);
    std::uint64_t sum = 0;
    std::size_t at = 0;
    for (std::size_t i = first; i < files.size(); i += 2) {
      std::ifstream in(files[i], std::ios::binary);
      in.rdbuf()->pubsetbuf(nullptr, 0);
      while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
        const auto size = static_cast<std::size_t>(in.gcount());
        for (std::size_t from = 0; from < size; from += record_bytes) {
          const std::size_t piece = std::min(record_bytes, size - from);
          sum += crc32c({block.data() + from, piece});
        }
        std::memcpy(copy.data() + at, block.data(), size);
        at = at + 2 * block.size() <= copy.size() ? at + block.size() : 0;
      }
    }
    use(sum);
  };
  return rate(options.measure_seconds, [&] {
    std::thread other(pass, 1);
    pass(0);
    other.join();
    return static_cast<double>(records_in_files);
  });
}

template <class Kind>
Dataset<Batch<Kind>> batches(const Dataset<Record>& input) {
  if constexpr (detail::field_count<Kind>() > 0) {
    return input | parse_batch(Kind::schema(), kRecordsPerBatch, {.parallelism = autotune});
  } else {  // more members than there can be columns
    return input | parse<Kind>(Kind::schema(), {.parallelism = autotune}) | batch(kRecordsPerBatch);
  }
}

template <class Kind>
Row parse_row(std::string name, const char* kind) {
  return {std::move(name), [kind](const RunOptions& options) -> Measurement {
            const auto rows = [](const Batch<Kind>& rows_of) {
              return static_cast<double>(rows_of.size());
            };
            return {rate_of(options, batches<Kind>(read(options, kind)) | prefetch(), rows),
                    read_check_copy_rate(options, kind)};
          }};
}

/// Megabytes of payload a second, and the lower of the two ceilings.
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
      parse_row<ScalarRecord>("parse, 40 scalars", "scalars"),
      parse_row<FloatRecord>("parse, 768 floats", "floats"),
      parse_row<TokenRecord>("parse, 512 tokens", "tokens"),
      parse_row<TextRecord>("parse, 2 KB text", "text"),
      parse_row<TextRecord>("parse, gzip text", "text-gzip"),
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
