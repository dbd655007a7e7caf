#include "record_workloads.h"

#include <array>
#include <cstdint>

#include <infeed/image/resized_crop.h>
#include <infeed/infeed.h>
#include <infeed/records/example.h>

#include "../compare/record_kinds.h"

namespace infeed::autotuning {
namespace {

constexpr std::int64_t kImagesPerBatch = 8;  // 4.8 MB, of a budget of 64

struct Photograph {
  std::array<float, 224 * 224 * 3> image;
  std::int64_t label;
};

Dataset<Record> kept(Dataset<Record> dataset, const Variation& variation) {
  return variation.cached == "records" ? dataset | cache() : dataset;
}

Outcome read_and_parse(const RunOptions& options) {
  using Image = compare::PixelRecord<784>;
  const auto dataset =
      kept(records((options.data / "image-784" / "data-*.tfrecord").string()), options.variation) |
      repeat() | parse_batch(Image::schema(), 128, {.parallelism = autotune}) | prefetch();
  return take_all(dataset, options, [](const auto&) {});
}

Outcome jpeg(const RunOptions& options) {
  const ExampleParser parser({"image", "label"});
  const auto make = [parser](const Record& record, const infeed::Row<Photograph>& row, Rng& rng) {
    std::array<FeatureView, 2> views;
    parser.parse(record, views);
    image::random_resized_crop(views[0].single_bytes(), {.width = 224, .height = 224}, rng,
                               row.column(&Photograph::image));
    views[1].read_integers(std::span(&row.column(&Photograph::label), 1));
  };
  const auto dataset =
      kept(records((options.data / "photos" / "data-*.tfrecord").string()), options.variation) |
      repeat() |
      batch_into<Photograph>(kImagesPerBatch, make, {.parallelism = autotune, .seed = 17}) |
      prefetch();
  return take_all(dataset, options, [](const auto&) {});
}

}  // namespace

std::vector<Workload> record_workloads() {
  return {{.name = "read and parse", .run = read_and_parse, .cacheable = {"records"}},
          {.name = "JPEG", .run = jpeg, .cacheable = {"records"}}};
}

}  // namespace infeed::autotuning
