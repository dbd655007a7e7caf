#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "seeded_random.h"
#include "temporary_folder.h"

/// Record files for batches that are filled from their blocks.
namespace infeed::test {

struct FilledSample {
  std::int64_t id;
  std::string text;
};

/// Writes files of random records, damages them and reads them.
class RowFilling : public ::testing::Test {
 protected:
  void write(std::size_t files, std::size_t records, std::size_t text_bytes_max,
             RecordWriterOptions options = {}) {
    options.existing = ExistingFile::replace;
    std::int64_t id = 0;
    for (std::size_t f = 0; f < files; ++f) {
      list_.push_back(folder_.file("data-" + std::to_string(f)));
      std::filesystem::remove(list_.back() + ".points");
      RecordWriter writer(list_.back(), options);
      const std::size_t count = f == 1 ? random_.below(3) : records;
      for (std::size_t i = 0; i < count; ++i, ++id) {
        ExampleBuilder builder;
        builder.bytes("text", std::string(random_.below(text_bytes_max + 1), 'x'));
        if (!random_.chance(0.01)) builder.integers("id", id);  // some have none: a row's error
        std::vector<std::int64_t> ids(random_.below(9), id);
        builder.integers("ids", std::span<const std::int64_t>(ids));
        writer.write(builder.encode());
      }
      writer.close();
    }
  }
  /// Plain files, which are cut into segments, and files that are decompressed from the front.
  RecordWriterOptions draw_compression() {
    switch (random_.below(5)) {
      case 0:
        return {};
      case 1:
        return {.compression = Compression::gzip};
      case 2:
        return {.compression = Compression::zlib};
      case 3:
        return {.compression = Compression::lz4};
      default:
        return {.compression = Compression::gzip, .flush_point_bytes = 1 + random_.below(20'000)};
    }
  }
  /// Flips a byte, cuts the file, or appends bytes.
  void damage(const std::string& file) {
    std::string whole = read_whole(file);
    switch (random_.below(4)) {
      case 0:
        whole.resize(random_.below(whole.size() + 1));
        break;
      case 1:
        whole.append(1 + random_.below(40), '\xff');
        break;
      default:
        if (!whole.empty()) whole[random_.below(whole.size())] ^= '\x20';
    }
    write_whole(file, whole);
  }

  std::string random_text(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return text;
  }

  Dataset<Record> source(const RecordsOptions& options) const {
    return records(list_, options) | repeat(2);
  }
  static Dataset<Record> without_blocks(const Dataset<Record>& input) {
    return input | map([](const Record& record) { return record; });
  }

  TemporaryFolder folder_;
  SeededRandom random_;
  std::vector<std::string> list_;
};

}  // namespace infeed::test
