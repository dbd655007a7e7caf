#include <fmt/format.h>
#include <numeric>
#include <set>
#include <span>
#include <string>

#include <infeed/pipeline/choose_from_datasets.h>
#include <infeed/pipeline/concatenate.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/sample_from_datasets.h>
#include <infeed/pipeline/zip.h>

#include "describe/json.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {

template <>
struct EnumNames<WeightChange> {
  static constexpr std::pair<WeightChange, std::string_view> kNames[] = {
      {WeightChange::linear, "linear"}, {WeightChange::at_once, "at_once"}};
};

/// Also reads the pair [draw, weights].
template <>
struct OptionValue<WeightsAt> {
  static std::string type() { return "tuple[int, Sequence[float]]"; }
  static JsonText write(const WeightsAt& point) {
    return text_of(Json{{"draw", point.draw.value()}, {"weights", point.weights}});
  }
  static WeightsAt read(const JsonText& value, const std::string& place) {
    Json json = parsed(value);
    if (json.is_array() && json.size() == 2) json = Json{{"draw", json[0]}, {"weights", json[1]}};
    if (!json.is_object() || json.size() != 2 || !json.contains("draw") ||
        !json.contains("weights")) {
      refuse_value(place, value, "{\"draw\": 1000, \"weights\": [0.5, 0.5]}");
    }
    return {OptionValue<Count>::read(text_of(json["draw"]), place + ".draw"),
            OptionValue<std::vector<double>>::read(text_of(json["weights"]), place + ".weights")};
  }
};

/// The size of an element, of which the weights are shares.
enum class WeighBy : std::uint8_t { elements, bytes, rows, items };

template <>
struct EnumNames<WeighBy> {
  static constexpr std::pair<WeighBy, std::string_view> kNames[] = {{WeighBy::elements, "elements"},
                                                                    {WeighBy::bytes, "bytes"},
                                                                    {WeighBy::rows, "rows"},
                                                                    {WeighBy::items, "items"}};
};

namespace {

struct SampleStage : SampleOptions {
  WeighBy weigh_by = WeighBy::elements;
  std::string column = {};
};

struct ConcatenateStage : StageOptions {};
struct ZipStage : StageOptions {};

/// Throws unless all inputs have elements of the first one's kind and columns.
void check_alike(std::span<const Elements> inputs, std::string_view stage) {
  const Elements& first = inputs.front();
  for (const Elements& other : inputs) {
    if (other.kind() != first.kind() || other.to_parse != first.to_parse) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: its inputs give elements of the kinds '{}' and '{}'{}: make them "
                      "alike",
                      stage, to_string(first.kind()), to_string(other.kind()),
                      other.kind() == first.kind() ? " of different schemas" : ""));
    }
  }
}

/// Returns the elements with another dataset of their kind.
Elements of_kind(const Elements& like, AnyDataset dataset) {
  return Elements{.dataset = std::move(dataset),
                  .to_parse = like.to_parse,
                  .kept = like.kept,
                  .are_rows = like.are_rows,
                  .files = like.files,
                  .columns = like.columns};
}

Elements concatenated(const ConcatenateStage& stage, const Making& making) {
  check_alike(making.inputs, "concatenate");
  AnyDataset all = making.input().dataset;
  for (std::size_t i = 1; i < making.inputs.size(); ++i) {
    all = std::visit(
        [&]<class T>(const Dataset<T>& before) -> AnyDataset {
          return before | concatenate(std::get<Dataset<T>>(making.inputs[i].dataset), stage);
        },
        all);
  }
  return of_kind(making.input(), std::move(all));
}

ColumnBatch side_by_side(const std::tuple<ColumnBatch, ColumnBatch>& sides) {
  const auto& [left, right] = sides;
  std::vector<NamedColumn> columns;
  for (const ColumnBatch* side : {&left, &right}) {
    for (std::size_t i = 0; i < side->names().size(); ++i) {
      columns.push_back({side->names()[i], side->columns()[i]});
    }
  }
  return ColumnBatch(std::move(columns));
}

/// Refuses a column that two sides have, as far as columns are known before the run.
void check_sides(std::span<const Elements> inputs) {
  std::set<std::string> names;
  for (const Elements& input : inputs) {
    if (!input.columns) continue;
    for (const ColumnType& column : input.columns->columns()) {
      if (names.insert(column.name).second) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("zip: two sides have a column '{}'; rename it in one of them, or "
                              "select the others",
                              column.name));
    }
  }
}

Elements zipped(const ZipStage& stage, const Making& making) {
  Dataset<ColumnBatch> all = making.input().batches("zip");
  check_sides(making.inputs);
  bool are_rows = making.input().are_rows;
  for (std::size_t i = 1; i < making.inputs.size(); ++i) {
    are_rows = are_rows && making.inputs[i].are_rows;
    all = zip(stage, all, making.inputs[i].batches("zip")) | map(side_by_side);
  }
  return Elements{.dataset = all, .are_rows = are_rows};
}

/// Returns the datasets of some inputs, which are alike.
template <class T>
std::vector<Dataset<T>> datasets_of(std::span<const Elements> inputs) {
  std::vector<Dataset<T>> datasets;
  for (const Elements& input : inputs) datasets.push_back(std::get<Dataset<T>>(input.dataset));
  return datasets;
}

/// Measures an element by its content, as the stage says.
struct ElementSizeOf {
  WeighBy by;
  std::string column;

  std::uint64_t operator()(const Record& record) const { return record.size(); }
  std::uint64_t operator()(const std::string& text) const { return text.size(); }
  std::uint64_t operator()(std::int64_t) const { return sizeof(std::int64_t); }
  std::uint64_t operator()(const LabeledFile& file) const { return file.content.size(); }
  std::uint64_t operator()(const TarSample& sample) const {
    std::uint64_t bytes = 0;
    for (const TarField& field : sample.fields) bytes += field.content.size();
    return bytes;
  }
  std::uint64_t operator()(const ColumnBatch& batch) const {
    if (by == WeighBy::bytes) return batch.bytes();
    if (by == WeighBy::rows) return static_cast<std::uint64_t>(batch.rows());
    return items_of(batch.column(column));
  }

 private:
  static std::uint64_t items_of(const Column& values) {
    if (values.kind() == Column::Kind::ragged_bytes) {
      return static_cast<std::uint64_t>(values.offsets().size() - 1);
    }
    if (values.kind() == Column::Kind::padded) {
      const auto lengths = values.lengths();
      return static_cast<std::uint64_t>(std::accumulate(lengths.begin(), lengths.end(), 0LL));
    }
    return static_cast<std::uint64_t>(values.values().shape()[0]);
  }
};

/// Throws unless elements of this kind have the size.
void check_size(const SampleStage& stage, ElementKind kind) {
  const bool has_columns = kind == ElementKind::batch || kind == ElementKind::row;
  if (!has_columns && (stage.weigh_by == WeighBy::rows || stage.weigh_by == WeighBy::items)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("sample_from_datasets: elements of the kind '{}' have no rows and "
                            "items: weigh them by 'bytes', or put batch before it",
                            to_string(kind)));
  }
  if ((stage.weigh_by == WeighBy::items) != !stage.column.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "sample_from_datasets: weigh_by='items' and column, whose items count, belong "
                "together");
  }
}

Elements sampled(const SampleStage& stage, const Making& making) {
  std::vector<Elements> inputs = making.inputs;
  check_alike(inputs, "sample_from_datasets");
  if (stage.weigh_by == WeighBy::rows || stage.weigh_by == WeighBy::items) {
    // Their columns count, so records are parsed here.
    for (Elements& input : inputs) {
      if (input.to_parse) input = rows_of(input, "sample_from_datasets");
    }
  }
  check_size(stage, inputs.front().kind());
  AnyDataset all = std::visit(
      [&]<class T>(const Dataset<T>&) -> AnyDataset {
        const std::vector<Dataset<T>> datasets = datasets_of<T>(inputs);
        if (stage.weigh_by == WeighBy::elements) return sample_from_datasets(datasets, stage);
        return sample_from_datasets(datasets, stage, ElementSizeOf{stage.weigh_by, stage.column});
      },
      inputs.front().dataset);
  return of_kind(inputs.front(), std::move(all));
}

Elements chosen(const ChooseOptions& stage, const Making& making) {
  const std::span inputs = std::span(making.inputs).first(making.inputs.size() - 1);
  const auto* const choices = std::get_if<Dataset<std::int64_t>>(&making.inputs.back().dataset);
  if (inputs.empty() || choices == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("choose_from_datasets: the last of its inputs gives the choices, "
                            "integers as range gives them, behind one dataset or more; here it "
                            "gives elements of the kind '{}'",
                            to_string(making.inputs.back().kind())));
  }
  check_alike(inputs, "choose_from_datasets");
  AnyDataset all = std::visit(
      [&]<class T>(const Dataset<T>&) -> AnyDataset {
        return choose_from_datasets(datasets_of<T>(inputs), *choices, stage);
      },
      making.input().dataset);
  return of_kind(making.input(), std::move(all));
}

}  // namespace

void add_combining_stages(StageTable& table) {
  table.add("concatenate", "Appends other pipelines.", ConcatenateStage{}, StageRole::joins)
      .makes(concatenated);
  table
      .add("zip", "Puts the columns of batches at the same position side by side.", ZipStage{},
           StageRole::joins)
      .makes(zipped);
  table
      .add("sample_from_datasets", "Mixes pipelines in given proportions.", SampleStage{},
           StageRole::gathers)
      .option("weights", &SampleOptions::weights,
              "How often each is drawn, relative to the others; without it equally often.")
      .option("schedule", &SampleOptions::schedule,
              "Weights from later draws on, ascending, as [(1_000_000, [0, 1])].")
      .option("change", &SampleOptions::change,
              "Whether weights move to the next ones in a straight line, or at their draw.")
      .option("weigh_by", &SampleStage::weigh_by,
              "What weights are shares of: the number of elements, their bytes, their rows, or the "
              "items of a column (tokens).")
      .option("column", &SampleStage::column, "The column whose items count.")
      .option("seed", &SampleOptions::seed, kSeedText)
      .option("stop_on_empty_dataset", &SampleOptions::stop_on_empty_dataset,
              "Whether the end of any ends the whole stream.")
      .option("reshuffle_each_iteration", &SampleOptions::reshuffle_each_iteration,
              "Whether each pass draws in another order.")
      .makes(sampled);
  table
      .add("choose_from_datasets",
           "Takes each element from the pipeline whose number the last pipeline gives.",
           ChooseOptions{}, StageRole::gathers)
      .option("stop_on_empty_dataset", &ChooseOptions::stop_on_empty_dataset,
              "Whether choosing a pipeline that has ended ends the whole stream.")
      .makes(chosen);
}

}  // namespace infeed::describe
