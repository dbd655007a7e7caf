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
#include <infeed/pipeline/padded_batch.h>
#include <infeed/pipeline/ragged_batch.h>
#include <infeed/records/sequence_example_schema.h>

namespace infeed {

struct ParsePaddedBatchOptions {
  /// So many batches are parsed at the same time; MapOptions::parallelism explains the values.
  Count parallelism = 1;
  bool drop_remainder = false;
  /// They mean what they mean in PaddedBatchOptions. A sequence longer than its width is an error
  /// of its row.
  std::vector<std::int64_t> widths = {};
  double padding = 0;
  StageName name = {};  ///< as in StageOptions
};

/// Why: this is parse and ragged_batch in one: it parses serialised Examples or SequenceExamples
/// straight into the columns of a batch, without a std::vector a row between.
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
/// Every member of the struct must be in the schema (ExampleSchema or SequenceExampleSchema). A row
/// that fails is left out of its batch, and one element's error before the batch names the first
/// failure and how many there were. A vector's feature that none of the first records has is an
/// error, as with parse().
template <class Schema>
auto parse_ragged_batch(Schema schema, std::int64_t size, BatchIntoOptions options = {});

/// The same with padded_batch: sequences of one batch are filled up to the same width, as
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

template <class Schema>
struct RowOfSchema {
  static_assert(sizeof(Schema) == 0,
                "infeed: give an infeed::ExampleSchema or an infeed::SequenceExampleSchema");
};
template <class T>
struct RowOfSchema<ExampleSchema<T>> {
  using type = T;
};
template <class T>
struct RowOfSchema<SequenceExampleSchema<T>> {
  using type = T;
};

/// A column grows by doubling, which costs page faults; how many values the batch before had is a
/// good guess. One a column, shared by the threads that parse.
using SizeGuesses = std::array<std::atomic<std::size_t>, kFieldsMax>;

/// Fills SequenceBatch<T, Sequence> from Records, decoding values where they will stay.
template <class Schema, template <class> class Sequence>
struct FillSequences {
  using T = typename RowOfSchema<Schema>::type;
  using Filling = RowColumns<T>;
  using Result = SequenceBatch<T, Sequence>;

  Filling begin(std::size_t rows) const {
    Filling filling;
    std::size_t i = 0;
    const auto reserve = [&](auto& column) {
      const std::size_t guess = (*guesses)[i++].load(std::memory_order_relaxed);
      column.reserve(rows, guess + guess / 16);
    };
    std::apply([&](auto&... column) { (reserve(column), ...); }, filling);
    return filling;
  }
  void write_row(const Record& record, Filling& filling, std::size_t row) const {
    const auto all = std::apply(
        [](auto&... column) { return std::array<void*, sizeof...(column)>{&column...}; }, filling);
    std::array<void*, kFieldsMax> places;
    for (std::size_t i = 0; i < columns.size(); ++i) places[i] = all[columns[i]];
    const auto used = std::span<void* const>(places).first(columns.size());
    schema.append_row(record, row, used);
    if (has_widths) check_row(record, filling, row);
  }
  Result finish(Filling filling, std::size_t rows) const {
    if (rows == 0) return {};
    std::size_t i = 0;
    const auto remember = [&](const auto& column) {
      (*guesses)[i++].store(column.values.size(), std::memory_order_relaxed);
    };
    std::apply([&](const auto&... column) { (remember(column), ...); }, filling);
    return Result(std::move(filling), rows, paddings);
  }

  Schema schema;
  std::vector<std::size_t> columns;  ///< of the schema's features
  std::vector<PaddingOfField> paddings = std::vector<PaddingOfField>(kRowFields<T>);
  bool has_widths = false;
  std::shared_ptr<SizeGuesses> guesses = std::make_shared<SizeGuesses>();

 private:
  /// Takes the row back when one of its sequences is too long.
  void check_row(const Record& record, Filling& filling, std::size_t row) const {
    try {
      std::size_t i = 0;
      std::apply([&](const auto&... column) { (check_column(column, row, paddings[i++]), ...); },
                 filling);
    } catch (...) {
      std::apply([row](auto&... column) { (column.truncate(row), ...); }, filling);
      rethrow_with_place(record);
    }
  }
  template <class M>
  static void check_column(const RowColumn<M>& column, std::size_t row,
                           const PaddingOfField& padding) {
    if constexpr (kIsSequenceField<M>) {
      const auto splits = column.row_splits.values();
      const std::int64_t length = splits[row + 1] - splits[row];
      if (padding.width >= 0 && length > padding.width) {
        refuse_long_sequence("parse_padded_batch", static_cast<std::size_t>(length), padding.width);
      }
    }
  }
};

template <class T, std::size_t... I>
constexpr bool has_nested_sequences(std::index_sequence<I...>) {
  constexpr auto is_nested = []<class Field>(std::type_identity<Field>) {
    if constexpr (kIsSequenceField<Field>) {
      return kIsSequenceField<typename Field::value_type>;
    } else {
      return false;
    }
  };
  return (is_nested(std::type_identity<std::tuple_element_t<I, RowFields<T>>>()) || ...);
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
    FillSequences<Schema, Ragged> fill{schema, columns_of_schema<T>("parse_ragged_batch", schema)};
    return fill_batches<RaggedBatch<T>>(expect_features("parse_ragged_batch", schema, input), size,
                                        std::move(fill), "parse_ragged_batch",
                                        {.parallelism = options.parallelism,
                                         .drop_remainder = options.drop_remainder,
                                         .name = options.name});
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
        !has_nested_sequences<T>(std::make_index_sequence<kRowFields<T>>()),
        "infeed::parse_padded_batch: a member is a vector of vectors, which has no width; "
        "use infeed::parse_ragged_batch");
    FillSequences<Schema, Padded> fill{schema, columns_of_schema<T>("parse_padded_batch", schema)};
    fill.paddings =
        paddings_of({.widths = options.widths, .padding = options.padding}, sequence_fields<T>());
    fill.has_widths = !options.widths.empty();
    return fill_batches<PaddedBatch<T>>(expect_features("parse_padded_batch", schema, input), size,
                                        std::move(fill), "parse_padded_batch",
                                        {.parallelism = options.parallelism,
                                         .drop_remainder = options.drop_remainder,
                                         .name = options.name});
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
