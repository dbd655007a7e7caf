#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

#include "engine/recording/place_log.h"
#include "seeded_random.h"

namespace infeed::test {
namespace {

using detail::ChoiceLog;
using detail::PlaceLog;
using detail::PositionLog;

using Origin = std::pair<std::uint64_t, std::uint64_t>;

std::optional<Origin> inputs_at(const PositionLog& log, std::uint64_t position) {
  const auto inputs = log.find(position);
  return inputs ? std::optional(Origin(inputs->position, inputs->count)) : std::nullopt;
}

/// Returns the input of an element, and its place among that input's elements.
std::optional<Origin> origin_at(const ChoiceLog& log, std::uint64_t position) {
  const auto origin = log.find(position);
  return origin ? std::optional(Origin(origin->input, origin->position)) : std::nullopt;
}

void expect_place(const PlaceLog& log, std::uint64_t position, const RecordPlace& expected) {
  SCOPED_TRACE(position);
  const TracedPlace found = log.find(position);
  ASSERT_TRUE(found.place) << found.why();
  EXPECT_EQ(found.place->file, expected.file);
  EXPECT_EQ(found.place->record, expected.record);
  EXPECT_EQ(found.place->count, expected.count);
  EXPECT_EQ(found.place->offset, expected.offset);
}

/// An entry's first element alone has an offset, which shows where entries begin.
TEST(PlaceLog, NeighboursInAFileShareAnEntry) {
  PlaceLog log;
  EXPECT_TRUE(log.is_empty());
  EXPECT_EQ(log.find(0).why(), "it lies too far back");
  log.add(10, 0, "a", 5, 100);
  EXPECT_TRUE(log.is_empty());
  log.add(10, 3, "a", 5, 100);
  EXPECT_FALSE(log.is_empty());
  log.add(13, 2, "a", 8, 130);
  log.add(15, 1, "b", 10, 150);       // another file
  log.add(20, 1, "b", 11, 200);       // elements between them are missing
  log.add(21, 2, {"b", 12, 3, 210});  // three records each
  log.add(23, 1, {"b", 99, 3, 230});  // records between them are missing
  log.add(24, 2, {"b", 102, 3, 240});
  log.add_alone(26, "b", 105, 260);
  EXPECT_EQ(log.find(9).why(), "it lies too far back");
  expect_place(log, 10, {"a", 5, 1, 100});
  expect_place(log, 11, {"a", 6, 1});
  expect_place(log, 12, {"a", 7, 1});
  expect_place(log, 13, {"a", 8, 1});
  expect_place(log, 14, {"a", 9, 1});
  expect_place(log, 15, {"b", 10, 1, 150});
  for (const std::uint64_t missing : {16, 19, 27}) {
    EXPECT_EQ(log.find(missing).why(), "the records that it was made of are no neighbours");
  }
  expect_place(log, 20, {"b", 11, 1, 200});
  expect_place(log, 21, {"b", 12, 3, 210});
  expect_place(log, 22, {"b", 15, 3});
  expect_place(log, 23, {"b", 99, 3, 230});
  expect_place(log, 24, {"b", 102, 3});
  expect_place(log, 25, {"b", 105, 3});
  expect_place(log, 26, {"b", 105, 1, 260});
}

TEST(PlaceLog, ForgetsTheOldestEntryAndItsFile) {
  constexpr std::uint64_t kEntriesMax = std::uint64_t{1} << 16;
  PlaceLog log;
  log.add_alone(0, "first", 7, 70);
  for (std::uint64_t i = 1; i < kEntriesMax; ++i)
    log.add_alone(i, i < 3 ? "second" : "third", i, i);
  expect_place(log, 0, {"first", 7, 1, 70});
  log.add_alone(kEntriesMax, "third", 5, 50);
  EXPECT_EQ(log.find(0).why(), "it lies too far back");
  expect_place(log, 1, {"second", 1, 1, 1});
  expect_place(log, 3, {"third", 3, 1, 3});
  expect_place(log, kEntriesMax, {"third", 5, 1, 50});
}

TEST(PositionLog, TellsKeptNeighboursFromOneOfSeveralInputs) {
  PositionLog log;
  log.add(0, 3, {100, 3});
  log.add(3, 2, {103, 2});
  log.add(5, 1, {110, 4});  // one of four inputs
  log.add(6, 2, {111, 2});
  log.add(9, 1, {113, 1});   // an element between them is missing
  log.add(10, 1, {120, 1});  // inputs between them were dropped
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(inputs_at(log, i), Origin(100 + i, 1)) << i;
  EXPECT_EQ(inputs_at(log, 5), Origin(110, 4));
  EXPECT_EQ(inputs_at(log, 6), Origin(111, 1));
  EXPECT_EQ(inputs_at(log, 7), Origin(112, 1));
  EXPECT_EQ(inputs_at(log, 8), std::nullopt);
  EXPECT_EQ(inputs_at(log, 9), Origin(113, 1));
  EXPECT_EQ(inputs_at(log, 10), Origin(120, 1));
  EXPECT_EQ(inputs_at(log, 11), std::nullopt);
}

TEST(PositionLog, KeptNeighboursTakeOneEntry) {
  PositionLog log;
  constexpr std::uint64_t kElements = 10'000;  // more than there are entries
  for (std::uint64_t i = 0; i < kElements; ++i) log.add(i, 1, {500 + i, 1});
  EXPECT_EQ(inputs_at(log, 0), Origin(500, 1));
  EXPECT_EQ(inputs_at(log, kElements - 1), Origin(500 + kElements - 1, 1));
}

TEST(PositionLog, TheFirstTwoNeighboursTakeOneEntryToo) {
  PositionLog log;
  constexpr std::uint64_t kEntries = 4096;  // as many as there are
  log.add(0, 1, {500, 1});
  log.add(1, 1, {501, 1});
  for (std::uint64_t i = 2; i <= kEntries; ++i) log.add(i, 1, {1000 + 2 * i, 1});
  EXPECT_EQ(inputs_at(log, 0), Origin(500, 1));
  EXPECT_EQ(inputs_at(log, 1), Origin(501, 1));
  EXPECT_EQ(inputs_at(log, kEntries), Origin(1000 + 2 * kEntries, 1));
}

TEST(ChoiceLog, FindsTheInputAndThePlaceThereOfEachElement) {
  ChoiceLog log;
  EXPECT_EQ(origin_at(log, 0), std::nullopt);
  log.begin_behind(10, {6, 4});
  EXPECT_EQ(origin_at(log, 9), std::nullopt) << "it came before";
  log.add(std::vector<std::uint16_t>{1, 0, ChoiceLog::kNone, 2});
  log.add(std::vector<std::uint16_t>{0, 1});
  EXPECT_EQ(origin_at(log, 9), std::nullopt) << "it came before";
  EXPECT_EQ(origin_at(log, 10), Origin(1, 4));
  EXPECT_EQ(origin_at(log, 11), Origin(0, 6));
  EXPECT_EQ(origin_at(log, 12), std::nullopt) << "an error of the choice";
  EXPECT_EQ(origin_at(log, 13), Origin(2, 0));
  EXPECT_EQ(origin_at(log, 14), Origin(0, 7));
  EXPECT_EQ(origin_at(log, 15), Origin(1, 5));
  EXPECT_EQ(origin_at(log, 16), std::nullopt) << "it has not come";
}

TEST(ChoiceLog, KeepsTheLastOnes) {
  constexpr std::uint64_t kChoices = (std::uint64_t{1} << 16) + 1;  // one more than it keeps
  ChoiceLog log;
  log.add(std::vector<std::uint16_t>(kChoices, 0));
  EXPECT_EQ(origin_at(log, 0), std::nullopt);
  EXPECT_EQ(origin_at(log, 1), Origin(0, 1));
  EXPECT_EQ(origin_at(log, kChoices - 1), Origin(0, kChoices - 1));
  EXPECT_EQ(origin_at(log, kChoices), std::nullopt) << "it has not come";
}

TEST(PositionLog, RowsOfWholeInputsTakeOneEntry) {
  PositionLog log;
  constexpr std::uint64_t kEach = 3;
  constexpr std::uint64_t kInputs = 10'000;  // more than there are entries
  for (std::uint64_t i = 0; i < kInputs; ++i) log.add_rows(i * kEach, kEach, 7 + i, kEach);
  for (std::uint64_t position = 0; position < kInputs * kEach; position += 501) {
    const auto inputs = log.find(position);
    ASSERT_TRUE(inputs);
    EXPECT_EQ(inputs->position, 7 + position / kEach);
    EXPECT_EQ(inputs->count, 1U);
  }
  EXPECT_FALSE(log.find(kInputs * kEach));
}

/// Whatever is taken and in which pieces, the input of each element is found again.
TEST(PositionLog, FindsTheInputOfEachElement) {
  SeededRandom random;
  for (int round = 0; round < 50; ++round) {
    PositionLog log;
    std::vector<std::uint64_t> input_of;
    for (std::uint64_t input = 0; input < 1000; ++input) {
      const std::uint64_t rows = 1 + random.below(round % 2 == 0 ? 2 : 5);
      // Some of its rows fail; the others come at once or in two pieces.
      const std::uint64_t taken = random.below(4) == 0 ? random.below(rows + 1) : rows;
      const std::uint64_t first = random.below(4) == 0 ? random.below(taken + 1) : taken;
      log.add_rows(input_of.size(), first, input, rows);
      log.add(input_of.size() + first, taken - first, {input, 1});
      input_of.insert(input_of.end(), taken, input);
    }
    for (std::size_t position = 0; position < input_of.size(); ++position) {
      const auto inputs = log.find(position);
      ASSERT_TRUE(inputs) << position;
      ASSERT_EQ(inputs->position, input_of[position]) << position;
      ASSERT_EQ(inputs->count, 1U);
    }
  }
}

TEST(PlaceLog, ForgetsWhatLiesBehindAPlace) {
  PlaceLog log;
  log.add(0, 4, "a", 0);
  log.add(4, 4, "b", 0);
  log.forget_from(6);
  expect_place(log, 5, {"b", 1, 1});
  EXPECT_FALSE(log.find(6).place);
  log.forget_from(4);
  EXPECT_FALSE(log.find(4).place);
  log.add(4, 2, "a", 9);
  expect_place(log, 3, {"a", 3, 1});
  expect_place(log, 5, {"a", 10, 1});
  log.forget_from(0);
  EXPECT_TRUE(log.is_empty());
}

TEST(RowLog, KnowsTheRowsOfEachBatch) {
  detail::RowLog log(4);
  EXPECT_EQ(log.rows_of(0), 0U);
  log.add(0, 0, 4, 10);
  log.add(1, 0, 4, 14);
  log.add_next(3, 0);
  log.drop_batch();
  log.add_next(2, 19);  // an error before them was element 2
  log.add_next(1, 22);
  log.end_batch(3);
  for (const auto& [position, rows] : std::vector<Origin>{{0, 4}, {1, 4}, {2, 0}, {3, 3}, {4, 0}})
    EXPECT_EQ(log.rows_of(position), rows) << position;
  EXPECT_EQ(log.find(0, 3), 13U);
  EXPECT_EQ(log.find(1, 0), 14U);
  EXPECT_EQ(log.find(2, 0), std::nullopt);
  EXPECT_EQ(log.find(3, 1), 20U);
  EXPECT_EQ(log.find(3, 2), 22U);
  EXPECT_EQ(log.find(3, 3), std::nullopt);
}

}  // namespace
}  // namespace infeed::test
