#include <chrono>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "records/temporary_files.h"
#include "seeded_random.h"
#include "thrown_error.h"

// Batches whose size nobody knows beforehand.
namespace infeed::test {
namespace {

struct SwingingRow {
  std::vector<std::int64_t> tokens;
  std::vector<std::string> words;
};

class RowMemory : public ::testing::Test {
 protected:
  /// Stretches of small records, and of records with up to 60 KB of text and 10,000 tokens.
  void write(std::size_t records) {
    RecordWriter writer(file_);
    std::size_t scale = 1;
    for (std::size_t i = 0; i < records; ++i) {
      if (random_.chance(0.01)) scale = random_.chance(0.5) ? 1 : 1 + random_.below(1000);
      ExampleBuilder builder;
      const std::vector<std::int64_t> tokens(random_.below(10 * scale + 1), 70'000);
      builder.integers("tokens", std::span<const std::int64_t>(tokens));
      builder.bytes("text", std::string(random_.below(60 * scale + 1), 'x'));
      const std::vector<std::string> words(random_.below(3), std::string(scale, 'w'));
      builder.bytes("words", std::span<const std::string>(words));
      writer.write(builder.encode());
    }
    writer.close();
  }
  static ColumnSchema columns() {
    return ColumnSchema().ragged("tokens", DType::int64).bytes("text").ragged_bytes("words");
  }

  /// Goes on behind damaged batches; throws terminal errors.
  template <class B>
  static void take_stream_of_batches(Iterator<B>& iterator) {
    for (bool goes_on = true; goes_on;) {
      try {
        goes_on = iterator.next().has_value();
      } catch (const Error& error) {
        if (error.is_terminal()) throw;
        EXPECT_EQ(error.code(), ErrorCode::data_loss) << error.what();
      }
    }
  }

  SeededRandom random_;
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("data");
};

/// However little room there is, the same batches come, or an Error says how much they need.
TEST_F(RowMemory, AnyLimitGivesTheSameBatchesOrAnError) {
  write(600);
  const auto hashes = [&](std::uint64_t limit, std::int64_t parallelism) {
    std::vector<std::uint64_t> all;
    auto iterator = (records(file_, {.block_bytes = 4096}) | repeat(2) |
                     parse_columns(columns(), 7, {.parallelism = parallelism}))
                        .iterate({.memory_bytes_max = limit});
    while (const auto batch = iterator.next()) all.push_back(batch->hash());
    return all;
  };
  const std::vector<std::uint64_t> expected = hashes(0, 1);
  std::size_t whole = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t limit = 1'000 + random_.below(std::size_t{1} << (14 + round % 12));
    SCOPED_TRACE("limit " + std::to_string(limit));
    try {
      ASSERT_EQ(hashes(limit, 1 + round % 4), expected);
      ++whole;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(whole, 5U);
  EXPECT_GT(refused, 5U);
}

/// Arrays begin as large as those of the batch before, of another run, too. The batches that came in one
/// run were refused in the next.
TEST_F(RowMemory, IsRefusedInTheSamePlaceWhateverWasFilledBefore) {
  constexpr std::size_t kSmallRows = 10;
  constexpr std::uint64_t kLimit = 400'000;
  RecordWriter writer(file_, {.existing = ExistingFile::replace});
  for (std::size_t i = 0; i <= kSmallRows; ++i) {
    const std::vector<std::int64_t> tokens(i < kSmallRows ? 10 : 100'000, 7);
    ExampleBuilder builder;
    builder.integers("tokens", std::span<const std::int64_t>(tokens));
    const std::vector<std::string> words(1, "word");
    builder.bytes("words", std::span<const std::string>(words));
    writer.write(builder.encode());
  }
  writer.close();
  const auto expect_refusal_behind_small_rows = [&](const auto& batches) {
    for (auto whole = batches.iterate(); whole.next();) {
    }
    auto iterator = batches.iterate({.memory_bytes_max = kLimit});
    std::size_t taken = 0;
    const Error error = error_of([&] {
      for (; iterator.next(); ++taken) {
      }
    });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
    EXPECT_EQ(taken, kSmallRows);
  };
  const auto padded = ColumnSchema().padded("tokens", DType::int64);
  const auto rows = ExampleSchema<SwingingRow>()
                        .feature("tokens", &SwingingRow::tokens)
                        .feature("words", &SwingingRow::words);
  for (const std::int64_t parallelism : {1, 3}) {
    SCOPED_TRACE(parallelism);
    expect_refusal_behind_small_rows(records(file_) |
                                     parse_ragged_batch(rows, 1, {.parallelism = parallelism}));
    expect_refusal_behind_small_rows(records(file_) |
                                     parse_columns(padded, 1, {.parallelism = parallelism}));
  }
}

/// Makes batches of numbers. One with the number `large` needs more than the limit, and the number
/// `slow` is written once that was seen.
struct FillNumbers {
  struct Filling {
    std::vector<std::int64_t> numbers;
    const FillNumbers* fill;
  };
  using Result = std::vector<std::int64_t>;
  static constexpr std::uint64_t kLimit = 1'000'000;

  Filling begin(std::size_t) const { return {{}, this}; }
  void write_row(std::int64_t number, Filling& filling, std::size_t, const detail::Place&,
                 std::size_t) const {
    if (number == slow) is_too_large->wait();
    filling.numbers.push_back(number);
  }
  static void truncate(Filling& filling, std::size_t rows) { filling.numbers.resize(rows); }
  static detail::FillingBytes filling_bytes(const Filling& filling) {
    const auto& [numbers, fill] = filling;
    const bool is_large = std::find(numbers.begin(), numbers.end(), fill->large) != numbers.end();
    if (is_large) fill->is_too_large->count_down();
    return {.all = is_large ? kLimit : 8 * numbers.size(), .spare = 0};
  }
  Result finish(Filling filling, std::size_t, std::span<const std::size_t>) const {
    return std::move(filling.numbers);
  }
  static bool rows_have_places() { return false; }
  static std::uint64_t batch_bytes_min() { return 8; }

  std::int64_t large;
  std::int64_t slow = -1;
  std::shared_ptr<std::latch> is_too_large = std::make_shared<std::latch>(1);
};

TEST(RowFillingMemory, ARefusalWaitsForTheBatchesBefore) {
  auto iterator = detail::fill_batches(range(3), 1, FillNumbers{.large = 1, .slow = 0}, "fill",
                                       BatchIntoOptions{.parallelism = 2})
                      .iterate({.memory_bytes_max = FillNumbers::kLimit});
  EXPECT_EQ(iterator.next(), std::vector<std::int64_t>{0});
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
  EXPECT_TRUE(error.is_terminal());
}

/// How far the input was read when the batch was refused made the difference.
TEST(RowFillingMemory, ARefusalWaitsForTheErrorsBeforeTheBatch) {
  const auto numbers = range(8) | map([](std::int64_t number) {
                         if (number == 2) throw Error(ErrorCode::data_loss, "it is damaged");
                         return number;
                       });
  for (const std::int64_t parallelism : {1, 2}) {
    auto iterator = detail::fill_batches(numbers, 4, FillNumbers{.large = 0}, "fill",
                                         BatchIntoOptions{.parallelism = parallelism})
                        .iterate({.memory_bytes_max = FillNumbers::kLimit});
    EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::data_loss);
    EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::resource_exhausted);
  }
}

/// The statistics said that a batch was made of nothing.
TEST_F(RowMemory, RecordsOfARefusedBatchAreCounted) {
  RecordWriter writer(file_, {.existing = ExistingFile::replace});
  ExampleBuilder builder;
  builder.bytes("text", std::string(1000, 'x'));
  const std::string example(builder.encode());
  for (int i = 0; i < 100; ++i) writer.write(example);
  writer.close();
  const ColumnSchema schema = ColumnSchema().bytes("text");
  for (const std::int64_t parallelism : {1, 2}) {
    auto iterator = (records(file_) | parse_columns(schema, 100, {.parallelism = parallelism}))
                        .iterate({.memory_bytes_max = 65'536});
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
    EXPECT_GT(iterator.statistics().stages[1].elements, 0U);
  }
}

/// The rest behind a damaged record need not be written; it kept the damaged batch from its end.
TEST_F(RowMemory, DamageEndsABatchInAnyLimit) {
  RecordWriter writer(file_, {.existing = ExistingFile::replace});
  for (std::size_t i = 0; i < 2000; ++i) {
    ExampleBuilder builder;
    const std::vector<std::int64_t> tokens(1 + random_.below(30), 7);
    builder.integers("tokens", std::span<const std::int64_t>(tokens));
    const std::vector<std::string> words(random_.below(3), "word");
    builder.bytes("words", std::span<const std::string>(words));
    writer.write(builder.encode());
  }
  writer.close();
  flip_bits(file_, std::filesystem::file_size(file_) / 2, 0x10);
  const auto schema = ExampleSchema<SwingingRow>()
                          .feature("tokens", &SwingingRow::tokens)
                          .feature("words", &SwingingRow::words);
  for (const std::int64_t rows : {16, 32}) {
    for (double limit = 4096; limit < 8'000'000; limit *= 1.13) {
      SCOPED_TRACE("limit " + std::to_string(limit));
      const auto batches = records(file_) | parse_ragged_batch(schema, rows);
      try {
        auto iterator = batches.iterate({.memory_bytes_max = static_cast<std::uint64_t>(limit),
                                         .watchdog = std::chrono::seconds(20)});
        take_stream_of_batches(iterator);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      }
    }
  }
}

TEST_F(RowMemory, ThePlacesOfARecordSetCount) {
  RecordWriter writer(file_, {.index = true, .existing = ExistingFile::replace});
  for (int i = 0; i < 10'000; ++i) writer.write("record");
  writer.close();
  write_index(writer.index(), file_ + ".index");
  const RecordSet set(file_);
  EXPECT_GT(set.memory_bytes_max(), 40'000U);
  EXPECT_LT(set.memory_bytes_max(), 45'000U);
  EXPECT_EQ(set.select({1, 2, 3}).memory_bytes_max(), set.memory_bytes_max() + 24);
  auto iterator = indexed_records(set).iterate({.memory_bytes_max = 100'000});
  EXPECT_TRUE(iterator.next());
  EXPECT_GE(iterator.memory().peak_bytes(), set.memory_bytes_max());
  const Error error = error_of([&] { indexed_records(set).iterate({.memory_bytes_max = 40'000}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_NE(std::string(error.message()).find("indexed_records"), std::string::npos);
}

}  // namespace
}  // namespace infeed::test
