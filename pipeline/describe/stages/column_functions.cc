#include <algorithm>

#include <infeed/pipeline/features.h>

#include "describe/stages/column_stage.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct SelectStage : StageOptions {
  std::vector<std::string> columns = {};
};
struct RenameStage : StageOptions {
  std::string from = {};
  std::string to = {};
};
struct FeaturesStage : FeaturesOptions {
  FeaturesStage() : FeaturesOptions{.parallelism = autotune} {}
  Features steps{};
};
struct CastStage : StageOptions {
  std::string column = {};
  DType dtype = DType::float32;
};
struct NormaliseStage : StageOptions {
  std::string column = {};
  std::vector<double> mean = {0.0};
  std::vector<double> deviation = {1.0};
};

/// Applies a function that takes every row alike and fails for none. Directly behind a source of rows
/// that is done to the batches that the source reads: row by row it would take 30 times as long.
template <class Function, class Change>
Elements whole_column_stage(const Elements& input, const std::string& kind, const Json& options,
                            const Function& function, const StageName& name, const Change& change) {
  Elements after = column_stage(input, kind, options, function, name, change);
  if (!input.batch_at_source) return after;
  const auto batches = [=, source = input.batch_at_source](const BatchRows& rows,
                                                           const ColumnSchema*) {
    const Elements read = batches_of(source(rows, nullptr));
    return column_stage(read, kind, options, function, name, change).batches(kind);
  };
  after.batch_at_source = batches;
  // Rows of arrays in memory, whose number is known, keep it.
  if (!input.node()->cardinality().is_finite()) after.dataset = rows_of_source(batches).dataset;
  return after;
}

/// Returns the columns that the operations make of these: those of a batch without rows. A column
/// that they leave as it is keeps its whole type.
ColumnSchema columns_after(const ColumnSchema& before, const Features& steps) {
  const ColumnBatch batch = batch_without_rows(before);
  const ColumnSchema read = columns_of(batch);
  const ColumnSchema written = columns_of(steps(batch));
  ColumnSchema after;
  for (const ColumnType& type : written.columns()) {
    const auto same = std::find(read.columns().begin(), read.columns().end(), type);
    const bool is_left = same != read.columns().end();
    after.add(is_left ? before.columns()[static_cast<std::size_t>(same - read.columns().begin())]
                      : type);
  }
  return after;
}

Elements with_features(const Elements& input, std::string_view stage, const Features& steps,
                       const FeaturesOptions& options) {
  Elements after{.dataset = input.batches(stage) | features(steps, options),
                 .are_rows = input.are_rows};
  if (input.columns) after.columns = columns_after(*input.columns, steps);
  return after;
}

/// Applies one operation, whose stage has a name of its own.
Elements with_feature(const Elements& input, std::string_view stage, feature::Step step,
                      const StageName& name) {
  return with_features(
      input, stage, Features({std::move(step)}),
      {.parallelism = autotune, .name = name ? name : StageName(std::string(stage))});
}

}  // namespace

template <>
struct OptionValue<Features> {
  static std::string type() { return "Sequence[Mapping[str, object]]"; }
  static JsonText write(const Features& value) {
    return JsonText(Json::parse(value.to_json()).at("features").dump());
  }
  static Features read(const JsonText& value, const std::string& place) {
    value.items(place);  // a list
    try {
      return Features::from_json("{\"features\": " + value.text() + "}");
    } catch (const Error& error) {
      throw Error(error.code(), place + ": " + error.message());
    }
  }
};

void add_column_functions(StageTable& table) {
  table.add("select", "Keeps these columns, in this order.", SelectStage{})
      .required("columns", &SelectStage::columns, "Their names.")
      .makes([](const SelectStage& stage, const Making& making) {
        const auto function = [columns = stage.columns](const ColumnBatch& batch) {
          return batch.select(columns);
        };
        const auto change = [columns = stage.columns](const ColumnSchema& schema) {
          return selected(schema, columns);
        };
        return whole_column_stage(making.input(), "select", Json{{"columns", stage.columns}},
                                  function, stage.name, change);
      });
  table.add("rename", "Gives a column another name.", RenameStage{})
      .required("from_name", &RenameStage::from, "Its name.")
      .required("to_name", &RenameStage::to, "The new name.")
      .makes([](const RenameStage& stage, const Making& making) {
        const auto function = [stage](const ColumnBatch& batch) {
          return batch.renamed(stage.from, stage.to);
        };
        const auto change = [stage](const ColumnSchema& schema) {
          return changed(schema, stage.from, [&](ColumnType& type) { type.name = stage.to; });
        };
        return whole_column_stage(making.input(), "rename", Json{{stage.from, stage.to}}, function,
                                  stage.name, change);
      });
  table
      .add("features",
           "Makes a model's inputs of columns: buckets of texts, places in a vocabulary, parts of "
           "texts, numbers in a range.",
           FeaturesStage{})
      .required("steps", &FeaturesStage::steps,
                "The operations, as in records/features.h: {'name': 'hash_buckets', 'column': "
                "'city', 'buckets': 1000}.")
      .tuned("parallelism", &FeaturesStage::parallelism, "Threads.")
      .makes([](const FeaturesStage& stage, const Making& making) {
        return with_features(making.input(), "features", stage.steps, stage);
      });
  table.add("cast", "Converts a column's items to another type.", CastStage{})
      .required("column", &CastStage::column, "Its name.")
      .required("dtype", &CastStage::dtype, "The type, as 'float32'.")
      .makes([](const CastStage& stage, const Making& making) {
        return with_feature(making.input(), "cast",
                            feature::Cast{.column = stage.column, .dtype = stage.dtype},
                            stage.name);
      });
  table
      .add("normalise", "Makes (value - mean) / deviation of a column's numbers.", NormaliseStage{})
      .required("column", &NormaliseStage::column, "Its name.")
      .option("mean", &NormaliseStage::mean, "One, or one for each number of an item's shape.")
      .option("deviation", &NormaliseStage::deviation, "The same.")
      .makes([](const NormaliseStage& stage, const Making& making) {
        return with_feature(
            making.input(), "normalise",
            feature::Normalise{
                .column = stage.column, .mean = stage.mean, .deviation = stage.deviation},
            stage.name);
      });
}

}  // namespace infeed::describe
