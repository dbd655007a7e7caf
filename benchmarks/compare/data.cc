#include "data.h"

#include <string>

#include <infeed/records/example_schema.h>
#include <infeed/records/files.h>
#include <infeed/records/idx.h>
#include <infeed/records/record_writer.h>

#include "images.h"

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
    RecordWriter writer(shard_name((folder / "train").string(), {.index = shard, .count = kShards}),
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

}  // namespace

void make_data(const fs::path& folder) {
  // A folder gets its name when all of its files are there.
  const auto once = [&](const std::string& name, const auto& make) {
    if (fs::exists(folder / name)) return;
    const fs::path partial = folder / (name + ".partial");
    fs::remove_all(partial);
    make(partial);
    fs::rename(partial, folder / name);
  };
  once("fashion-mnist", make_fashion_mnist);
}

fs::path fashion_mnist_shards(const fs::path& folder) {
  return folder / "fashion-mnist" / "train-*.tfrecord";
}

}  // namespace infeed::compare
