#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/range.h>
#include <infeed/pipeline/sample_from_datasets.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(SampleFromDatasets, RefusesASchedule) {
  const auto with = [](std::vector<WeightsAt> schedule) {
    return error_of([&] {
             sample_from_datasets(std::vector{range(1), range(2)},
                                  {.schedule = std::move(schedule)});
           })
        .message();
  };
  EXPECT_EQ(with({{.draw = 5, .weights = {1, 1}}, {.draw = 5, .weights = {1, 2}}}),
            "sample_from_datasets: in the schedule draw 5 follows draw 5; give them in ascending "
            "order, from 1 on");
  EXPECT_EQ(with({{.draw = 5, .weights = {1}}}),
            "sample_from_datasets: weights are [1] for 2 datasets; give one each, 0 or from 1e-100 "
            "to 1e+100, not all of them 0");
}

TEST(SampleFromDatasets, RefusesWhatCannotBe) {
  const auto with = [](std::vector<double> weights) {
    return error_of([&] {
             sample_from_datasets(std::vector{range(1), range(2)}, {.weights = std::move(weights)});
           })
        .message();
  };
  const std::string rest = "; give one each, 0 or from 1e-100 to 1e+100, not all of them 0";
  EXPECT_EQ(with({1}), "sample_from_datasets: weights are [1] for 2 datasets" + rest);
  EXPECT_EQ(with({0, 0}), "sample_from_datasets: weights are [0, 0] for 2 datasets" + rest);
  EXPECT_EQ(with({1, -2}), "sample_from_datasets: weights are [1, -2] for 2 datasets" + rest);
  EXPECT_EQ(with({1, 1e-200}),
            "sample_from_datasets: weights are [1, 1e-200] for 2 datasets" + rest);
  EXPECT_EQ(with({1e200, 1}),
            "sample_from_datasets: weights are [1e+200, 1] for 2 datasets" + rest);
  EXPECT_EQ(error_of([] { sample_from_datasets(std::vector<Dataset<std::int64_t>>{}); }).message(),
            "sample_from_datasets: there are no datasets; give at least one");
}

}  // namespace
}  // namespace infeed::test
