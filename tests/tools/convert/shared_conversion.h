#pragma once

#include <fmt/format.h>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <infeed/records/record_writer.h>

#include "pipeline/image/encoded_images.h"
#include "temporary_folder.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Conversions that several processes share, against those of one process.
namespace infeed::test {

/// An input and the words behind `infeed`, without -o.
struct SharedInput {
  std::string name;
  std::vector<std::string> words;
};

inline std::string prices(int rows) {
  std::string table = "id,price\n";
  for (int row = 0; row < rows; ++row) table += fmt::format("{},{}.5\n", row, row % 17);
  return table;
}

/// A table, images in a folder a class, and records: what each needs to look at before the first
/// shard differs.
inline std::vector<SharedInput> write_shared_inputs(const TemporaryFolder& folder) {
  std::mt19937 random(3);
  {
    std::ofstream table(folder.file("table.csv"));
    table << "id,price,note\n";
    for (int row = 0; row < 500; ++row) {
      table << fmt::format("{},{},{}\n", row, row % 7 == 0 ? "" : fmt::format("{}.25", random()),
                           row % 50 == 0 ? "" : fmt::format("note {}", random() % 9));
    }
  }
  for (int i = 0; i < 40; ++i) {
    folder.write(fmt::format("photos/class{}/{}.png", i % 3, i), as_png(4 + random() % 9));
  }
  {
    RecordWriter records(folder.file("records.tfrecord"));
    for (int i = 0; i < 300; ++i) records.write(std::string(random() % 200, 'x'));
    records.close();
  }
  return {{"table",
           {"convert", folder.file("table.csv"), "--shards", "7", "--seed", "5", "--validation",
            "0.2"}},
          {"images", {"convert", folder.file("photos"), "--shards", "5", "--compression", "gzip"}},
          {"records",
           {"reshard", folder.file("records.tfrecord"), "--shards", "8", "--compression", "lz4",
            "--seed", "1"}}};
}

inline std::vector<std::string> with(std::vector<std::string> words,
                                     const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace infeed::test
