#include <array>

#include <infeed/image/resized_crop.h>
#include <infeed/records/example.h>

#include "data.h"
#include "drain.h"
#include "image_loop.h"

// Photographs to batches. The twins are in tfdata_photos.py, dali_photos.py and mlx_photos.py.
namespace infeed::compare {
namespace {

constexpr std::int64_t kImagesPerBatch = 128;

struct Photograph {
  std::array<float, 224 * 224 * 3> image;
  std::int64_t label;
};

Dataset<Batch<Photograph>> photographs(const RunOptions& options) {
  const ExampleParser parser({"image", "label"});
  const auto make = [parser](const Record& record, const infeed::Row<Photograph>& row, Rng& rng) {
    std::array<FeatureView, 2> views;
    parser.parse(record, views);
    image::random_resized_crop(views[0].single_bytes(), {.width = 224, .height = 224}, rng,
                               row.column(&Photograph::image));
    views[1].read_integers(std::span(&row.column(&Photograph::label), 1));
  };
  return records(record_files(options.data, "photos").string()) | repeat() |
         batch_into<Photograph>(kImagesPerBatch, make, {.parallelism = autotune, .seed = 17}) |
         prefetch();
}

Measurement photographs_row(const RunOptions& options) {
  auto iterator = photographs(options).iterate();
  std::uint64_t sum = 0;
  const auto images_until = [&](double seconds) {
    std::size_t images = 0;
    const auto start = Clock::now();
    while (seconds_since(start) < seconds) {
      const auto batch = iterator.next();
      for (const auto& image : batch->column(&Photograph::image)) {
        sum += static_cast<std::uint64_t>(image[images % image.size()] > 0);
        ++images;
      }
    }
    return static_cast<double>(images) / seconds_since(start);
  };
  // A batch takes some 50 ms, and a repetition must have many.
  const double seconds = 5 * options.measure_seconds;
  images_until(seconds / 4);
  const double ours = images_until(seconds);
  use(sum);
  RunOptions longer = options;
  longer.measure_seconds = seconds;
  return {ours, two_image_loops_rate(longer)};
}

}  // namespace

std::vector<Row> image_rows() {
  return {{"decode, random resized crop, flip, normalise: batches of 128", photographs_row}};
}

}  // namespace infeed::compare
