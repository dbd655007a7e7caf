#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/detail/element_call.h>
#include <infeed/pipeline/detail/expected_features.h>
#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/records/example_schema.h>

namespace infeed {

/// One row of a batch in the making: references to the row's places in the columns. Places of
/// trivial types hold arbitrary bytes: assign every one.
template <class T>
class Row {
 public:
  Row(const detail::BatchReference& storage, std::size_t index)
      : storage_(storage), index_(index) {}

  /// Returns a place as Batch::column does: row.column(&Sample::camera, &Camera::iso) = 100.
  template <class Member, class Owner, class... Inner>
  auto& column(Member Owner::*member, Inner... inner) const {
    static_assert(std::is_same_v<Owner, T>, "infeed::Row: the member belongs to another struct");
    static_assert(detail::field_count<T>() > 0,
                  "infeed::Row: only a plain struct of up to 64 members has a column for each; "
                  "this row is one whole object: use value()");
    using Value = detail::MemberAt<T, Member Owner::*, Inner...>;
    void* const values = storage_.column(detail::column_index<T>(member, inner...));
    return static_cast<Value*>(values)[index_];
  }
  /// Returns the row's place in column I. Use it for tuples.
  template <std::size_t I>
  auto& column() const {
    using Value = std::tuple_element_t<I, detail::LeafTypes<T>>;
    return static_cast<Value*>(storage_.column(I))[index_];
  }
  /// Returns the whole row of a batch that has one column: of numbers, arrays, strings.
  T& value() const requires(detail::field_count<T>() == 0) {
    return static_cast<T*>(storage_.column(0))[index_];
  }
  std::size_t index() const { return index_; }

 private:
  const detail::BatchReference& storage_;
  std::size_t index_;
};

struct BatchIntoOptions {
  /// Number of the stage's own threads that fill batches. With 1 the pulling thread fills them.
  /// With more it helps when it finds no batch ready. autotune takes as many as there are usable
  /// cores: give a number if the function waits rather than computes.
  Count parallelism = 1;
  bool drop_remainder = false;
  /// Keys the Rng of a function that takes one, as MapOptions::seed does.
  std::optional<std::uint64_t> seed = std::nullopt;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Does map and batch in one: the function writes its result straight into the batch's columns.
/// This saves two copies of every element, which counts for images.
///
///     records | infeed::batch_into<Sample>(
///                   1024, [](const infeed::Record& record, const infeed::Row<Sample>& row) {
///                     decode(record, row.column(&Sample::image));
///                     row.column(&Sample::label) = label_of(record);
///                   })
///
/// A function that takes an infeed::Rng& as its last argument gets a generator keyed by (seed,
/// epoch, the element's position in the stream), as in map. So random augmentation is the same at
/// any number of threads and after any resume.
///
/// A failed row is left out of its batch. One error before the batch names the first failure and
/// the number of failures. `size` means the same as in batch().
template <class Out, class F>
auto batch_into(std::int64_t size, F function, BatchIntoOptions options = {});

/// Parses serialised Examples straight into the columns of a batch: the fastest way from records to
/// a step. Every member of the struct must be in the schema.
///
///     infeed::records("train-*.tfrecord")
///         | infeed::parse_batch(schema, 1024, {.parallelism = infeed::autotune})
template <class T>
auto parse_batch(ExampleSchema<T> schema, std::int64_t size, BatchIntoOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class Out, class F>
struct BatchIntoFactory {
  using ComposesAsStage = void;
  std::int64_t size;
  std::shared_ptr<const F> function;
  BatchIntoOptions options;

  template <class Element>
  Dataset<Batch<Out>> operator()(const Dataset<Element>& input) const {
    constexpr bool kIsPlain = kCallable<F, const Element&, const Row<Out>&>;
    constexpr bool kTakesRow = takes_row<Element, kIsPlain>();
    require_columns<Out>();
    static_assert(kTakesRow,
                  "infeed::batch_into: the function can't be called as const with the dataset's "
                  "Element and the row: it takes (const Element&, const infeed::Row<Out>&), and "
                  "may take an infeed::Rng& behind them");
    static_assert(!kTakesRow || kIsRowInput<Element>,
                  "infeed::batch_into: the dataset's Element must be a number, a string, an "
                  "infeed::Record, a std::array or a class with constructors: map structs first");
    if constexpr (kIsPlain && kIsRowInput<Element>) {
      const auto write = [call = function](const Element& element, const BatchReference& batch,
                                           std::size_t row) {
        (*call)(element, Row<Out>(batch, row));
      };
      return fill_columns<Out>(input, size, write, "batch_into", options);
    } else if constexpr (kTakesRow && kIsRowInput<Element>) {
      const auto write = [call = function](const Element& element, const BatchReference& batch,
                                           std::size_t row, Rng& rng) {
        (*call)(element, Row<Out>(batch, row), rng);
      };
      return fill_columns<Out>(input, size, write, "batch_into", options,
                               given_or_random(options.seed));
    } else {
      return refused<Batch<Out>>();
    }
  }

 private:
  /// Returns true if the function takes a row without an Rng. A template may accept an Rng with any
  /// type, so a function that needs no Rng isn't tested with one.
  template <class Element, bool kIsPlain>
  static constexpr bool takes_row() {
    if constexpr (kIsPlain) {
      return true;
    } else {
      return kCallable<F, const Element&, const Row<Out>&, Rng&>;
    }
  }
};

template <class T>
struct ParseBatchFactory {
  using ComposesAsStage = void;
  ExampleSchema<T> schema;
  std::int64_t size;
  BatchIntoOptions options;

  template <class Element>
  Dataset<Batch<T>> operator()(const Dataset<Element>& input) const {
    static_assert(std::is_same_v<Element, Record>,
                  "infeed::parse_batch: the dataset's Element must be an infeed::Record, as "
                  "infeed::records() gives them; of a std::string make a struct by infeed::parse, "
                  "then infeed::batch");
    if constexpr (std::is_same_v<Element, Record>) {
      return batches(input);
    } else {
      return refused<Batch<T>>();
    }
  }

 private:
  Dataset<Batch<T>> batches(const Dataset<Record>& input) const {
    require_columns<T>();
    static_assert(field_count<T>() > 0 || has_no_columns<T>(),
                  "infeed::parse_batch: T must be a plain struct");
    const auto write = [schema = schema, columns = columns_of_schema<T>("parse_batch", schema)](
                           const Record& record, const BatchReference& batch, std::size_t row,
                           LateCopy* late) {
      std::array<void*, leaf_count<T>()> places;
      for (std::size_t i = 0; i < columns.size(); ++i) places[i] = batch.column(columns[i]);
      schema.parse_row(record, row, std::span(places).first(columns.size()), late);
    };
    return fill_columns<T>(expect_features("parse_batch", schema, input), size, write,
                           "parse_batch", options);
  }
};

}  // namespace detail

template <class Out, class F>
auto batch_into(std::int64_t size, F function, BatchIntoOptions options) {
  return detail::BatchIntoFactory<Out, F>{size, std::make_shared<const F>(std::move(function)),
                                          options};
}

template <class T>
auto parse_batch(ExampleSchema<T> schema, std::int64_t size, BatchIntoOptions options) {
  return detail::ParseBatchFactory<T>{std::move(schema), size, options};
}

}  // namespace infeed
