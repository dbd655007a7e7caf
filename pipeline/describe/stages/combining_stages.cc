#include <fmt/format.h>

#include <infeed/pipeline/concatenate.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/sample_from_datasets.h>
#include <infeed/pipeline/zip.h>

#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct ConcatenateStage : StageOptions {};
struct ZipStage : StageOptions {};

/// Throws unless all inputs have elements of the first one's kind and columns.
void check_alike(const Making& making, std::string_view stage) {
  const Elements& first = making.input();
  for (const Elements& other : making.inputs) {
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
                  .are_rows = like.are_rows,
                  .files = like.files,
                  .columns = like.columns};
}

Elements concatenated(const ConcatenateStage& stage, const Making& making) {
  check_alike(making, "concatenate");
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

Elements zipped(const ZipStage& stage, const Making& making) {
  Dataset<ColumnBatch> all = making.input().batches("zip");
  bool are_rows = making.input().are_rows;
  for (std::size_t i = 1; i < making.inputs.size(); ++i) {
    are_rows = are_rows && making.inputs[i].are_rows;
    all = zip(stage, all, making.inputs[i].batches("zip")) | map(side_by_side);
  }
  return Elements{.dataset = all, .are_rows = are_rows};
}

Elements sampled(const SampleOptions& stage, const Making& making) {
  check_alike(making, "sample_from_datasets");
  AnyDataset all = std::visit(
      [&]<class T>(const Dataset<T>&) -> AnyDataset {
        std::vector<Dataset<T>> datasets;
        for (const Elements& input : making.inputs) {
          datasets.push_back(std::get<Dataset<T>>(input.dataset));
        }
        return sample_from_datasets(datasets, stage);
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
      .add("sample_from_datasets", "Mixes pipelines in given proportions.", SampleOptions{},
           StageRole::gathers)
      .option("weights", &SampleOptions::weights,
              "How often each is drawn, relative to the others; without it equally often.")
      .option("seed", &SampleOptions::seed, kSeedText)
      .option("stop_on_empty_dataset", &SampleOptions::stop_on_empty_dataset,
              "Whether the end of any ends the whole stream.")
      .option("reshuffle_each_iteration", &SampleOptions::reshuffle_each_iteration,
              "Whether each pass draws in another order.")
      .makes(sampled);
}

}  // namespace infeed::describe
