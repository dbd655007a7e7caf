#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "records/codec/skippable.h"
#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"

/// Sources of zstd files give what plain files give, and resume anywhere.
namespace infeed::test {
namespace {

enum class SeekTable { none, at_end };

/// Makes zstd frames by hand, of stored blocks, each frame with `frame_bytes` of the content. With a
/// table of them threads decompress ahead.
std::string stored_by_zstd(std::string_view bytes, std::size_t frame_bytes, SeekTable table) {
  constexpr std::size_t kBlockBytes = 1000;
  std::string file;
  std::string sizes;
  std::uint32_t frames = 0;
  do {
    const std::size_t begin = file.size();
    std::string_view content = bytes.substr(0, frame_bytes);
    const std::size_t content_bytes = content.size();
    bytes.remove_prefix(content_bytes);
    file += std::string("\x28\xb5\x2f\xfd\x00\x50", 6);  // no flags; a window of 1 MiB
    bool is_last = false;
    while (!is_last) {
      const std::string_view block = content.substr(0, kBlockBytes);
      content.remove_prefix(block.size());
      is_last = content.empty();
      const auto header = static_cast<std::uint32_t>(block.size() << 3 | (is_last ? 1 : 0));
      file += test::little(header).substr(0, 3) + std::string(block);
    }
    file += test::skippable_frame("own", 0x184d2a53);
    sizes += test::little(static_cast<std::uint32_t>(file.size() - begin)) +
             test::little(static_cast<std::uint32_t>(content_bytes));
    ++frames;
  } while (!bytes.empty());
  if (table == SeekTable::none) return file;
  return file + test::skippable_frame(
                    sizes + test::little(frames) + '\0' + test::little(std::uint32_t{0x8f92eab1}),
                    0x184d2a5e);
}

class CompressedFiles : public ::testing::Test {
 protected:
  static constexpr int kFiles = 3;
  static constexpr int kRows = 60;

  void write(const std::string& ending, const std::function<std::string(int)>& row,
             const std::string& header = "") const {
    for (int file = 0; file < kFiles; ++file) {
      std::string bytes = header;
      for (int i = 0; i < kRows; ++i) bytes += row(file * kRows + i);
      folder_.write(fmt::format("{}.{}.zst", file, ending),
                    stored_by_zstd(bytes, 100, table_of(file)));
    }
  }
  /// Files with tables and without follow each other.
  static SeekTable table_of(int file) { return file == 1 ? SeekTable::none : SeekTable::at_end; }
  std::string pattern(const std::string& ending) const {
    return folder_.file("*." + ending + ".zst");
  }
  static Stream all_numbers() {
    std::vector<std::int64_t> values(kFiles * kRows);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
    return numbers(values);
  }
  static Stream batches(int rows) {
    Stream stream;
    for (int begin = 0; begin < kFiles * kRows; begin += rows) {
      std::vector<std::int64_t> ids;
      for (int i = begin; i < std::min(kFiles * kRows, begin + rows); ++i) ids.push_back(i);
      stream.push_back(show(ids));
    }
    return stream;
  }
  static std::int64_t number_of(const Record& record) {
    return std::stoll(std::string(record.bytes()));
  }
  static std::vector<std::int64_t> ids_of(const ColumnBatch& batch) {
    const auto values = batch.column("id").values<std::int64_t>();
    return {values.begin(), values.end()};
  }

  const TemporaryFolder folder_;
  const ColumnSchema schema_ = ColumnSchema().column("id", DType::int64);
};

TEST_F(CompressedFiles, OfLines) {
  write("txt", [](int i) { return fmt::format("{}\n", i); });
  run_source_suite([&] { return lines(pattern("txt")) | map(&number_of); }, all_numbers());
}

TEST_F(CompressedFiles, AreDecompressedByThreadsOfTheRun) {
  write("txt", [](int i) { return fmt::format("{}\n", i); });
  const auto dataset = lines(pattern("txt")) | map(&number_of);
  const auto readers = [&](IterateOptions options) {
    std::atomic<int> count = 0;
    options.on_thread_start = [&](std::string_view name) { count += name == "reader" ? 1 : 0; };
    EXPECT_EQ(stream_of(dataset, options), all_numbers());
    return count.load();
  };
  EXPECT_GE(readers({.executor = Executor::threads(2)}), 1);
  EXPECT_EQ(readers({.executor = Executor::threads(2), .threads_max = 1}), 0);
  EXPECT_EQ(readers({.memory_bytes_max = 1000, .executor = Executor::threads(2)}), 0);
  EXPECT_EQ(readers({.executor = Executor::inline_()}), 0);
}

TEST_F(CompressedFiles, OfRecords) {
  write("tfrecord", [](int i) { return test::frame(std::to_string(i)); });
  for (const int parallelism : {1, 2}) {
    run_source_suite(
        [&] {
          return records(pattern("tfrecord"), {.parallelism = parallelism}) | map(&number_of);
        },
        all_numbers());
  }
}

TEST_F(CompressedFiles, OfCsv) {
  write(
      "csv", [](int i) { return fmt::format("{},x\n", i); }, "id,text\n");
  run_source_suite([&] { return csv(pattern("csv"), schema_, 7) | map(&ids_of); }, batches(7));
}

TEST_F(CompressedFiles, OfJsonLines) {
  write("jsonl", [](int i) { return fmt::format("{{\"id\": {}}}\n", i); });
  run_source_suite([&] { return json_lines(pattern("jsonl"), schema_, 7) | map(&ids_of); },
                   batches(7));
}

TEST_F(CompressedFiles, OfJsonTextsInLines) {
  write("jsonl", [](int i) { return fmt::format("{{\"id\": {}}}\n", i); });
  for (const int parallelism : {1, 2}) {
    run_source_suite(
        [&] {
          return lines(pattern("jsonl")) |
                 parse_columns(JsonParser(schema_), 7, {.parallelism = parallelism}) | map(&ids_of);
        },
        batches(7));
  }
}

TEST_F(CompressedFiles, OfTar) {
  write("tar", [](int i) { return test::tar_member(fmt::format("{}.txt", i), std::to_string(i)); });
  for (int file = 0; file < kFiles; ++file) {  // a tar ends with two empty blocks
    const std::string name = folder_.file(fmt::format("{}.tar.zst", file));
    folder_.write(fmt::format("{}.tar.zst", file),
                  read_whole(name) + stored_by_zstd(std::string(1024, '\0'), 700, SeekTable::none));
  }
  const auto value_of_sample = [](const TarSample& sample) -> std::int64_t {
    return std::stoll(std::string(sample.find("txt")->bytes()));
  };
  run_source_suite([&] { return tar(pattern("tar")) | map(value_of_sample); }, all_numbers());
}

}  // namespace
}  // namespace infeed::test
