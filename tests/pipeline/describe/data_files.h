#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infeed/describe/description.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/snapshot.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "records/arrays/npy_bytes.h"
#include "records/samples/tar_bytes.h"
#include "temporary_folder.h"

namespace infeed::test {

/// Files of each kind that a described source reads.
class DataFiles {
 public:
  DataFiles() {
    write_records("a.tfrecord", 0, 20);
    write_records("b.tfrecord", 20, 33);
    folder_.write("lines.txt", "one\ntwo\nthree\nfour\nfive\n");
    folder_.write("pairs.bin", "aabbccddee");
    folder_.write("table.csv", "id,weight\n1,0.5\n2,1.5\n3,2.5\n4,3.5\n5,4.5\n");
    folder_.write("rows.jsonl",
                  "{\"id\": 1, \"tokens\": [1]}\n{\"id\": 2, \"tokens\": []}\n"
                  "{\"id\": 3, \"tokens\": [3, 4, 5]}\n");
    folder_.write("short.jsonl", "{\"tokens\": [1]}\n");
    folder_.write("long.jsonl", "{\"tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n");
    const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5};
    const std::string npy = npy_of("<i8", "(5,)", bytes_of(ids));
    folder_.write("ids.npy", npy);
    folder_.write("ids.npz", zip_of({{"id.npy", npy}}));
    folder_.write("samples.tar", tar_member("1.txt", "one") + tar_member("1.cls", "0") +
                                     tar_member("2.txt", "two") + tar_member("2.cls", "1") +
                                     std::string(1024, '\0'));
    std::filesystem::create_directories(folder_.path() / "classes" / "cat");
    std::filesystem::create_directories(folder_.path() / "classes" / "dog");
    folder_.write("classes/cat/1.txt", "meow");
    folder_.write("classes/dog/2.txt", "woof");
    write_snapshot(range(9), {.path = folder_.file("written")});
  }

  std::string file(std::string_view name) const { return folder_.file(name); }
  /// Returns the text with @ as the folder.
  std::string with_folder(std::string text) const {
    for (std::size_t at; (at = text.find('@')) != text.npos;) {
      text.replace(at, 1, folder_.path().string());
    }
    return text;
  }

 private:
  void write_records(const char* name, std::int64_t first, std::int64_t end) {
    RecordWriter writer(folder_.file(name));
    for (std::int64_t i = first; i < end; ++i) {
      ExampleBuilder builder;
      const std::vector<std::int64_t> tokens(static_cast<std::size_t>(i % 4), i);
      builder.integers("tokens", std::span<const std::int64_t>(tokens));
      builder.integers("id", i);
      builder.bytes("text", "text " + std::to_string(i));
      writer.write(builder.encode());
    }
    writer.close();
  }

  const TemporaryFolder folder_;
};

inline std::shared_ptr<const describe::StageTable> native_table() {
  return std::make_shared<const describe::StageTable>(describe::native_stages());
}

/// Describes the pipeline of these stages, in JSON without the list's brackets.
inline describe::Description described(const std::string& stages) {
  return describe::Description::from_json("{\"stages\": [" + stages + "]}", native_table());
}

inline constexpr const char* kParse =
    R"({"stage": "parse", "columns": [{"name": "id", "dtype": "int64"},
        {"name": "tokens", "kind": "ragged", "dtype": "int32"}]})";

}  // namespace infeed::test
