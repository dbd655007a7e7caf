#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/infeed.h>

/// Writes four shards of 1,024 records: an image of 8 x 8 pixels with one bright line, whose place
/// is its label.
inline void write_shards(const std::string& prefix) {
  infeed::Philox random(1, 0);
  for (int shard = 0; shard < 4; ++shard) {
    infeed::RecordWriter writer(prefix + std::to_string(shard) + ".tfrecord",
                                {.existing = infeed::ExistingFile::replace});
    for (int i = 0; i < 1024; ++i) {
      const std::int64_t line = random() % 8;
      std::vector<float> image(64);
      for (std::size_t pixel = 0; pixel < image.size(); ++pixel) {
        const float noise = static_cast<float>(random() >> 8) * 0x1p-24F;
        image[pixel] = static_cast<std::int64_t>(pixel) / 8 == line ? 1.0F : 0.8F * noise;
      }
      infeed::ExampleBuilder example;
      example.floats("image", image);
      example.integers("label", std::vector<std::int64_t>{line});
      writer.write(example.encode());
    }
    writer.close();
  }
}
