#include <infeed/pipeline/range.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/pipeline/sample_from_datasets.h>
#include <infeed/pipeline/take.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// The order of an endless mix, from which that of every other follows.
std::vector<std::size_t> draws(const std::vector<double>& weights, std::uint64_t seed,
                               std::size_t count) {
  std::vector<Dataset<std::int64_t>> endless;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    endless.push_back(counter(static_cast<std::int64_t>(i), 0));
  }
  std::vector<std::size_t> order;
  auto iterator = sample_from_datasets(endless, {.weights = weights, .seed = seed}).iterate();
  while (order.size() < count) order.push_back(static_cast<std::size_t>(*iterator.next()));
  return order;
}

Stream sample_model(const std::vector<Slots>& inputs, const std::vector<double>& weights,
                    bool stop) {
  Stream stream;
  std::vector<std::size_t> next(inputs.size(), 0);
  std::vector<bool> ended(inputs.size(), false);
  std::size_t open = inputs.size();
  for (const std::size_t i : draws(weights, 3, 5000)) {
    if (next[i] < inputs[i].size()) {
      stream.push_back(show(inputs[i][next[i]++]));
    } else if (!ended[i]) {
      ended[i] = true;
      --open;
      if (stop || open == 0) break;
    }
  }
  return stream;
}

TEST(SampleFromDatasets, PassesTheSuite) {
  const std::vector<double> weights{0.5, 2, 1.5};
  const Slots second = failing_slots(80, [](std::size_t i) { return i % 9 == 8; });
  for (const bool stop : {true, false}) {
    SCOPED_TRACE(stop);
    run_stage_suite(
        [&](auto dataset) {
          using T = typename decltype(dataset)::element_type;
          const std::vector<Dataset<T>> datasets{dataset, listed<T>(second),
                                                 listed<T>(plain_slots(30))};
          return sample_from_datasets(
              datasets, {.weights = weights, .seed = 3, .stop_on_empty_dataset = stop});
        },
        [&](const Slots& in) {
          return sample_model({in, second, plain_slots(30)}, weights, stop);
        });
  }
}

TEST(SampleFromDatasets, KeepsTheProportions) {
  std::vector<int> counts(3, 0);
  for (const std::size_t i : draws({1, 2, 7}, 11, 100'000)) ++counts[i];
  EXPECT_NEAR(counts[0], 10'000, 500);
  EXPECT_NEAR(counts[1], 20'000, 500);
  EXPECT_NEAR(counts[2], 70'000, 500);
}

TEST(SampleFromDatasets, RepeatsItsOrderUnlessAsked) {
  const auto mixed = [](bool reshuffle) {
    return stream_of(sample_from_datasets(std::vector{range(50), range(100, 150)},
                                          {.seed = 1, .reshuffle_each_iteration = reshuffle}) |
                     repeat(2));
  };
  const auto first = [](const Stream& s) { return Stream(s.begin(), s.begin() + 100); };
  const auto second = [](const Stream& s) { return Stream(s.begin() + 100, s.end()); };
  EXPECT_EQ(first(mixed(false)), second(mixed(false)));
  EXPECT_NE(first(mixed(true)), second(mixed(true)));
}

TEST(SampleFromDatasets, NeverDrawsAWeightOfZero) {
  const auto mixed = sample_from_datasets(std::vector{range(3), counter(100), range(10, 12)},
                                          {.weights = {1, 0, 1}, .seed = 5});
  EXPECT_EQ(mixed.cardinality(), Cardinality::finite(5));
  Stream stream = stream_of(mixed);
  std::sort(stream.begin(), stream.end());
  EXPECT_EQ(stream, (Stream{"0", "1", "10", "11", "2"}));
}

TEST(SampleFromDatasets, RefusesWhatCannotBe) {
  const auto with = [](std::vector<double> weights) {
    return error_of([&] {
             sample_from_datasets(std::vector{range(1), range(2)}, {.weights = std::move(weights)});
           })
        .message();
  };
  const std::string rest = "; give one each, at least 0, not all of them 0";
  EXPECT_EQ(with({1}), "sample_from_datasets: weights are [1] for 2 datasets" + rest);
  EXPECT_EQ(with({0, 0}), "sample_from_datasets: weights are [0, 0] for 2 datasets" + rest);
  EXPECT_EQ(with({1, -2}), "sample_from_datasets: weights are [1, -2] for 2 datasets" + rest);
  EXPECT_EQ(error_of([] { sample_from_datasets(std::vector<Dataset<std::int64_t>>{}); }).message(),
            "sample_from_datasets: there are no datasets; give at least one");
}

}  // namespace
}  // namespace infeed::test
