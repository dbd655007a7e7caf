#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <vector>

#include <infeed/records/file.h>
#include <infeed/records/idx.h>

#include "convert/convert.h"
#include "convert/inputs/fashion_mnist.h"
#include "convert/inputs/open_input.h"
#include "drain.h"
#include "row.h"

// Writing datasets as `infeed convert` does. The twins are in tfdata_convert.py.
namespace infeed::compare {
namespace {

namespace fs = std::filesystem;

/// A folder on the measured disk, removed afterwards, outside of the timed part.
class OutputFolder {
 public:
  explicit OutputFolder(const RunOptions& options) : path_(options.data / "convert-out") {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~OutputFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  const fs::path path_;
};

/// Measures from the gzipped IDX files to the manifest: the median of some runs.
double fashion_mnist_seconds(const RunOptions& options, Durability durability) {
  const tools::IdxPair files =
      tools::find_idx_pair(std::string(tools::kFashionMnistFolder), tools::Split::train);
  constexpr std::size_t kRuns = 5;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < kRuns; ++i) {
    const OutputFolder output(options);
    const auto start = Clock::now();
    const auto input = tools::open_idx_pair(files.images_file, files.labels_file);
    tools::convert(*input,
                   {.prefix = output.file("train"), .shard_count = 16, .durability = durability});
    seconds.push_back(seconds_since(start));
  }
  return median(std::move(seconds));
}

/// Measures the work that can't be left out: inflating both files, and writing their bytes once. On
/// one core, as the images are one gzip member.
double inflate_and_write_seconds(const RunOptions& options) {
  const tools::IdxPair files =
      tools::find_idx_pair(std::string(tools::kFashionMnistFolder), tools::Split::train);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < 5; ++i) {
    const OutputFolder output(options);
    const auto start = Clock::now();
    const IdxArray images = read_idx(files.images_file, {.type = IdxType::uint8, .rank = 3});
    const IdxArray labels = read_idx(files.labels_file, {.type = IdxType::uint8, .rank = 1});
    File file = File::open(output.file("pixels"), O_WRONLY | O_CREAT);
    for (std::uint64_t row = 0; row < images.rows(); ++row) {
      const auto pixels = images.row(row);
      use(pixels[0] + labels.row(row)[0]);
      if (row % 1000 == 0) {
        const std::size_t rows =
            static_cast<std::size_t>(std::min<std::uint64_t>(1000, images.rows() - row));
        file.write({reinterpret_cast<const char*>(pixels.data()), rows * pixels.size()});
      }
    }
    seconds.push_back(seconds_since(start));
  }
  return median(std::move(seconds));
}

constexpr std::uint64_t kDurableBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kPayloadBytes = std::uint64_t{112} << 10;

/// Examples that cost nothing to read.
class SyntheticInput final : public ExampleInput {
 public:
  SyntheticInput()
      : example_(ExampleBuilder().bytes("image", std::string(kPayloadBytes, 'x')).encode()) {}

  std::uint64_t size() const override { return kDurableBytes / kPayloadBytes; }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<Reader>(example_);
  }
  std::vector<std::string> columns() const override { return {"image"}; }
  std::string describe() const override { return "synthetic examples"; }
  std::string name_of(std::uint64_t index) const override { return std::to_string(index); }
  std::vector<InputFile> files() const override { return {}; }

 private:
  class Reader final : public ExampleReader {
   public:
    explicit Reader(const std::string& example) : example_(example) {}
    void read(std::uint64_t, std::string& out) override { out = example_; }

   private:
    const std::string& example_;
  };

  const std::string example_;
};

/// Returns the megabytes a second of writing one file from front to back and syncing it, in the
/// better of two ways: leaving all to the last sync, or starting each 8 MiB when it is written.
double sequential_sync_rate(const RunOptions& options) {
  constexpr std::uint64_t kStepBytes = std::uint64_t{8} << 20;
  const std::string step(kStepBytes, 'x');
  double best = 0;
  for (const bool starts_early : {false, true}) {
    const OutputFolder output(options);
    const auto start = Clock::now();
    File file = File::open(output.file("sequential"), O_WRONLY | O_CREAT);
    for (std::uint64_t at = 0; at < kDurableBytes; at += kStepBytes) {
      file.write(step);
      if (!starts_early) continue;
      (void)::sync_file_range(file.descriptor(), static_cast<off64_t>(at),
                              static_cast<off64_t>(kStepBytes), SYNC_FILE_RANGE_WRITE);
    }
    file.sync();
    best = std::max(best, static_cast<double>(kDurableBytes) / seconds_since(start) / 1e6);
  }
  return best;
}

double durable_rate(const RunOptions& options) {
  const SyntheticInput input;
  const OutputFolder output(options);
  const auto start = Clock::now();
  const auto result = tools::convert(input, {.prefix = output.file("train"), .shard_count = 16});
  return static_cast<double>(result.manifest.bytes()) / seconds_since(start) / 1e6;
}

/// Measures both by turns, the single file first: memory that the system has not used for a while
/// takes longer to fill (half as fast here), and the first user pays for it.
Measurement durable_rates(const RunOptions& options) {
  constexpr std::size_t kRounds = 5;
  std::vector<double> ours;
  std::vector<double> sequential;
  for (std::size_t i = 0; i < kRounds; ++i) {
    sequential.push_back(sequential_sync_rate(options));
    ours.push_back(durable_rate(options));
  }
  return {median(std::move(ours)), median(std::move(sequential))};
}

}  // namespace

std::vector<Row> convert_rows() {
  return {
      {"convert Fashion-MNIST into 16 shards",
       [](const RunOptions& options) -> Measurement {
         return {fashion_mnist_seconds(options, Durability::leave_to_system),
                 inflate_and_write_seconds(options)};
       }},
      {"convert Fashion-MNIST, every shard synced",
       [](const RunOptions& options) -> Measurement {
         return {fashion_mnist_seconds(options, Durability::synced)};
       }},
      {"convert 1 GiB into 16 shards, every shard synced", durable_rates},
  };
}

}  // namespace infeed::compare
