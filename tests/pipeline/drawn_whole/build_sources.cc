#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <string_view>

#include <infeed/infeed.h>

#include "pipeline/drawn_whole/build.h"
#include "pipeline/drawn_whole/data_files.h"

namespace infeed::test {
namespace {

AnyDataset integer_range(const Step& step, const Surroundings&) {
  return range(step.at("start"), step.at("start") + step.at("count") * 3, 3);
}

AnyDataset endless_counter(const Step& step, const Surroundings&) {
  return counter(step.at("start"));
}

AnyDataset drawn_integers(const Step& step, const Surroundings&) {
  return random_integers(
      {.seed = seed_of(step), .rerandomize_each_iteration = step.is_set("reshuffle")});
}

/// Some of its elements fail.
AnyDataset generated(const Step& step, const Surroundings&) {
  return generate([count = step.at("count"), modulus = step.at("modulus")](std::uint64_t pass) {
    return [=, i = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
      if (i == count) return std::nullopt;
      const std::int64_t x = i++;
      if (x % modulus == 3) throw std::runtime_error(fmt::format("element {} is broken", x));
      return x * 7 + static_cast<std::int64_t>(pass);
    };
  });
}

AnyDataset sliced(const Step& step, const Surroundings&) {
  const std::int64_t count = step.at("count");
  if (step.at("kind") == 0) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(i * i);
    return slices(std::move(values));
  }
  if (step.at("kind") == 1) {
    std::vector<std::string> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(std::string(static_cast<std::size_t>(i * i % step.at("text_bytes")), 'x') +
                       std::to_string(i));
    }
    return slices(std::move(values));
  }
  std::vector<Sentence> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto tokens = static_cast<std::size_t>(i * 5 % 11);
    values.push_back({std::vector<std::int32_t>(tokens, static_cast<std::int32_t>(i)), i,
                      std::string(static_cast<std::size_t>(i % 40), 'y')});
  }
  return slices(std::move(values));
}

RecordsOptions records_options(const Step& step, const Surroundings& surroundings) {
  RecordsOptions options;
  options.parallelism = surroundings.parallelism(step);
  options.damage =
      step.is_set("resynchronise") ? DamagePolicy::skip_and_resynchronise : DamagePolicy::fail;
  if (step.at("packing") == 2) options.compression = Compression::zlib;
  if (step.is_set("block_bytes")) options.block_bytes = step.at("block_bytes");
  if (step.is_set("read_ahead_bytes")) options.read_ahead_bytes = step.at("read_ahead_bytes");
  options.map_files = step.is_set("map_files");
  return options;
}

AnyDataset record_source(const Step& step, const Surroundings& surroundings) {
  const std::vector<std::string> names = record_files(surroundings.folder, step);
  return records(names, records_options(step, surroundings));
}

AnyDataset indexed_source(const Step& step, const Surroundings& surroundings) {
  return indexed_records(record_files(surroundings.folder, step));
}

/// As tutorials read many files.
AnyDataset interleaved_source(const Step& step, const Surroundings& surroundings) {
  const auto open = [options = records_options(step, surroundings), inner = step.inputs.front(),
                     surroundings](const std::string& file) {
    AnyDataset dataset = extend(records({file}, options), inner, surroundings);
    return std::get<Dataset<Record>>(std::move(dataset));
  };
  FilesOptions order{.shuffle = step.is_set("shuffle"), .seed = seed_of(step)};
  if (!order.shuffle) order.seed = std::nullopt;
  InterleaveOptions options{
      .cycle_length = step.at("cycle_length"),
      .block_length = step.at("block_length"),
      .parallelism = surroundings.is_serial ? 1 : static_cast<int>(step.at("readers"))};
  options.ordered = step.get("ordered", 1) != 0 || surroundings.is_serial;
  return files(record_files(surroundings.folder, step), order) | interleave(open, options);
}

AnyDataset file_names(const Step& step, const Surroundings&) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < step.at("count"); ++i) names.push_back(fmt::format("name-{}", i));
  FilesOptions options{.shuffle = step.is_set("shuffle"),
                       .seed = step.is_set("shuffle") ? seed_of(step) : std::nullopt};
  options.reshuffle_each_iteration = step.is_set("reshuffle");
  return files(std::move(names), options);
}

AnyDataset line_source(const Step& step, const Surroundings& surroundings) {
  return lines(text_files(surroundings.folder, step));
}

AnyDataset csv_source(const Step& step, const Surroundings& surroundings) {
  CsvSourceOptions options{.parallelism = surroundings.parallelism(step)};
  options.format.bad_rows = step.is_set("leave_out") ? BadRows::leave_out : BadRows::fail;
  options.drop_remainder = step.is_set("drop_remainder");
  return csv(csv_files(surroundings.folder, step), csv_columns(), step.at("size"), options);
}

AnyDataset json_source(const Step& step, const Surroundings& surroundings) {
  JsonLinesSourceOptions options{.parallelism = surroundings.parallelism(step)};
  options.format.bad_rows = step.is_set("leave_out") ? BadRows::leave_out : BadRows::fail;
  options.drop_remainder = step.is_set("drop_remainder");
  return json_lines(json_files(surroundings.folder, step), json_columns(), step.at("size"),
                    options);
}

AnyDataset fixed_source(const Step& step, const Surroundings& surroundings) {
  return fixed_length_records(fixed_files(surroundings.folder, step), 16);
}

AnyDataset npy_source(const Step& step, const Surroundings& surroundings) {
  NpySourceOptions options{.memory =
                               step.is_set("mapped") ? ArrayMemory::mapped : ArrayMemory::copied};
  options.drop_remainder = step.is_set("drop_remainder");
  return npy(npy_files(surroundings.folder, step), step.at("size"), options);
}

AnyDataset tar_source(const Step& step, const Surroundings& surroundings) {
  return tar(tar_files(surroundings.folder, step)) | map([](const TarSample& sample) {
           std::string all = sample.key;
           for (const TarField& field : sample.fields) {
             all += field.extension + std::string(field.content.bytes());
           }
           return all;
         });
}

AnyDataset folder_source(const Step& step, const Surroundings& surroundings) {
  return folder(class_folder(surroundings.folder, step),
                {.parallelism = surroundings.parallelism(step)}) |
         map([](const LabeledFile& file) {
           return fmt::format("{} {} {}", file.name, file.label, file.content.bytes());
         });
}

AnyDataset column_source(const Step& step, const Surroundings&) {
  const std::int64_t rows = step.at("rows");
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < rows; ++i) {
    numbers.push_back(i);
    texts.push_back(std::string(static_cast<std::size_t>(i % 23), 'z'));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const ColumnBatch all(std::vector<NamedColumn>{
      {"number", Column::dense(Tensor::copy_of({rows}, std::span<const std::int64_t>(numbers)))},
      {"text", Column::of_bytes(std::span<const std::string_view>(views))}});
  return from_columns(all, step.at("size"), {.drop_remainder = step.is_set("drop_remainder")});
}

using BuildSource = AnyDataset (*)(const Step&, const Surroundings&);
const std::map<std::string_view, BuildSource>& sources() {
  static const std::map<std::string_view, BuildSource> kSources = {
      {"range", &integer_range},
      {"counter", &endless_counter},
      {"random_integers", &drawn_integers},
      {"generate", &generated},
      {"slices", &sliced},
      {"records", &record_source},
      {"indexed_records", &indexed_source},
      {"interleaved_records", &interleaved_source},
      {"files", &file_names},
      {"lines", &line_source},
      {"csv", &csv_source},
      {"json_lines", &json_source},
      {"fixed_length_records", &fixed_source},
      {"npy", &npy_source},
      {"tar", &tar_source},
      {"folder", &folder_source},
      {"from_columns", &column_source},
  };
  return kSources;
}

}  // namespace

bool is_source(const Step& step) { return sources().contains(step.op); }

AnyDataset build_source(const Step& step, const Surroundings& surroundings) {
  return sources().at(step.op)(step, surroundings);
}

}  // namespace infeed::test
