#include <atomic>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <optional>
#include <stop_token>
#include <string>

#include <infeed/error.h>
#include <infeed/share.h>

#include "device/train/small_training.h"
#include "seeded_random.h"
#include "temporary_folder.h"
#include "world/local_world.h"

namespace infeed {
namespace {

using test::LocalWorld;

constexpr std::int64_t kPoints = 197;
constexpr std::int64_t kEpochs = 3;
constexpr std::int64_t kStepsAnEpoch = 12;
constexpr std::int64_t kSteps = kEpochs * kStepsAnEpoch;

struct Trained {
  FitResult result;
  std::vector<std::vector<float>> weights;
};

/// A training whose ranks make their own rows of its batches.
struct OwnRowsTraining {
  std::int64_t rows = 13;   ///< rows of a batch: uneven shares for eight replicas
  std::string folder = {};  ///< for checkpoints; empty: none
  std::int64_t stop_at = 0;
  bool repeats = true;
  bool has_bookmarks = false;  ///< often, so that they lie between the rows of two ranks
  int parallelism = 2;
  std::atomic<std::int64_t>* read = nullptr;  ///< counts the records that a rank reads

  SharedBatches batches() const {
    return {.rows = rows, .pipeline = [this](const RowShare& own) {
              const Dataset<std::string> records = range(kPoints) |
                                                   map([counter = read](std::int64_t row) {
                                                     if (counter != nullptr) ++*counter;
                                                     return std::to_string(row);
                                                   }) |
                                                   global_shuffle({.seed = 3});
              const auto passed = has_bookmarks
                                      ? records | filter([](const std::string&) { return true; })
                                      : records;
              return (repeats ? passed | repeat() : passed) | own_rows(own) |
                     map([](const std::string& row) { return std::int64_t{std::stoi(row)}; }) |
                     augmented_batches(points(kPoints), own.rows, parallelism);
            }};
  }

  Trained run(Communicator* ranks) const {
    SmallTraining small(0.2);
    std::stop_source source;
    FitOptions options{
        .epochs = kEpochs,
        .steps_per_epoch = kStepsAnEpoch,
        .batches_per_update = 2,
        .seed = 9,
        .validation = from_columns(points(40, 2), 13),
        .resume_from = folder,
        .worker = {.communicator = ranks},
        .threads = 1,
        .iterate = {.bookmark_every = has_bookmarks ? 8U : 1024U, .order_hash = true},
        .stop = source.get_token(),
        .on_step = [&](std::int64_t step, const Metrics&) {
          if (step == stop_at) source.request_stop();
        }};
    if (!folder.empty()) {
      options.callbacks.push_back(std::make_shared<SaveCheckpoints>(SaveCheckpointsOptions{
          .folder = folder, .save = {.keep = 1, .durability = Durability::leave_to_system}}));
    }
    FitResult result = fit(small.training(), Slice::parse("v3-8"), batches(), options);
    return {.result = std::move(result), .weights = small.weights()};
  }

  /// Runs it on so many ranks; 0: without a communicator.
  std::vector<std::optional<Trained>> run_on(int ranks, std::vector<std::string>& errors) const {
    if (ranks == 0) return {run(nullptr)};
    std::vector<std::optional<Trained>> trained(static_cast<std::size_t>(ranks));
    LocalWorld world(ranks);
    errors = world.run([&](Communicator& communicator) {
      trained[static_cast<std::size_t>(communicator.world().rank)] = run(&communicator);
    });
    return trained;
  }
  std::vector<std::optional<Trained>> run_on(int ranks) const {
    std::vector<std::string> errors;
    std::vector<std::optional<Trained>> trained = run_on(ranks, errors);
    EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
    return trained;
  }
};

void expect_same(const std::vector<std::optional<Trained>>& ranks, const Trained& expected) {
  for (const std::optional<Trained>& rank : ranks) {
    ASSERT_TRUE(rank.has_value());
    EXPECT_EQ(rank->weights, expected.weights);
    EXPECT_EQ(rank->result.steps, expected.result.steps);
    EXPECT_EQ(rank->result.order_hash, expected.result.order_hash);
    EXPECT_EQ(rank->result.epochs, expected.result.epochs);
  }
}

/// The weights of a training whose batches are whole everywhere.
std::vector<std::vector<float>> weights_of_whole_batches() {
  SmallTraining small(0.2);
  fit(small.training(), Slice::parse("v3-8"),
      range(kPoints) | global_shuffle({.seed = 3}) | repeat() |
          augmented_batches(points(kPoints), 13),
      {.epochs = kEpochs, .steps_per_epoch = kStepsAnEpoch, .batches_per_update = 2, .seed = 9});
  return small.weights();
}

TEST(FitOwnRows, GiveTheWeightsOfOneProcessFromTheRowsOfEachRank) {
  const Trained expected = OwnRowsTraining{}.run(nullptr);
  EXPECT_EQ(expected.weights, weights_of_whole_batches());
  EXPECT_NE(expected.result.order_hash, 0U);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(fmt::format("{} ranks", ranks));
    const auto trained = OwnRowsTraining{}.run_on(ranks);
    expect_same(trained, expected);
    EXPECT_EQ(trained[0]->result.simulated.steps, expected.result.simulated.steps);
    EXPECT_EQ(trained[0]->result.compilations.size(), expected.result.compilations.size());
  }
}

TEST(FitOwnRows, ARankReadsItsShareOfTheRecords) {
  constexpr std::int64_t kRows = 104;
  for (const int size : {1, 2, 4}) {
    std::vector<std::atomic<std::int64_t>> read(static_cast<std::size_t>(size));
    LocalWorld world(size);
    world.run([&](Communicator& ranks) {
      OwnRowsTraining{.rows = kRows,
                      .parallelism = 1,
                      .read = &read[static_cast<std::size_t>(ranks.world().rank)]}
          .run(&ranks);
    });
    for (int rank = 0; rank < size; ++rank) {
      const std::int64_t records = read[static_cast<std::size_t>(rank)];
      std::printf("%d ranks: rank %d read %jd of %jd records\n", size, rank,
                  static_cast<std::intmax_t>(records), static_cast<std::intmax_t>(kSteps * kRows));
      EXPECT_GE(records, kSteps * kRows / size);
      EXPECT_LE(records, (kSteps + 8) * kRows / size);  // some batches are made ahead
    }
  }
}

TEST(FitOwnRows, StoppedAtDrawnStepsGoOnAtOtherNumbersOfRanks) {
  test::SeededRandom random;
  const Trained expected = OwnRowsTraining{}.run(nullptr);
  for (int turn = 0; turn < 4; ++turn) {
    const TemporaryFolder folder;
    std::int64_t step = 0;
    while (step < kSteps) {
      const int ranks = static_cast<int>(random() % 5);
      const std::int64_t stop_at = step + 1 + static_cast<std::int64_t>(random() % 16);
      SCOPED_TRACE(fmt::format("turn {}: {} ranks from {} to {}", turn, ranks, step, stop_at));
      const auto trained =
          OwnRowsTraining{.folder = folder.path(), .stop_at = stop_at}.run_on(ranks);
      ASSERT_TRUE(trained[0].has_value());
      EXPECT_EQ(trained[0]->result.resumed_at, step);
      step = std::min(stop_at, kSteps);
      if (trained[0]->result.end == RunEnd::cancelled) continue;
      expect_same(trained, expected);
      break;
    }
  }
}

TEST(FitOwnRows, AStopBetweenTheBookmarksOfTwoRanksGoesOn) {
  const Trained expected = OwnRowsTraining{}.run(nullptr);
  for (std::int64_t stop_at = 1; stop_at <= 8; ++stop_at) {
    SCOPED_TRACE(fmt::format("stopped behind step {}", stop_at));
    const TemporaryFolder folder;
    OwnRowsTraining training{.folder = folder.path(), .stop_at = stop_at, .has_bookmarks = true};
    training.run_on(4);
    training.stop_at = 0;
    const auto trained = training.run_on(4);
    ASSERT_TRUE(trained[0].has_value());
    EXPECT_EQ(trained[0]->result.resumed_at, stop_at);
    EXPECT_EQ(trained[0]->weights, expected.weights);
  }
}

TEST(FitOwnRows, WithFewerRowsThanRanksEachMakesAll) {
  const Trained expected = OwnRowsTraining{.rows = 3}.run(nullptr);
  expect_same(OwnRowsTraining{.rows = 3}.run_on(4), expected);
}

TEST(FitOwnRows, AShortBatchIsRefused) {
  std::vector<std::string> errors;
  OwnRowsTraining{.repeats = false}.run_on(2, errors);
  EXPECT_THAT(errors[0],
              testing::HasSubstr("the pipeline gives 2 of the 8 rows that this rank makes of each "
                                 "batch of 13; all batches must be whole"));
}

}  // namespace
}  // namespace infeed
