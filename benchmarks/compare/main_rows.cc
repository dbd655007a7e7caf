#include "data.h"
#include "drain.h"
#include "images.h"

// The main job: shards of Fashion-MNIST to batches. The twins are in tfdata_images.py.
namespace infeed::compare {
namespace {

constexpr std::int64_t kImagesPerBatch = 1024;

/// Returns images a second of an endless pipeline after a short start.
template <class T>
Measurement images_a_second(const RunOptions& options, const Dataset<Batch<T>>& dataset) {
  auto iterator = dataset.iterate();
  const auto run_for = [&](double seconds) {
    std::uint64_t images = 0;
    const auto start = Clock::now();
    do {
      images += iterator.next().value().size();
    } while (seconds_since(start) < seconds);
    return static_cast<double>(images) / seconds_since(start);
  };
  run_for(options.measure_seconds / 2);
  return {run_for(options.measure_seconds * 2)};
}

Dataset<Record> shards(const RunOptions& options) {
  return records(fashion_mnist_shards(options.data).string()) | repeat();
}

Measurement read_and_parse(const RunOptions& options) {
  return images_a_second(
      options, shards(options) |
                   parse_batch(image_schema(), kImagesPerBatch, {.parallelism = autotune}) |
                   prefetch());
}

/// A newcomer's pipeline: one thing after the other.
Measurement naive(const RunOptions& options) {
  return images_a_second(options, shards(options) | parse<Image>(image_schema()) |
                                      map(augment, {.seed = 42}) | batch(kImagesPerBatch));
}

/// Parses and augments in the image's final place: its row of the batch.
Measurement tuned(const RunOptions& options) {
  const auto parse_and_augment =
      [schema = image_schema()](const Record& record, const infeed::Row<Example>& row, Rng& rng) {
        Image image;
        schema.parse(record, image);
        augment_into(image, rng, row.column(&Example::image));
        row.column(&Example::label) = static_cast<std::int32_t>(image.label);
      };
  return images_a_second(options, shards(options) |
                                      batch_into<Example>(kImagesPerBatch, parse_and_augment,
                                                          {.parallelism = autotune, .seed = 42}) |
                                      prefetch());
}

}  // namespace

std::vector<Row> main_rows() {
  return {
      {"read, parse, batch: Fashion-MNIST shards", read_and_parse},
      {"naive, augmented an image at a time", naive},
      // Ours is the same; the peer's ways differ.
      {"tuned, augmented an image at a time, as in tutorials", tuned},
      {"tuned, the peer augments a batch at a time", tuned},
  };
}

}  // namespace infeed::compare
