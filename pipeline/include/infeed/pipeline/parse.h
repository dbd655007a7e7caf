#pragma once

#include <string>
#include <utility>

#include <infeed/pipeline/map.h>
#include <infeed/records/example_schema.h>
#include <infeed/records/sequence_example_schema.h>

namespace infeed {

struct ParseOptions {
  /// As of map: records parsed at the same time; 1: in the thread that pulls.
  int parallelism = 1;
  /// With parallelism: in the input's order (default), or whatever is ready.
  bool ordered = true;
};

namespace detail {

template <class T, class Schema>
struct ParseFunction {
  Schema schema;
  T operator()(const Record& record) const { return schema.parse(record); }
  T operator()(const std::string& example) const { return schema.parse(example); }
};

template <class T, class Schema>
struct ParseStageFactory {
  Schema schema;
  ParseOptions options;

  template <class In>
  Dataset<T> operator()(Dataset<In> input) const {
    static_assert(std::is_same_v<In, Record> || std::is_same_v<In, std::string>,
                  "infeed::parse: the elements must be serialised Examples: Record or std::string");
    ElementwiseSpec spec{.name = "parse", .signature = signature(), .out_type = &type_info<T>()};
    spec.kernel = &map_kernel<In, ParseFunction<T, Schema>>;
    spec.function = share_function(ParseFunction<T, Schema>{schema});
    spec.parallelism = options.parallelism;
    spec.ordered = options.ordered;
    return Dataset<T>(make_elementwise(std::move(spec), input.node()));
  }

 private:
  std::string signature() const {
    std::string names;
    for (const std::string& name : schema.names()) names += (names.empty() ? "" : ", ") + name;
    return "parse(" + names + ")";
  }
};

}  // namespace detail

/// Why: records hold serialised tf.train.Examples; this makes your structs of them, directly from
/// the bytes.
///
///     const auto schema = infeed::ExampleSchema<Sample>()
///                             .feature("image", &Sample::image)
///                             .feature("label", &Sample::label);
///     infeed::records("train-*.tfrecord") | infeed::parse<Sample>(schema, {.parallelism =
///     infeed::autotune})
///
/// A record that does not fit the schema is an error in its place that names feature, file, offset
/// and record. Members of type Record point into the record's block: nothing is copied.
template <class T>
auto parse(ExampleSchema<T> schema, ParseOptions options = {}) {
  return detail::ParseStageFactory<T, ExampleSchema<T>>{std::move(schema), options};
}
/// The same for tf.train.SequenceExamples.
template <class T>
auto parse(SequenceExampleSchema<T> schema, ParseOptions options = {}) {
  return detail::ParseStageFactory<T, SequenceExampleSchema<T>>{std::move(schema), options};
}

}  // namespace infeed
