#include <map>
#include <stdexcept>
#include <string_view>

#include <infeed/infeed.h>

#include "pipeline/drawn_whole/build.h"
#include "pipeline/drawn_whole/data_files.h"

namespace infeed::test {
namespace {

template <class T>
const Dataset<T>& typed(const AnyDataset& dataset, const Step& step) {
  if (const auto* const found = std::get_if<Dataset<T>>(&dataset)) return *found;
  throw std::logic_error(step.op + " doesn't take these elements");
}

BatchIntoOptions fill_options(const Step& step, const Surroundings& surroundings) {
  BatchIntoOptions options{.parallelism = surroundings.parallelism(step)};
  options.drop_remainder = step.is_set("drop_remainder");
  const std::int64_t seed = step.get("seed", 0);
  if (seed != 0) options.seed = static_cast<std::uint64_t>(seed);
  return options;
}

// --- From records

AnyDataset parsed(const AnyDataset& input, const Step& step, const Surroundings& surroundings) {
  return typed<Record>(input, step) |
         parse<Sentence>(sentence_schema(), {.parallelism = surroundings.parallelism(step)});
}

AnyDataset parsed_batches(const AnyDataset& input, const Step& step,
                          const Surroundings& surroundings) {
  return typed<Record>(input, step) |
         parse_batch(sample_schema(), step.at("size"), fill_options(step, surroundings));
}

AnyDataset parsed_columns(const AnyDataset& input, const Step& step,
                          const Surroundings& surroundings) {
  return typed<Record>(input, step) |
         parse_columns(example_columns(step.at("columns")), step.at("size"),
                       fill_options(step, surroundings));
}

AnyDataset parsed_ragged(const AnyDataset& input, const Step& step,
                         const Surroundings& surroundings) {
  return typed<Record>(input, step) |
         parse_ragged_batch(sentence_schema(), step.at("size"), fill_options(step, surroundings));
}

AnyDataset parsed_padded(const AnyDataset& input, const Step& step,
                         const Surroundings& surroundings) {
  ParsePaddedBatchOptions options{.parallelism = surroundings.parallelism(step)};
  options.drop_remainder = step.is_set("drop_remainder");
  if (step.is_set("width")) options.widths = {step.at("width")};
  return typed<Record>(input, step) |
         parse_padded_batch(sentence_schema(), step.at("size"), options);
}

/// A user's function fills the row, and fails for some.
AnyDataset filled_from_records(const AnyDataset& input, const Step& step,
                               const Surroundings& surroundings) {
  const auto fill = [](const Record& record, const Row<Sample>& row) {
    const std::uint64_t content = content_of(record);
    if (content % 61 == 5) throw std::runtime_error("the row refuses");
    row.column(&Sample::values).fill(static_cast<float>(content % 1000));
    row.column(&Sample::number) = static_cast<std::int64_t>(record.size());
  };
  return typed<Record>(input, step) |
         batch_into<Sample>(step.at("size"), fill, fill_options(step, surroundings));
}

// --- From integers, sentences and numbers

AnyDataset batches(const AnyDataset& input, const Step& step, const Surroundings&) {
  return typed<std::int64_t>(input, step) |
         batch(step.at("size"), {.drop_remainder = step.is_set("drop_remainder")});
}

AnyDataset filled_at_random(const AnyDataset& input, const Step& step,
                            const Surroundings& surroundings) {
  const auto fill = [](std::int64_t x, const Row<Sample>& row, Rng& rng) {
    if (x % 53 == 9) throw std::runtime_error("the row refuses");
    row.column(&Sample::values).fill(rng.uniform());
    row.column(&Sample::number) = x;
  };
  return typed<std::int64_t>(input, step) |
         batch_into<Sample>(step.at("size"), fill, fill_options(step, surroundings));
}

AnyDataset ragged_batches(const AnyDataset& input, const Step& step, const Surroundings&) {
  return typed<Sentence>(input, step) |
         ragged_batch(step.at("size"), {.drop_remainder = step.is_set("drop_remainder")});
}

AnyDataset padded_batches(const AnyDataset& input, const Step& step, const Surroundings&) {
  PaddedBatchOptions options;
  if (step.is_set("width")) options.widths = {step.at("width")};
  options.drop_remainder = step.is_set("drop_remainder");
  return typed<Sentence>(input, step) | padded_batch(step.at("size"), options);
}

AnyDataset buckets(const AnyDataset& input, const Step& step, const Surroundings&) {
  const std::int64_t size = step.at("size");
  BucketOptions options{.boundaries = {4, 9}, .batch_sizes = {2 * size, size, 1}};
  options.drop_remainder = step.is_set("drop_remainder");
  const auto length = [](const Sentence& sentence) { return sentence.tokens.size(); };
  const auto& sentences = typed<Sentence>(input, step);
  if (step.is_set("ragged")) {
    return sentences | bucket_by_sequence_length<Ragged>(length, options);
  }
  options.pad_to_boundary = step.is_set("pad_to_boundary");
  return sentences | bucket_by_sequence_length(length, options);
}

AnyDataset windows(const AnyDataset& input, const Step& step, const Surroundings&) {
  return typed<std::int64_t>(input, step) |
         window({.size = step.at("size"),
                 .shift = step.at("shift"),
                 .stride = step.at("stride"),
                 .drop_remainder = step.is_set("drop_remainder")});
}

AnyDataset packed(const AnyDataset& input, const Step& step, const Surroundings&) {
  PackOptions options{.length = step.at("length"), .window = step.at("window")};
  options.too_long = static_cast<PackOptions::TooLong>(step.at("too_long"));
  options.drop_remainder = step.is_set("drop_remainder");
  if (std::holds_alternative<Dataset<ColumnBatch>>(input)) {
    options.columns = {{.name = "tokens"}};
    return typed<ColumnBatch>(input, step) | pack(step.at("size"), options);
  }
  options.columns = {{.name = "numbers"}};
  return typed<Numbers>(input, step) | pack(step.at("size"), options);
}

// --- From batches

AnyDataset as_column_batches(const AnyDataset& input, const Step& step, const Surroundings&) {
  if (std::holds_alternative<Dataset<Batch<Sample>>>(input)) {
    return typed<Batch<Sample>>(input, step) | map([](const Batch<Sample>& batch) {
             return as_columns(batch, {"values", "number"});
           });
  }
  const std::vector<std::string> names = {"tokens", "number", "text"};
  if (std::holds_alternative<Dataset<RaggedBatch<Sentence>>>(input)) {
    return typed<RaggedBatch<Sentence>>(input, step) |
           map([names](const RaggedBatch<Sentence>& batch) { return as_columns(batch, names); });
  }
  return typed<PaddedBatch<Sentence>>(input, step) |
         map([names](const PaddedBatch<Sentence>& batch) { return as_columns(batch, names); });
}

AnyDataset unbatched(const AnyDataset& input, const Step& step, const Surroundings&) {
  switch (kind_of(input)) {
    case Kind::numbers:
      return typed<Numbers>(input, step) | unbatch();
    case Kind::integers:
      return typed<Batch<std::int64_t>>(input, step) | unbatch();
    case Kind::samples:
      return typed<Batch<Sample>>(input, step) | unbatch() |
             map([](const Sample& sample) { return sample.number; });
    case Kind::ragged:
      return typed<RaggedBatch<Sentence>>(input, step) | unbatch();
    case Kind::padded:
      return typed<PaddedBatch<Sentence>>(input, step) | unbatch();
    default:
      return typed<ColumnBatch>(input, step) | unbatch();
  }
}

template <class T>
AnyDataset rebatched_as(const AnyDataset& input, const Step& step) {
  const std::int64_t size = step.at("size");
  return typed<T>(input, step) |
         rebatch({size, size + 1, 1}, {.drop_remainder = step.is_set("drop_remainder")});
}

AnyDataset rebatched(const AnyDataset& input, const Step& step, const Surroundings&) {
  switch (kind_of(input)) {
    case Kind::integers:
      return rebatched_as<Batch<std::int64_t>>(input, step);
    case Kind::samples:
      return rebatched_as<Batch<Sample>>(input, step);
    case Kind::ragged:
      return rebatched_as<RaggedBatch<Sentence>>(input, step);
    case Kind::padded:
      return rebatched_as<PaddedBatch<Sentence>>(input, step);
    default:
      return rebatched_as<ColumnBatch>(input, step);
  }
}

using AddBatching = AnyDataset (*)(const AnyDataset&, const Step&, const Surroundings&);
const std::map<std::string_view, AddBatching>& stages() {
  static const std::map<std::string_view, AddBatching> kStages = {
      {"parse", &parsed},
      {"parse_batch", &parsed_batches},
      {"parse_columns", &parsed_columns},
      {"parse_ragged_batch", &parsed_ragged},
      {"parse_padded_batch", &parsed_padded},
      {"record_batch_into", &filled_from_records},
      {"batch", &batches},
      {"batch_into", &filled_at_random},
      {"ragged_batch", &ragged_batches},
      {"padded_batch", &padded_batches},
      {"bucket", &buckets},
      {"window", &windows},
      {"pack", &packed},
      {"as_columns", &as_column_batches},
      {"unbatch", &unbatched},
      {"rebatch", &rebatched},
  };
  return kStages;
}

}  // namespace

bool is_batching(const Step& step) { return stages().contains(step.op); }

AnyDataset add_batching(const AnyDataset& dataset, const Step& step,
                        const Surroundings& surroundings) {
  return stages().at(step.op)(dataset, step, surroundings);
}

}  // namespace infeed::test
