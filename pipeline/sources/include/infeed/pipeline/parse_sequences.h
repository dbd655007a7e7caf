#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/detail/expected_features.h>
#include <infeed/pipeline/detail/fill_sequences.h>
#include <infeed/pipeline/padded_batch.h>
#include <infeed/pipeline/ragged_batch.h>
#include <infeed/records/sequence_example_schema.h>

namespace infeed {

struct ParsePaddedBatchOptions {
  /// The most batches that are parsed at the same time. MapOptions::parallelism explains the
  /// values.
  Count parallelism = 1;
  bool drop_remainder = false;
  /// Mean the same as in PaddedBatchOptions. A sequence longer than its width is an error of its
  /// row.
  std::vector<std::int64_t> widths = {};
  double padding = 0;
  std::vector<double> paddings = {};
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Does parse and ragged_batch in one: it parses serialised Examples or SequenceExamples straight
/// into the columns of a batch, without a std::vector per row.
///
///     struct Clip { std::vector<std::vector<float>> boxes; std::int64_t label; };
///     void train(const infeed::SequenceExampleSchema<Clip>& schema) {
///       auto clips = infeed::records("clips-*.tfrecord") | infeed::parse_ragged_batch(schema, 32);
///       for (const infeed::RaggedBatch<Clip>& batch : clips.iterate()) {
///         const infeed::Ragged<std::vector<float>>& boxes = batch.column(&Clip::boxes);
///         use(boxes.values(), boxes.inner_splits(), boxes.row_splits());
///       }
///     }
///
/// Every member of the struct must be in the schema (ExampleSchema or SequenceExampleSchema). A
/// failed row is left out of its batch. One element's error before the batch names the first
/// failure and the number of failures. A vector's feature that none of the first records has is an
/// error, as with parse().
template <class Schema>
auto parse_ragged_batch(Schema schema, std::int64_t size, BatchIntoOptions options = {});

/// Does the same with padded_batch: the sequences of a batch are filled up to the same width, as
/// TensorFlow does with FixedLenSequenceFeatures.
///
///     struct Sentence { std::vector<std::int32_t> tokens; std::int64_t label; };
///     const auto schema = infeed::ExampleSchema<Sentence>()
///                             .feature("tokens", &Sentence::tokens)
///                             .feature("label", &Sentence::label);
///     infeed::records("text-*.tfrecord") | infeed::parse_padded_batch(schema, 32, {.padding = -1})
template <class Schema>
auto parse_padded_batch(Schema schema, std::int64_t size, ParsePaddedBatchOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T, std::size_t... I>
constexpr bool has_nested_sequences(std::index_sequence<I...>) {
  constexpr auto is_nested = []<class Field>(std::type_identity<Field>) {
    if constexpr (kIsSequenceField<Field>) {
      return kIsSequenceField<typename Field::value_type>;
    } else {
      return false;
    }
  };
  return (is_nested(std::type_identity<std::tuple_element_t<I, LeafTypes<T>>>()) || ...);
}

template <class Schema>
struct ParseRaggedBatchFactory {
  using ComposesAsStage = void;
  using T = typename RowOfSchema<Schema>::type;
  Schema schema;
  std::int64_t size;
  BatchIntoOptions options;

  template <class Element>
  Dataset<RaggedBatch<T>> operator()(const Dataset<Element>& input) const {
    static_assert(std::is_same_v<Element, Record>,
                  "infeed::parse_ragged_batch: the dataset's Element must be an infeed::Record, as "
                  "infeed::records() gives them; of a std::string make a struct by infeed::parse, "
                  "then infeed::ragged_batch");
    if constexpr (std::is_same_v<Element, Record>) {
      return batches(input);
    } else {
      return refused<RaggedBatch<T>>();
    }
  }

 private:
  Dataset<RaggedBatch<T>> batches(const Dataset<Record>& input) const {
    require_columns<T>();
    static_assert(field_count<T>() > 0 || has_no_columns<T>(),
                  "infeed::parse_ragged_batch: T must be a plain struct");
    constexpr std::string_view kName = "parse_ragged_batch";
    const std::size_t rows = checked_batch_size(kName, size, sizeof(T));
    FillSequences<Schema, Ragged> fill{schema, rows, columns_of_schema<T>(kName, schema)};
    for (PaddingOfField& field : fill.paddings) field.memory = options.memory;
    return fill_batches(expect_features(std::string(kName), schema, input), rows, std::move(fill),
                        std::string(kName), options);
  }
};

template <class Schema>
struct ParsePaddedBatchFactory {
  using ComposesAsStage = void;
  using T = typename RowOfSchema<Schema>::type;
  Schema schema;
  std::int64_t size;
  ParsePaddedBatchOptions options;

  template <class Element>
  Dataset<PaddedBatch<T>> operator()(const Dataset<Element>& input) const {
    static_assert(std::is_same_v<Element, Record>,
                  "infeed::parse_padded_batch: the dataset's Element must be an infeed::Record, as "
                  "infeed::records() gives them; of a std::string make a struct by infeed::parse, "
                  "then infeed::padded_batch");
    if constexpr (std::is_same_v<Element, Record>) {
      return batches(input);
    } else {
      return refused<PaddedBatch<T>>();
    }
  }

 private:
  Dataset<PaddedBatch<T>> batches(const Dataset<Record>& input) const {
    require_columns<T>();
    static_assert(field_count<T>() > 0 || has_no_columns<T>(),
                  "infeed::parse_padded_batch: T must be a plain struct");
    static_assert(
        !has_nested_sequences<T>(std::make_index_sequence<leaf_count<T>()>()),
        "infeed::parse_padded_batch: a member is a vector of vectors, which has no width; "
        "use infeed::parse_ragged_batch");
    constexpr std::string_view kName = "parse_padded_batch";
    const std::size_t rows = checked_batch_size(kName, size, sizeof(T));
    FillSequences<Schema, Padded> fill{schema, rows, columns_of_schema<T>(kName, schema)};
    fill.paddings = paddings_of<T>(kName, options);
    fill.has_widths = !options.widths.empty();
    fill.padding = padding_signature(options.widths, options.padding, options.paddings);
    return fill_batches(expect_features(std::string(kName), schema, input), rows, std::move(fill),
                        std::string(kName), options);
  }
};

}  // namespace detail

template <class Schema>
auto parse_ragged_batch(Schema schema, std::int64_t size, BatchIntoOptions options) {
  return detail::ParseRaggedBatchFactory<Schema>{std::move(schema), size, options};
}

template <class Schema>
auto parse_padded_batch(Schema schema, std::int64_t size, ParsePaddedBatchOptions options) {
  return detail::ParsePaddedBatchFactory<Schema>{std::move(schema), size, std::move(options)};
}

}  // namespace infeed
