#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

Stream choose_model(std::vector<Slots> inputs, const Slots& choices, bool stop) {
  Stream stream;
  std::vector<std::size_t> next(inputs.size(), 0);
  std::size_t open = inputs.size();
  std::vector<bool> ended(inputs.size(), false);
  for (const Slot& choice : choices) {
    if (open == 0) break;
    if (choice.fails) {
      stream.push_back(show(choice));
      continue;
    }
    const auto i = static_cast<std::size_t>(choice.value % 5);
    if (i >= inputs.size()) {
      stream.push_back(
          fmt::format("! choose_from_datasets: dataset {} was chosen, but there are {} (0 to {})",
                      i, inputs.size(), inputs.size() - 1));
    } else if (next[i] < inputs[i].size()) {
      stream.push_back(show(inputs[i][next[i]++]));
    } else if (stop) {
      break;
    } else if (!ended[i]) {
      ended[i] = true;
      --open;
    }
  }
  return stream;
}

std::vector<Slots> others() {
  return {failing_slots(20, [](std::size_t i) { return i == 7; }), plain_slots(1), plain_slots(40)};
}

TEST(ChooseFromDatasets, PassesTheSuiteAsChoices) {
  for (const bool stop : {true, false}) {
    SCOPED_TRACE(stop);
    run_stage_suite_on<std::int64_t>(
        [stop](const Dataset<std::int64_t>& choices) {
          std::vector<Dataset<std::int64_t>> datasets;
          for (const Slots& slots : others()) {
            datasets.push_back(listed<std::int64_t>(slots, {Cut::Kind::random, 1}));
          }
          return choose_from_datasets(datasets, choices | map([](std::int64_t x) { return x % 5; }),
                                      {.stop_on_empty_dataset = stop});
        },
        [stop](const Slots& in) { return choose_model(others(), in, stop); });
  }
}

TEST(ChooseFromDatasets, PassesTheSuiteAsDataset) {
  const auto choices = range(3) | repeat(50);
  Slots turns;
  for (std::int64_t i = 0; i < 150; ++i) turns.push_back({i % 3});
  for (const bool stop : {true, false}) {
    SCOPED_TRACE(stop);
    run_stage_suite(
        [=](auto dataset) {
          using T = typename decltype(dataset)::element_type;
          const std::vector<Dataset<T>> datasets{listed<T>(plain_slots(60)), dataset,
                                                 listed<T>(plain_slots(33))};
          return choose_from_datasets(datasets, choices, {.stop_on_empty_dataset = stop});
        },
        [=](const Slots& in) {
          return choose_model({plain_slots(60), in, plain_slots(33)}, turns, stop);
        });
  }
}

TEST(ChooseFromDatasets, TakesTurns) {
  const auto all = choose_from_datasets(std::vector{range(2), range(10, 12), range(20, 22)},
                                        range(3) | repeat());
  run_source_suite([&] { return all; }, numbers({0, 10, 20, 1, 11, 21}));
}

TEST(ChooseFromDatasets, RefusesNone) {
  EXPECT_EQ(error_of([] {
              choose_from_datasets(std::vector<Dataset<std::int64_t>>{}, range(3));
            }).message(),
            "choose_from_datasets: there are no datasets; give at least one");
}

}  // namespace
}  // namespace infeed::test
