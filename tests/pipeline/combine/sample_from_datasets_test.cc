#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "seeded_random.h"

namespace infeed::test {
namespace {

/// The order of an endless mix, from which the order of every other mix follows.
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

/// An input and two of another length.
std::vector<Slots> three_inputs(const Slots& in) {
  return {in, failing_slots(80, [](std::size_t i) { return i % 9 == 8; }), plain_slots(30)};
}
template <class T>
std::vector<Dataset<T>> three_datasets(const Dataset<T>& dataset) {
  const std::vector<Slots> inputs = three_inputs({});
  return {dataset, listed<T>(inputs[1]), listed<T>(inputs[2])};
}

TEST(SampleFromDatasets, PassesTheSuite) {
  const std::vector<double> weights{0.5, 2, 1.5};
  for (const bool stop : {true, false}) {
    SCOPED_TRACE(stop);
    run_stage_suite(
        [&](auto dataset) {
          return sample_from_datasets(
              three_datasets(dataset),
              {.weights = weights, .seed = 3, .stop_on_empty_dataset = stop});
        },
        [&](const Slots& in) { return sample_model(three_inputs(in), weights, stop); });
  }
}

/// Both forms of change; the second dataset is not drawn at first, the first one not at the end.
SampleOptions changing(WeightChange change) {
  return {.weights = {1, 0, 1},
          .schedule = {{.draw = 40, .weights = {1, 1, 0}}, {.draw = 90, .weights = {0, 2, 1}}},
          .change = change,
          .seed = 3};
}

TEST(SampleFromDatasets, PassesTheSuiteWithAScheduleOfWeights) {
  for (const WeightChange change : {WeightChange::linear, WeightChange::at_once}) {
    std::vector<Dataset<std::int64_t>> endless{counter(0, 0), counter(1, 0), counter(2, 0)};
    std::vector<std::size_t> order;
    auto iterator = sample_from_datasets(endless, changing(change)).iterate();
    while (order.size() < 5000) order.push_back(static_cast<std::size_t>(*iterator.next()));
    run_stage_suite(
        [&](auto dataset) {
          return sample_from_datasets(three_datasets(dataset), changing(change));
        },
        [&](const Slots& in) {
          const std::vector<Slots> inputs = three_inputs(in);
          std::vector<std::size_t> next(3, 0);
          Stream stream;
          for (const std::size_t i : order) {
            if (next[i] < inputs[i].size()) stream.push_back(show(inputs[i][next[i]++]));
          }
          return stream;
        });
  }
}

TEST(SampleFromDatasets, FollowsItsSchedule) {
  const auto share_of_second = [](WeightChange change, std::size_t begin) {
    const std::vector<Dataset<std::int64_t>> endless{counter(0, 0), counter(1, 0)};
    auto iterator =
        sample_from_datasets(endless, {.weights = {1, 0},
                                       .schedule = {{.draw = 100'000, .weights = {0, 1}}},
                                       .change = change,
                                       .seed = 4})
            .iterate();
    for (std::size_t i = 0; i < begin; ++i) iterator.next();
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) sum += static_cast<double>(*iterator.next());
    return sum / 10'000;
  };
  EXPECT_NEAR(share_of_second(WeightChange::linear, 0), 0.05, 0.01);
  EXPECT_NEAR(share_of_second(WeightChange::linear, 70'000), 0.75, 0.02);
  EXPECT_EQ(share_of_second(WeightChange::linear, 100'000), 1);
  EXPECT_EQ(share_of_second(WeightChange::at_once, 90'000), 0);
  EXPECT_EQ(share_of_second(WeightChange::at_once, 100'000), 1);
}

TEST(SampleFromDatasets, EndsWithAnEmptyDatasetAmongEndlessOnes) {
  const SampleOptions stops{.seed = 1, .stop_on_empty_dataset = true};
  const auto mixed = sample_from_datasets({range(0), counter()}, stops);
  EXPECT_TRUE(mixed.cardinality().is_unknown());
  EXPECT_LE(stream_of(mixed).size(), 50);
  EXPECT_EQ(sample_from_datasets({range(0), range(0)}, stops).cardinality(),
            Cardinality::finite(0));
  EXPECT_TRUE(sample_from_datasets({counter(), counter()}, stops).cardinality().is_infinite());
}

/// Remaining elements without weight must not be waited for.
TEST(SampleFromDatasets, EndsWhereNothingWillBeDrawn) {
  const auto mixed = sample_from_datasets(std::vector{range(1000), range(5)},
                                          {.weights = {1, 1},
                                           .schedule = {{.draw = 10, .weights = {0, 1}}},
                                           .change = WeightChange::at_once,
                                           .seed = 1});
  EXPECT_TRUE(mixed.cardinality().is_unknown());
  const std::size_t count = stream_of(mixed).size();
  EXPECT_GE(count, 5);
  EXPECT_LE(count, 15);
}

TEST(SampleFromDatasets, GivesVariantsOfDatasetsOfDifferentTypes) {
  const auto words = range(40) | map([](std::int64_t n) { return std::to_string(n); });
  const auto mixed =
      sample_from_datasets(std::tuple(range(30), words, range(100, 130)), {.seed = 6});
  static_assert(
      std::is_same_v<decltype(mixed),
                     const Dataset<std::variant<std::int64_t, std::string, std::int64_t>>>);
  EXPECT_EQ(mixed.cardinality(), Cardinality::finite(100));
  const auto of = [&](std::size_t index) {
    Stream stream;
    for (const auto& element : mixed.iterate()) {
      if (element.index() != index) continue;
      if (index == 1) stream.push_back(std::get<1>(element));
      if (index == 0) stream.push_back(std::to_string(std::get<0>(element)));
      if (index == 2) stream.push_back(std::to_string(std::get<2>(element)));
    }
    return stream;
  };
  EXPECT_EQ(of(0), stream_of(range(30)));
  EXPECT_EQ(of(1), stream_of(range(40)));
  EXPECT_EQ(of(2), stream_of(range(100, 130)));
}

TEST(SampleFromDatasets, PassesTheSuiteWithDifferentTypes) {
  run_stage_suite_on<std::int64_t>(
      [](const Dataset<std::int64_t>& dataset) {
        const auto words = listed<std::string>(plain_slots(30));
        return sample_from_datasets(std::tuple(dataset, words), {.weights = {0.5, 2}, .seed = 3}) |
               map([](const std::variant<std::int64_t, std::string>& element) {
                 return std::visit([](const auto& value) { return value_of(value); }, element);
               });
      },
      [](const Slots& in) {
        return sample_model({in, plain_slots(30)}, {0.5, 2}, false);
      });
}

TEST(SampleFromDatasets, KeepsTheProportions) {
  std::vector<int> counts(3, 0);
  for (const std::size_t i : draws({1, 2, 7}, 11, 100'000)) ++counts[i];
  EXPECT_NEAR(counts[0], 10'000, 500);
  EXPECT_NEAR(counts[1], 20'000, 500);
  EXPECT_NEAR(counts[2], 70'000, 500);
}

/// The order is a part of checkpoints: it is that of a scan from the first dataset on.
TEST(SampleFromDatasets, DrawsWhatALinearScanWould) {
  SeededRandom random;
  for (const std::size_t count : {1, 2, 3, 100, 3000}) {
    std::vector<double> weights;
    for (std::size_t i = 0; i < count; ++i) {
      weights.push_back(static_cast<double>(1 + random.below(1000)) / 7);
    }
    std::vector<double> sums;
    double sum = 0;
    for (const double weight : weights) sums.push_back(sum += weight);
    Philox words(3, 0);
    std::size_t draw = 0;
    for (const std::size_t drawn : draws(weights, 3, 5000)) {
      const std::uint64_t low = words();
      const std::uint64_t bits = (std::uint64_t{words()} << 32 | low) >> 11;
      const double number = static_cast<double>(bits) * 0x1p-53 * sum;
      std::size_t expected = 0;
      while (number >= sums[expected] && expected + 1 < count) ++expected;
      ASSERT_EQ(drawn, expected) << "draw " << draw << " of " << count << " datasets";
      ++draw;
    }
  }
}

std::int64_t size_of_number(std::int64_t number) { return number * 7 % 50; }

/// The rule, told once more: those that are ahead by more than their last element wait, and the
/// others are drawn by weights.
Stream sized_model(const std::vector<Slots>& inputs, const std::vector<double>& weights,
                   bool stop) {
  Philox words(3, 0);
  std::vector<double> credit(inputs.size(), 0);
  std::vector<double> last(inputs.size(), 0);
  std::vector<std::size_t> next(inputs.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < inputs.size(); ++i) open.push_back(i);
  Stream stream;
  while (!open.empty()) {
    std::vector<std::size_t> drawn;
    for (const std::size_t i : open) {
      if (credit[i] >= -last[i]) drawn.push_back(i);
    }
    if (drawn.empty()) {
      drawn = {*std::max_element(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
        return credit[a] < credit[b];
      })};
    }
    double sum = 0;
    for (const std::size_t i : drawn) sum += weights[i];
    const std::uint64_t low = words();
    const std::uint64_t bits = (std::uint64_t{words()} << 32 | low) >> 11;
    double left = static_cast<double>(bits) * 0x1p-53 * sum;
    std::size_t chosen = drawn.back();
    for (const std::size_t i : drawn) {
      left -= weights[i];
      if (left >= 0) continue;
      chosen = i;
      break;
    }
    if (next[chosen] == inputs[chosen].size()) {
      if (stop) break;
      std::erase(open, chosen);
      std::fill(credit.begin(), credit.end(), 0.0);
      continue;
    }
    const Slot slot = inputs[chosen][next[chosen]++];
    stream.push_back(show(slot));
    const double before = std::max(1.0, last[chosen]);
    const double size =
        slot.fails ? before : std::max(1.0, static_cast<double>(size_of_number(slot.value)));
    last[chosen] = size;
    double open_weight = 0;
    for (const std::size_t i : open) open_weight += weights[i];
    for (const std::size_t i : open) credit[i] += size * weights[i] / open_weight;
    credit[chosen] -= size;
  }
  return stream;
}

TEST(SampleFromDatasets, PassesTheSuiteWithWeightsOfSizes) {
  const std::vector<double> weights{0.5, 2, 1.5};
  for (const bool stop : {true, false}) {
    SCOPED_TRACE(stop);
    run_stage_suite(
        [&](auto dataset) {
          return sample_from_datasets(
              three_datasets(dataset),
              {.weights = weights, .seed = 3, .stop_on_empty_dataset = stop},
              [](const auto& element) { return size_of_number(value_of(element)); });
        },
        [&](const Slots& in) { return sized_model(three_inputs(in), weights, stop); });
  }
}

/// At any place no dataset is ahead by more than two elements, so none lags by more than those of
/// the others.
TEST(SampleFromDatasets, SharesOfSizesHoldEverywhere) {
  const auto texts = [](std::int64_t seed, std::uint32_t bytes_max) {
    return counter(seed, 0) | repeat() |
           map([bytes_max](std::int64_t,
                           Rng& rng) { return std::string(rng.below(bytes_max), 'x'); },
               {.seed = seed});
  };
  const std::vector<std::uint32_t> most = {100, 10'000, 1'000};
  const std::vector<double> weights = {5, 2, 3};
  const auto tagged = [&](std::size_t i) {
    return texts(static_cast<std::int64_t>(i), most[i]) |
           map([i](std::string text) { return std::pair(i, std::move(text)); });
  };
  using Tagged = std::pair<std::size_t, std::string>;
  const std::vector<Dataset<Tagged>> datasets = {tagged(0), tagged(1), tagged(2)};
  auto iterator =
      sample_from_datasets(datasets, {.weights = weights, .seed = 9},
                           [](std::size_t, const std::string& text) { return bytes_of(text); })
          .iterate();
  std::vector<double> bytes(3, 0);
  double sum = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto [dataset, text] = *iterator.next();
    bytes[dataset] += static_cast<double>(std::max<std::size_t>(1, text.size()));
    sum += static_cast<double>(std::max<std::size_t>(1, text.size()));
    for (std::size_t i = 0; i < 3; ++i)
      ASSERT_NEAR(bytes[i], sum * weights[i] / 10, 2 * 11'000) << step;
  }
}

TEST(SampleFromDatasets, ASizeThatThrowsIsAnErrorInPlaceOfItsElement) {
  const auto size = [](std::int64_t number) {
    if (number == 3) throw std::runtime_error("no size");
    return number == 5 ? -1 : 1;
  };
  const Stream stream = stream_of(sample_from_datasets(std::vector{range(8)}, {.seed = 1}, size));
  EXPECT_EQ(stream.size(), 8);
  EXPECT_EQ(stream[2], "2");
  EXPECT_EQ(stream[3], "! no size");
  EXPECT_EQ(stream[5].substr(0, 1), "!");
  EXPECT_EQ(stream[7], "7");
}

TEST(SampleFromDatasets, SizesFollowAScheduleOfWeights) {
  auto iterator = sample_from_datasets(std::vector{counter(0, 0), counter(1, 0)},
                                       {.weights = {1, 0},
                                        .schedule = {{.draw = 1000, .weights = {0, 1}}},
                                        .change = WeightChange::at_once,
                                        .seed = 4},
                                       [](std::int64_t) { return 3; })
                      .iterate();
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(*iterator.next(), i < 1000 ? 0 : 1) << i;
}

TEST(SampleFromDatasets, BytesOfContentOnly) {
  std::vector<float> numbers = {1, 2};
  numbers.reserve(100);
  EXPECT_EQ(bytes_of(numbers), 8);
  EXPECT_EQ(bytes_of(std::string("abc")), 3);
  EXPECT_EQ(bytes_of(Record("abcd")), 4);
  EXPECT_EQ(bytes_of(std::pair(std::string("ab"), std::vector<std::string>{"c", "de"})), 5);
  EXPECT_EQ(bytes_of(7.5), 8);
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

}  // namespace
}  // namespace infeed::test
