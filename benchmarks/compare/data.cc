#include "data.h"

#include <fstream>
#include <memory>
#include <type_traits>
#include <vector>

#include <infeed/records/example_schema.h>
#include <infeed/records/files.h>
#include <infeed/records/idx.h>
#include <infeed/records/record_writer.h>

#include "document_data.h"
#include "images.h"
#include "record_kinds.h"
#include "table_data.h"

namespace infeed::compare {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kShards = 16;

void make_fashion_mnist(const fs::path& folder) {
  const fs::path source = "/usr/share/datasets/fashion-mnist";
  const IdxArray images =
      read_idx(source / "train-images-idx3-ubyte.gz", {.type = IdxType::uint8, .rank = 3});
  const IdxArray labels = read_idx(source / "train-labels-idx1-ubyte.gz",
                                   {.type = IdxType::uint8, .rank = 1, .rows = images.rows()});
  const ExampleSchema<Image> schema = image_schema();
  fs::create_directories(folder);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    RecordWriter writer(shard_name((folder / "train").string(), {.count = kShards, .index = shard}),
                        {.existing = ExistingFile::replace});
    const std::uint64_t end = images.rows() * (shard + 1) / kShards;
    for (std::uint64_t i = images.rows() * shard / kShards; i < end; ++i) {
      Image image{};
      const auto pixels = images.row(i);
      std::copy(pixels.begin(), pixels.end(), image.pixels.begin());
      image.label = labels.row(i)[0];
      writer.write(schema.encode(image));
    }
    writer.close();
  }
}

/// Makes files of one kind, `total` records together.
template <class Kind>
void make_records(const fs::path& folder, std::size_t total, std::uint32_t files,
                  const RecordWriterOptions& options) {
  const auto schema = Kind::schema();
  const auto object = std::make_unique<Kind>();
  Random random(1);
  fs::create_directories(folder);
  for (std::uint32_t file = 0; file < files; ++file) {
    RecordWriter writer(shard_name((folder / "data").string(), {.count = files, .index = file}),
                        options);
    for (std::size_t i = 0; i < total / files; ++i) {
      object->fill(random);
      writer.write(schema.encode(*object));
    }
    writer.close();
  }
}

}  // namespace

void make_data(const fs::path& folder) {
  // A folder gets its name when all of its files are complete.
  const auto once = [&](const std::string& name, const auto& make) {
    if (fs::exists(folder / name)) return;
    const fs::path partial = folder / (name + ".partial");
    fs::remove_all(partial);
    make(partial);
    fs::rename(partial, folder / name);
  };
  once("fashion-mnist", make_fashion_mnist);
  once("documents", make_documents);
  once("documents-json",
       [&](const fs::path& path) { make_json_documents(path, folder / "documents"); });
  once("table", make_table);
  once("features", make_features);
  once("table-zstd", [&](const fs::path& path) { make_zstd_table(path, folder / "table"); });
  // About 250 MB of each kind: in the page cache, but in no core's cache, however large its share
  // of the last level. Each of the two plain loops reads half of the files again and again. With 50
  // MB in all, they found their 25 in the caches of a Xeon with 260 MB of them, and were half as
  // quick again as from memory, where an epoch's records lie.
  const auto kind = [&]<class Kind>(std::type_identity<Kind>, const char* name, std::size_t total,
                                    const RecordWriterOptions& options = {},
                                    std::uint32_t files = 4) {
    once(name, [&](const fs::path& path) { make_records<Kind>(path, total, files, options); });
  };
  kind(std::type_identity<PixelRecord<784>>(), "image-784", 300'000);
  kind(std::type_identity<PixelRecord<2048>>(), "image-2k", 120'000);
  kind(std::type_identity<PixelRecord<112 * 1024>>(), "image-112k", 2'200);
  kind(std::type_identity<ScalarRecord>(), "scalars", 360'000);
  kind(std::type_identity<FloatRecord>(), "floats", 80'000);
  kind(std::type_identity<TokenRecord>(), "tokens", 180'000);
  kind(std::type_identity<TextRecord>(), "text", 120'000);
  kind(std::type_identity<TextRecord>(), "text-gzip", 30'000, {.compression = Compression::gzip});
  kind(std::type_identity<TextRecord>(), "text-one-gzip", 30'000,
       {.compression = Compression::gzip, .flush_point_bytes = std::size_t{1} << 20}, 1);
  kind(std::type_identity<TextRecord>(), "text-lz4", 30'000, {.compression = Compression::lz4});
}

fs::path record_files(const fs::path& folder, const std::string& kind) {
  return folder / kind / "data-*.tfrecord";
}

void read_into_page_cache(const fs::path& pattern) {
  std::vector<char> piece(std::size_t{256} << 10);
  for (const std::string& file : match_files(pattern.string())) {
    std::ifstream input;
    input.rdbuf()->pubsetbuf(nullptr, 0);
    input.open(file, std::ios::binary);
    while (input.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
    }
  }
}

fs::path fashion_mnist_shards(const fs::path& folder) {
  return folder / "fashion-mnist" / "train-*.tfrecord";
}

}  // namespace infeed::compare
