#pragma once

#include <string>
#include <utility>

#include <infeed/pipeline/detail/expected_features.h>
#include <infeed/pipeline/map.h>
#include <infeed/records/example_schema.h>
#include <infeed/records/sequence_example_schema.h>

namespace infeed {

struct ParseOptions {
  /// The most records that are parsed at the same time; with 1 the pulling thread parses.
  Count parallelism = 1;
  /// If true, parallel elements come in the input's order; if false, as they are ready.
  bool ordered = true;
  StageName name = {};  ///< as in StageOptions
};

/// Why: records hold serialised tf.train.Examples. This makes your structs straight from their
/// bytes.
///
///     const auto schema = infeed::ExampleSchema<Sample>()
///                             .feature("image", &Sample::image)
///                             .feature("label", &Sample::label);
///     infeed::records("train-*.tfrecord")
///         | infeed::parse<Sample>(schema, {.parallelism = infeed::autotune})
///
/// A record that doesn't fit the schema is an element's error, in its place, that names feature,
/// file, offset and record.
///
/// A vector member is empty if its record lacks the feature. If none of the first 1,000 records of
/// a pass has the feature (or none of all, if there are fewer), its name is probably misspelt. Then
/// a terminal error (invalid_argument) follows these records and lists the names that they have. It
/// doesn't depend on threads or on where a run was resumed. If the feature may be missing
/// everywhere, give a default, or make the member a std::optional:
///
///     infeed::ExampleSchema<Sample>().feature("tags", &Sample::tags, {})
///
/// A feature with an empty list counts as present. Each inner dataset of interleave or flat_map has
/// its own passes. A pass isn't checked if more than 4,000 of its records are skipped after a stage
/// that isn't a source (parse | skip(100'000) after a shuffle). The same holds for parse_batch,
/// parse_ragged_batch and parse_padded_batch.
///
/// Members of type Record point into the record's block: nothing is copied.
template <class T>
auto parse(ExampleSchema<T> schema, ParseOptions options = {});

/// Parses tf.train.SequenceExamples in the same way.
template <class T>
auto parse(SequenceExampleSchema<T> schema, ParseOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T, class Schema>
struct ParseFunction {
  Schema schema;
  T operator()(const Record& record) const { return schema.parse(record); }
  T operator()(const std::string& example) const { return schema.parse(example); }
};

template <class T, class Schema>
struct ParseStageFactory {
  using ComposesAsStage = void;
  Schema schema;
  ParseOptions options;

  template <class Element>
  Dataset<T> operator()(const Dataset<Element>& input) const {
    constexpr bool kIsSerialised =
        std::is_same_v<Element, Record> || std::is_same_v<Element, std::string>;
    static_assert(kIsSerialised,
                  "infeed::parse: the dataset's Element must be a serialised tf.train.Example, an "
                  "infeed::Record or a std::string");
    if constexpr (kIsSerialised) {
      ElementwiseSpec spec{.name = "parse", .signature = signature(), .out_type = &type_info<T>()};
      spec.kernel = &map_kernel<Element, ParseFunction<T, Schema>>;
      spec.function = share_function(ParseFunction<T, Schema>{schema});
      spec.has_parallelism = true;
      spec.parallelism = options.parallelism;
      spec.ordered = options.ordered;
      return Dataset<T>(
          make_elementwise(std::move(spec), expect_features("parse", schema, input).node()));
    } else {
      return refused<T>();
    }
  }

 private:
  std::string signature() const {
    std::string names;
    for (const std::string& name : schema.names()) names += (names.empty() ? "" : ", ") + name;
    return "parse(" + names + ")";
  }
};

}  // namespace detail

template <class T>
auto parse(ExampleSchema<T> schema, ParseOptions options) {
  return named_stage(options.name,
                     detail::ParseStageFactory<T, ExampleSchema<T>>{std::move(schema), options});
}

template <class T>
auto parse(SequenceExampleSchema<T> schema, ParseOptions options) {
  return named_stage(options.name, detail::ParseStageFactory<T, SequenceExampleSchema<T>>{
                                       std::move(schema), options});
}

}  // namespace infeed
