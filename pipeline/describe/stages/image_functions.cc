#include "describe/stages/stages.h"

#ifdef INFEED_HAS_IMAGES
#include <array>
#include <fmt/format.h>

#include <infeed/image/resized_crop.h>

#include "describe/stages/column_stage.h"
#include "infeed/error.h"

namespace infeed::describe {

template <>
struct EnumNames<image::Layout> {
  static constexpr std::pair<image::Layout, std::string_view> kNames[] = {
      {image::Layout::nhwc, "nhwc"}, {image::Layout::nchw, "nchw"}};
};

template <>
struct OptionValue<std::array<float, 3>> {
  static std::string type() { return "Sequence[float]"; }
  static JsonText write(const std::array<float, 3>& values) {
    return OptionValue<std::vector<float>>::write({values.begin(), values.end()});
  }
  static std::array<float, 3> read(const JsonText& value, const std::string& place) {
    auto values = OptionValue<std::vector<float>>::read(value, place);
    if (values.size() == 1) values.resize(3, values.front());
    if (values.size() != 3) {
      refuse_value(place, value, "a list of one number, or of three: red, green, blue");
    }
    return {values[0], values[1], values[2]};
  }
};

namespace {

struct CropStage {
  std::string column = {};
  image::Target target = {};
  DType dtype = DType::float32;
  image::RandomCrop random = {};
  float share = 0.875F;
  std::optional<std::uint64_t> seed = std::nullopt;
  StageName name = {};
};

Shape shape_of(std::int64_t rows, const image::Target& target) {
  const auto height = static_cast<std::int64_t>(target.height);
  const auto width = static_cast<std::int64_t>(target.width);
  return target.normalisation.layout == image::Layout::nhwc ? Shape{rows, height, width, 3}
                                                            : Shape{rows, 3, height, width};
}

Shape row_shape_of(const image::Target& target) {
  const Shape shape = shape_of(1, target);
  return Shape(std::span<const std::int64_t>(shape.begin() + 1, shape.end()));
}

/// Throws the error of one image on, with its place.
[[noreturn]] void rethrow_at_row(Error& error, const CropStage& stage, std::int64_t row,
                                 std::int64_t rows) {
  // The error stands for one row; the others of the batch are lost with it.
  if (error.code() == ErrorCode::data_loss) {
    error.losing({.records = static_cast<std::uint64_t>(rows) - 1});
  }
  throw error.reworded(error.code(),
                       fmt::format("column '{}', row {}: {}", stage.column, row, error.message()));
}

/// Fills a dense column of T, one image a row. `crop` makes one. The memory of a batch that is gone
/// serves the next one: a batch of 128 has 77 MB, which the system would clear anew each time.
template <class T, class Crop>
ColumnBatch filled(const ColumnBatch& batch, const CropStage& stage, const TensorPool& pool,
                   const Crop& crop) {
  const Column& images = batch.column(stage.column);
  if (images.kind() != Column::Kind::bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the column '{}' is {}; images are JPEG or PNG in a column of bytes",
                            stage.column, to_string(images.kind())));
  }
  Tensor pixels(dtype_of<T>(), shape_of(batch.rows(), stage.target), pool);
  const std::span<T> all = pixels.writable<T>();
  const std::size_t row_items = stage.target.height * stage.target.width * 3;
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    try {
      crop(images.bytes(row), all.subspan(static_cast<std::size_t>(row) * row_items, row_items));
    } catch (Error& error) {
      rethrow_at_row(error, stage, row, batch.rows());
    }
  }
  return batch.with_column(stage.column, Column::dense(std::move(pixels)));
}

/// Calls filled() for the type of the numbers.
template <class Crop>
ColumnBatch filled_as(const ColumnBatch& batch, const CropStage& stage, const TensorPool& pool,
                      const Crop& crop) {
  if (stage.dtype == DType::uint8) return filled<std::uint8_t>(batch, stage, pool, crop);
  if (stage.dtype == DType::bfloat16) return filled<bfloat16>(batch, stage, pool, crop);
  return filled<float>(batch, stage, pool, crop);
}

/// Returns a pool in which the memory of one batch may lie free.
TensorPool one_block() { return TensorPool({.free_bytes_max = 0}); }

void check_dtype(const CropStage& stage, const char* name) {
  if (stage.dtype == DType::uint8 || stage.dtype == DType::bfloat16 ||
      stage.dtype == DType::float32) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: dtype is {}; there are uint8, bfloat16, float32", name,
                          to_string(stage.dtype)));
}

/// Throws at once what each image would throw.
void check_normalisation(const CropStage& stage, const char* name) {
  if (stage.dtype == DType::uint8) return;
  const image::Image pixel{.width = 1, .height = 1, .channels = 3, .pixels = {0, 0, 0}};
  std::array<float, 3> row{};
  try {
    image::normalise(pixel, stage.target.normalisation, std::span<float>(row));
  } catch (const Error& error) {
    throw error.reworded(error.code(), fmt::format("{}: {}", name, error.message()));
  }
}

Json identity_of(const CropStage& stage) {
  const auto& [layout, mean, deviation] = stage.target.normalisation;
  return Json{stage.column,
              stage.target.width,
              stage.target.height,
              to_string(stage.dtype),
              OptionValue<image::Layout>::write(layout).text(),
              mean,
              deviation,
              stage.random.area_min,
              stage.random.area_max,
              stage.random.ratio_min,
              stage.random.ratio_max,
              stage.random.flip_probability,
              stage.share};
}

Elements applied(const Making& making, const CropStage& stage, const char* kind, auto function) {
  check_dtype(stage, kind);
  check_normalisation(stage, kind);
  const auto change = [&](const ColumnSchema& columns) {
    return changed(columns, stage.column, [&](ColumnType& type) {
      type = ColumnType{
          .name = stage.column, .dtype = stage.dtype, .shape = row_shape_of(stage.target)};
    });
  };
  return column_stage(making.input(), kind, identity_of(stage), std::move(function), stage.name,
                      change, stage.seed);
}

AddedStage<CropStage> with_target(AddedStage<CropStage> added) {
  added.required("column", &CropStage::column, "The column of JPEG or PNG files.")
      .reached<std::uint64_t>(
          "width", "Width of the result.", [](auto& stage) -> auto& { return stage.target.width; })
      .reached<std::uint64_t>(
          "height", "Height of the result.",
          [](auto& stage) -> auto& { return stage.target.height; })
      .option("dtype", &CropStage::dtype, "Numbers: 'float32', 'bfloat16', or 'uint8' as decoded.")
      .reached<image::Layout>(
          "layout", "Order of the axes.",
          [](auto& stage) -> auto& { return stage.target.normalisation.layout; })
      .reached<std::array<float, 3>>(
          "mean",
          "One number, or one for red, green and blue; subtracted from values between 0 and 1. The "
          "default is ImageNet's.",
          [](auto& stage) -> auto& { return stage.target.normalisation.mean; })
      .reached<std::array<float, 3>>(
          "deviation", "The same; divides them.",
          [](auto& stage) -> auto& { return stage.target.normalisation.deviation; });
  return added;
}

}  // namespace

void add_image_functions(StageTable& table) {
  with_target(table.add("random_resized_crop",
                        "Decodes images, crops them at random, resizes, flips and normalises them.",
                        CropStage{}))
      .reached<float>(
          "area_min", "Smallest share of the image's area.",
          [](auto& stage) -> auto& { return stage.random.area_min; })
      .reached<float>(
          "area_max", "Largest share of the image's area.",
          [](auto& stage) -> auto& { return stage.random.area_max; })
      .reached<float>(
          "ratio_min", "Smallest ratio of width to height.",
          [](auto& stage) -> auto& { return stage.random.ratio_min; })
      .reached<float>(
          "ratio_max", "Largest ratio of width to height.",
          [](auto& stage) -> auto& { return stage.random.ratio_max; })
      .reached<float>(
          "flip_probability", "How often it is flipped.",
          [](auto& stage) -> auto& { return stage.random.flip_probability; })
      .option("seed", &CropStage::seed, kSeedText)
      .makes([](const CropStage& stage, const Making& making) {
        const auto function = [stage, pool = one_block()](const ColumnBatch& batch, Rng& rng) {
          return filled_as(batch, stage, pool, [&](std::string_view bytes, auto row) {
            image::random_resized_crop(bytes, stage.target, rng, row, stage.random);
          });
        };
        return applied(making, stage, "random_resized_crop", function);
      });
  with_target(table.add("central_crop",
                        "Decodes images, and resizes and normalises their central crops.",
                        CropStage{}))
      .option("share", &CropStage::share, "Share of the largest crop's sides.")
      .makes([](const CropStage& stage, const Making& making) {
        const auto function = [stage, pool = one_block()](const ColumnBatch& batch) {
          return filled_as(batch, stage, pool, [&](std::string_view bytes, auto row) {
            image::central_crop(bytes, stage.target, row, stage.share);
          });
        };
        return applied(making, stage, "central_crop", function);
      });
}

}  // namespace infeed::describe
#else
namespace infeed::describe {

void add_image_functions(StageTable&) {}

}  // namespace infeed::describe
#endif
