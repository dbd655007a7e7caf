#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// An error comes in its place among the batches: when it is met, before the unfinished batch.
Stream batched(const Slots& in, std::size_t size, bool drop_remainder) {
  Stream stream;
  Stream rows;
  const auto flush = [&] {
    std::string text = "[";
    for (const std::string& row : rows) text += (text.size() == 1 ? "" : " ") + row;
    stream.push_back(text + "]");
    rows.clear();
  };
  for (const Slot& slot : in) {
    if (slot.fails) {
      stream.push_back(show(slot));
      continue;
    }
    rows.push_back(show(slot));
    if (rows.size() == size) flush();
  }
  if (!rows.empty() && !drop_remainder) flush();
  return stream;
}

void run_batch_suite(std::int64_t size, bool drop_remainder) {
  SCOPED_TRACE(size);
  run_stage_suite(
      [=](auto dataset) { return dataset | batch(size, {.drop_remainder = drop_remainder}); },
      [=](const Slots& in) { return batched(in, static_cast<std::size_t>(size), drop_remainder); });
}

TEST(Batch, OfOnePassesTheSuite) { run_batch_suite(1, false); }
TEST(Batch, OfThreePassesTheSuite) { run_batch_suite(3, false); }
TEST(Batch, ThatDropsTheRemainderPassesTheSuite) { run_batch_suite(4, true); }
TEST(Batch, LargerThanAChunkPassesTheSuite) { run_batch_suite(290, false); }

TEST(Batch, OfBatchesPassesTheSuite) {
  run_stage_suite_on<std::int64_t>(
      [](auto dataset) { return dataset | batch(3) | batch(2) | repeat(2); },
      [](const Slots& in) {
        // Errors pass both.
        Slots inner;
        Stream names;
        for (const std::string& text : batched(in, 3, false)) {
          inner.push_back({static_cast<std::int64_t>(names.size()), text.starts_with("! ")});
          names.push_back(text);
        }
        Stream once;
        std::string rows;
        std::size_t count = 0;
        for (const Slot& slot : inner) {
          const std::string& text = names[static_cast<std::size_t>(slot.value)];
          if (slot.fails) {
            once.push_back(text);
            continue;
          }
          rows += (count == 0 ? "" : " ") + text;
          if (++count == 2) {
            once.push_back("[" + std::exchange(rows, "") + "]");
            count = 0;
          }
        }
        if (count > 0) once.push_back("[" + rows + "]");
        Stream twice = once;
        twice.insert(twice.end(), once.begin(), once.end());
        return twice;
      });
}

// --- Columns
// -----------------------------------------------------------------------------------------

struct Sample {
  std::array<float, 3> image;
  std::int64_t label;
  std::string name;
  bool flipped;

  friend bool operator==(const Sample&, const Sample&) = default;
};

Sample make_sample(std::int64_t i) {
  const float f = static_cast<float>(i);
  return {{f, f + 0.25F, f + 0.5F}, i * 10, fmt::format("sample number {:>20}", i), i % 2 == 1};
}

template <class T>
bool is_aligned(std::span<T> column) {
  return reinterpret_cast<std::uintptr_t>(column.data()) % 64 == 0;
}

TEST(Batch, TurnsStructsIntoColumns) {
  auto iterator = (range(10) | map(make_sample) | batch(4)).iterate();
  std::int64_t first = 0;
  while (const auto batch = iterator.next()) {
    const std::span<const std::array<float, 3>> images = batch->column(&Sample::image);
    const std::span<const std::int64_t> labels = batch->column<1>();
    const std::span<const std::string> names = batch->column(&Sample::name);
    const std::span<const bool> flips = batch->column<3>();
    EXPECT_EQ(batch->size(), first < 8 ? 4 : 2);
    EXPECT_TRUE(is_aligned(images) && is_aligned(labels) && is_aligned(names) && is_aligned(flips));
    for (std::size_t i = 0; i < batch->size(); ++i) {
      const Sample sample = make_sample(first + static_cast<std::int64_t>(i));
      EXPECT_EQ(images[i], sample.image);
      EXPECT_EQ(labels[i], sample.label);
      EXPECT_EQ(names[i], sample.name);
      EXPECT_EQ(flips[i], sample.flipped);
      EXPECT_EQ(batch->row(i), sample);
    }
    first += static_cast<std::int64_t>(batch->size());
  }
  EXPECT_EQ(first, 10);
}

TEST(Batch, TurnsPairsAndTuplesIntoColumns) {
  auto pairs = (range(3) | enumerate(7) | batch(3)).iterate();
  const auto batch_of_pairs = pairs.next();
  EXPECT_EQ(batch_of_pairs->column<0>()[2], 9);
  EXPECT_EQ(batch_of_pairs->column<1>()[2], 2);
  EXPECT_EQ(batch_of_pairs->row(1), (std::pair<std::int64_t, std::int64_t>(8, 1)));
  auto tuples =
      (range(3) |
       map([](std::int64_t x) { return std::tuple(x, std::to_string(x), static_cast<float>(x)); }) |
       batch(3))
          .iterate();
  const auto batch_of_tuples = tuples.next();
  EXPECT_EQ(batch_of_tuples->column<1>()[2], "2");
  EXPECT_EQ(batch_of_tuples->column<2>()[1], 1.0F);
}

TEST(Batch, OfNumbersIsOneColumn) {
  auto iterator = (range(5) | batch(5)).iterate();
  const auto batch = iterator.next();
  EXPECT_EQ((*batch)[3], 3);
  EXPECT_EQ(batch->values().size(), 5);
  EXPECT_TRUE(is_aligned(batch->values()));
  EXPECT_EQ(batch->row(2), 2);
}

TEST(Batch, CountsWhatItsElementsOwn) {
  const auto long_text = [](std::int64_t) { return std::string(1000, 'x'); };
  auto texts = (range(8) | map(long_text) | batch(8)).iterate();
  const std::size_t bytes = texts.next()->bytes();
  EXPECT_GE(bytes, 8 * (sizeof(std::string) + 1000));
  EXPECT_LE(bytes, 8 * (sizeof(std::string) + 1100) + 256);
  auto numbers = (range(8) | batch(8)).iterate();
  const std::size_t numbers_bytes = numbers.next()->bytes();  // with what keeps them
  EXPECT_GE(numbers_bytes, 64);
  EXPECT_LE(numbers_bytes, 256);
}

// --- Memory
// -----------------------------------------------------------------------------------------------

TEST(Batch, UsesTheSameMemoryAgain) {
  auto iterator = (range(100) | batch(10)).iterate();
  std::vector<const std::int64_t*> blocks;
  while (auto batch = iterator.next()) blocks.push_back(batch->values().data());
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  // The batches of a chunk are made before the first one comes back.
  EXPECT_LE(blocks.size(), 10);
  auto one_by_one = (range(100) | batch(10) | recut(3)).iterate();
  EXPECT_TRUE(one_by_one.next());
}

TEST(Batch, KeptByTheUserIsNeverWrittenAgain) {
  std::vector<Batch<std::int64_t>> kept;
  {
    auto iterator = (range(1000) | batch(7) | prefetch(2)).iterate();
    while (auto batch = iterator.next()) {
      if (kept.size() % 2 == 0) kept.push_back(*batch);  // a copy shares the memory
      kept.push_back(std::move(*batch));
    }
  }
  std::vector<const std::int64_t*> places;
  for (const auto& batch : kept) {
    for (std::size_t i = 1; i < batch.size(); ++i) EXPECT_EQ(batch[i], batch[0] + std::int64_t(i));
    EXPECT_EQ(batch[0] % 7, 0);
  }
}

TEST(Batch, AnEmptyOneIsEmpty) {
  const Batch<std::int64_t> nothing;
  EXPECT_EQ(nothing.size(), 0);
  EXPECT_TRUE(nothing.empty());
  EXPECT_TRUE(nothing.values().empty());
  EXPECT_EQ(nothing.bytes(), 0);
}

// --- Options
// -----------------------------------------------------------------------------------------------

TEST(Batch, KnowsItsLength) {
  EXPECT_EQ((range(10) | batch(4)).cardinality(), Cardinality::finite(3));
  EXPECT_EQ((range(10) | batch(4, {.drop_remainder = true})).cardinality(), Cardinality::finite(2));
  EXPECT_TRUE((counter() | batch(4)).cardinality().is_infinite());
}

TEST(Batch, RefusesSizesThatMakeNoSense) {
  EXPECT_EQ(error_of([] { range(3) | batch(0); }).message(), "batch: size is 0; give at least 1");
  EXPECT_EQ(error_of([] { range(3) | batch(-1); }).code(), ErrorCode::invalid_argument);
  const Error error = error_of([] { range(3) | batch(INT64_MAX); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "batch: size is 9223372036854775807; with rows of 8 bytes give at most 137438953472");
}

// --- Vectors
// ---------------------------------------------------------------------------------------

struct Utterance {
  std::string text;
  std::vector<float> samples;
  std::int64_t label;
};

Utterance utterance(std::int64_t samples) {
  return {std::string(static_cast<std::size_t>(samples), 'a'),
          std::vector<float>(static_cast<std::size_t>(samples)), samples};
}

TEST(Batch, RefusesVectorsOfUnequalLengths) {
  const auto dataset =
      range(8) | map([](std::int64_t x) { return std::vector<std::int64_t>(x == 4 ? 3 : 2, x); }) |
      batch(3);
  auto iterator = dataset.iterate();
  EXPECT_EQ(iterator.next()->values()[2], (std::vector<std::int64_t>{2, 2}));
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "batch: row 1 has 3 values in column 0, row 0 has 2; the batch's 3 rows are lost; for "
            "vectors of different lengths use padded_batch, ragged_batch or "
            "bucket_by_sequence_length");
  EXPECT_EQ(iterator.position(), 2);
  // The error stands for its batch: from here on, and resumed from here, the same elements follow.
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(iterator.next()->size(), 2);
  EXPECT_FALSE(iterator.next().has_value());
  auto resumed = dataset.iterate({.resume = checkpoint});
  EXPECT_EQ(resumed.next()->values()[1], (std::vector<std::int64_t>{7, 7}));
  EXPECT_FALSE(resumed.next().has_value());
}

TEST(Batch, RefusesAShortLastBatchOfUnequalLengthsToo) {
  const auto vectors =
      range(5) | map([](std::int64_t x) { return std::vector<float>(x == 4 ? 3 : 2); });
  auto iterator = (vectors | batch(3)).iterate();
  EXPECT_EQ(iterator.next()->size(), 3);
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(iterator.next().has_value());
  auto dropped = (vectors | batch(3, {.drop_remainder = true})).iterate();
  EXPECT_EQ(dropped.next()->size(), 3);
  EXPECT_FALSE(dropped.next().has_value());
}

template <class Number>
void expect_refused_when_unequal() {
  const auto vectors =
      range(2) | map([](std::int64_t x) { return std::vector<Number>(x == 1 ? 3 : 2); });
  EXPECT_EQ(error_of([&] { (vectors | batch(2)).iterate().next(); }).code(),
            ErrorCode::invalid_argument);
}

TEST(Batch, RefusesUnequalVectorsOf16BitNumbers) {
  expect_refused_when_unequal<bfloat16>();
  expect_refused_when_unequal<float16>();
}

TEST(Batch, RefusesColumnsOfUnequalVectorsButNotOfStrings) {
  const auto of_columns = range(1, 5) | map(utterance) | batch(2);
  const Error error = error_of([&] { of_columns.iterate().next(); });
  EXPECT_EQ(error.message().substr(0, 59),
            "batch: row 1 has 2 values in column 1, row 0 has 1; the bat");
  const auto texts = range(1, 5) | map([](std::int64_t x) { return utterance(x).text; }) | batch(4);
  EXPECT_EQ(texts.iterate().next()->values()[3], "aaaa");
  const auto objects = range(1, 3) | map([](std::int64_t x) {
                         return std::vector<std::string>(static_cast<std::size_t>(x), "word");
                       }) |
                       batch(2);
  EXPECT_EQ(objects.iterate().next()->values()[1].size(), 2);
}

}  // namespace
}  // namespace infeed::test
