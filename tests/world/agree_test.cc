#include <atomic>
#include <cstdint>
#include <optional>
#include <set>

#include <infeed/agree.h>
#include <infeed/keep_rows.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/shuffle.h>
#include <infeed/records/example.h>
#include <infeed/share.h>

#include "thrown_error.h"
#include "world/local_world.h"

namespace infeed::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

/// Describes a host's part of a stream with that seed.
Dataset<Batch<std::int64_t>> part_of(const World& world, std::uint64_t seed) {
  return range(1000) | shuffle({.buffer = 100, .seed = seed}) | share_of(world) |
         batch(host_rows_max(world, 32)) | host_batches(world, 32);
}

TEST(Agree, RanksOfOneJobHaveTheSameFacts) {
  for (int size = 1; size <= 5; ++size) {
    LocalWorld world(size);
    const auto errors = world.run([](Communicator& ranks) {
      auto iterator = part_of(ranks.world(), 7).iterate();
      agree(ranks, "the start", facts_of(iterator.checkpoint(), ranks.world()));
      iterator.next();
      agree(ranks, "step 1", facts_of(iterator.checkpoint(), ranks.world()));
    });
    EXPECT_THAT(errors, Each(IsEmpty())) << size;
  }
}

TEST(Agree, NamesTheRankWithAnotherSeedWorldOrPosition) {
  LocalWorld world(4);
  const auto seeds = world.run([](Communicator& ranks) {
    auto iterator = part_of(ranks.world(), ranks.world().rank == 2 ? 8 : 7).iterate();
    agree(ranks, "the start", facts_of(iterator.checkpoint(), ranks.world()));
  });
  EXPECT_THAT(seeds, Each(AllOf(HasSubstr("failed_precondition"), HasSubstr("differ at the start"),
                                HasSubstr("pipeline: rank 2 has"), HasSubstr("seed2=8"),
                                HasSubstr("rank 0 has"))));
  const auto worlds = world.run([](Communicator& ranks) {
    World own = ranks.world();
    if (own.rank == 3) own.size = 5;
    const auto checkpoint = part_of(own, 7).iterate().checkpoint();
    agree(ranks, "the start", facts_of(checkpoint, own));
  });
  EXPECT_THAT(worlds, Each(HasSubstr("pipeline: rank 3 has")));
  const auto positions = LocalWorld(2).run([](Communicator& ranks) {
    auto iterator = part_of(ranks.world(), 7).iterate();
    if (ranks.world().rank == 1) iterator.next();
    agree(ranks, "step 9", facts_of(iterator.checkpoint(), ranks.world()));
  });
  EXPECT_THAT(positions, Each(HasSubstr("position: rank 1 has '1', rank 0 has '0'")));
}

TEST(Agree, SaysWhichFactARankLacks) {
  const auto errors = LocalWorld(2).run([](Communicator& ranks) {
    std::vector<JobFact> facts{{"seed", "1"}};
    if (ranks.world().rank == 1) facts.push_back({"files", "7: with a colon"});
    agree(ranks, "the start", facts);
  });
  EXPECT_THAT(errors,
              Each(HasSubstr("files: rank 1 has '7: with a colon', rank 0 has '(nothing)'")));
}

TEST(CrossCheck, FindsTheRankThatReadsOtherData) {
  const auto hash_at = [](int reader, const World& world) {
    // Rank 1 reads a copy of the data in which something differs.
    return std::uint64_t{100} + static_cast<std::uint64_t>(world.rank) + (reader == 1 ? 1000 : 0);
  };
  const auto errors = LocalWorld(3).run([&](Communicator& ranks) {
    cross_check(ranks, 5, [&](const World& world) { return hash_at(0, world); });
    cross_check(ranks, 6, [&](const World& world) { return hash_at(ranks.world().rank, world); });
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("cross-check of step 6"), HasSubstr("rank 1 made"),
                                 HasSubstr("where rank 0 makes"), HasSubstr("other data"))));
}

TEST(KeptRowsTest, ManyKindsOfColumnsHaveARowForABadRecord) {
  const ColumnSchema schema = ColumnSchema()
                                  .column("image", DType::uint8, {2, 3})
                                  .column("label", DType::int64)
                                  .column("weights", DType::float32, {4})
                                  .column("half", DType::bfloat16)
                                  .column("flag", DType::uint8)
                                  .ragged("tokens", DType::int32)
                                  .ragged("pixels", DType::uint8)
                                  .padded("ids", DType::int32, 5)
                                  .bytes("text")
                                  .ragged_bytes("tags");
  const auto kept = std::make_shared<KeptRows>(schema);
  ExampleBuilder good;
  good.integers("label", 7).bytes("text", "hello").integers("flag", 1);
  good.bytes("image", "abcdef").floats("weights", std::vector<float>{1, 2, 3, 4}).floats("half", 1);
  good.integers("tokens", std::vector<std::int64_t>{1, 2}).bytes("pixels", "xyz");
  good.integers("ids", 4).bytes("tags", "t");
  const std::string bytes = good.encode();
  const auto rows = range(6) | map([bytes](std::int64_t i) {
                      if (i == 4) throw std::runtime_error("gone");
                      return Record(i % 2 == 0 ? bytes : bytes.substr(0, bytes.size() - 3));
                    });
  auto iterator = (rows | keep_rows(kept, 6)).iterate();
  const std::optional<ColumnBatch> batch = iterator.next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->column("valid").values<std::uint8_t>(),
              testing::ElementsAre(1, 0, 1, 0, 0, 0));
  EXPECT_THAT(batch->column("label").values<std::int64_t>(),
              testing::ElementsAre(7, 0, 7, 0, 0, 0));
  EXPECT_EQ(batch->column("text").bytes(2), "hello");
  EXPECT_EQ(batch->column("text").bytes(3), "");
  // A number says what is bad, so it doesn't depend on threads.
  const auto numbers = batch->column("bad_row").values<std::int64_t>();
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 3) << "good, cut, gone";
  EXPECT_EQ(kept->take(*batch), 4);
  EXPECT_THAT(kept->taken(), testing::Contains(testing::Field(&BadRow::reason, HasSubstr("gone"))));
  EXPECT_FALSE(iterator.next());
  // The row that fills up a batch is invalid, but nobody's record.
  const auto filled_up = range(2) | map([bytes, kept](std::int64_t i) {
                           return i == 0 ? Record(bytes) : padding_record(*kept);
                         });
  auto padded = (filled_up | keep_rows(kept, 2)).iterate();
  const std::optional<ColumnBatch> last = padded.next();
  ASSERT_TRUE(last);
  EXPECT_THAT(last->column("valid").values<std::uint8_t>(), testing::ElementsAre(1, 0));
  EXPECT_EQ(kept->take(*last), 0);
}

/// A row of zeros stood for whatever a server didn't give at the moment.
TEST(KeptRowsTest, AServersTroubleIsNoBadRecord) {
  const ColumnSchema schema = ColumnSchema().column("id", DType::int64);
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::deadline_exceeded}) {
    bool is_well = false;
    const auto rows = range(8) | map([&](std::int64_t i) {
                        if (i == 1) throw Error(ErrorCode::data_loss, "it is damaged");
                        if (i == 5 && !is_well) throw Error(code, "the server has trouble");
                        return Record(ExampleBuilder().integers("id", i).encode());
                      });
    const auto batches = rows | keep_rows(std::make_shared<KeptRows>(schema), 2);
    auto iterator = batches.iterate();
    EXPECT_THAT(iterator.next()->column("valid").values<std::uint8_t>(),
                testing::ElementsAre(1, 0));
    EXPECT_TRUE(iterator.next());
    for (int call = 0; call < 2; ++call) {
      const Error error = error_of([&] { iterator.next(); });
      EXPECT_EQ(error.code(), code);
      EXPECT_TRUE(error.is_terminal());
      EXPECT_THAT(error.message(), HasSubstr("the server has trouble"));
    }
    is_well = true;
    auto resumed = batches.iterate({.resume = iterator.checkpoint()});
    for (const std::int64_t id : {4, 6}) {
      EXPECT_THAT(resumed.next()->column("id").values<std::int64_t>(),
                  testing::ElementsAre(id, id + 1));
    }
    EXPECT_FALSE(resumed.next());
  }
}

TEST(KeptRowsTest, RefusesASchemaThatNoRecordFits) {
  const auto kept = std::make_shared<KeptRows>(ColumnSchema().column("id", DType::int64),
                                               KeepRowsOptions{.only_bad_max = 3});
  const auto rows = range(10) | map([](std::int64_t) { return Record("nonsense"); });
  auto iterator = (rows | keep_rows(kept, 2)).iterate();
  EXPECT_TRUE(iterator.next());
  EXPECT_THAT(error_of([&] { iterator.next(); }).message(),
              HasSubstr("none of the first 3 records gave a row"));
  const Error names = error_of([] { KeptRows(ColumnSchema().column("valid", DType::int64)); });
  EXPECT_EQ(names.code(), ErrorCode::invalid_argument);
  const Error lists =
      error_of([] { KeptRows(ColumnSchema().ragged("frames", DType::int64).from_feature_list()); });
  EXPECT_THAT(lists.message(), HasSubstr("default"));
}

/// A program's pipeline, with records of the numbers from `good_begin` to `good_end`, and bad ones
/// before and behind. Each row is shown by `valid`.
Dataset<std::int64_t> shown_rows(std::int64_t good_begin, std::int64_t good_end,
                                 Count parallelism) {
  const auto kept = std::make_shared<KeptRows>(ColumnSchema().column("id", DType::int64),
                                               KeepRowsOptions{.only_bad_max = 3});
  return range(60) | map([=](std::int64_t i) {
           ExampleBuilder example;
           example.integers("id", i);
           const bool is_good = good_begin <= i && i < good_end;
           return Record(is_good ? example.encode() : std::string("nonsense"));
         }) |
         keep_rows(kept, 2, {.parallelism = parallelism}) | map([](const ColumnBatch& batch) {
           const auto valid = batch.column("valid").values<std::uint8_t>();
           return std::int64_t{10 * valid[0] + valid[1]};
         });
}

/// In the threads, and in the process that goes on, none was good yet.
TEST(KeptRowsTest, BadRecordsBehindAGoodOneKeepTheirRowsAlsoInAResume) {
  for (const int parallelism : {1, 3}) {
    std::vector<std::int64_t> all;
    for (const std::int64_t rows : shown_rows(2, 4, parallelism).iterate()) all.push_back(rows);
    ASSERT_EQ(all.size(), 30U);
    EXPECT_EQ(all[1], 11);
    EXPECT_EQ(all[29], 0);
    for (const std::size_t taken : {0, 1, 2, 5, 6, 7, 20, 29}) {
      SCOPED_TRACE(testing::Message() << parallelism << " threads, batch " << taken);
      const auto before = shown_rows(2, 4, parallelism);
      auto iterator = before.iterate();
      for (std::size_t i = 0; i < taken; ++i) iterator.next();
      const auto dataset = shown_rows(2, 4, parallelism);
      std::vector<std::int64_t> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(taken));
      for (const std::int64_t rows : dataset.iterate({.resume = iterator.checkpoint()}))
        rest.push_back(rows);
      EXPECT_EQ(rest, all);
    }
  }
}

TEST(KeptRowsTest, TheFirstRecordsOfEachPassAreJudgedInTheirOrder) {
  for (const int parallelism : {1, 3}) {
    SCOPED_TRACE(parallelism);
    const auto dataset = shown_rows(3, 60, parallelism);
    for (int pass = 0; pass < 2; ++pass) {
      auto iterator = dataset.iterate();
      EXPECT_EQ(iterator.next(), 0);
      const Error error = error_of([&] { iterator.next(); });
      EXPECT_THAT(error.message(), HasSubstr("none of the first 3 records gave a row"));
      EXPECT_TRUE(error.is_terminal());
    }
  }
}

/// So many records for the verdict that there is none.
TEST(KeptRowsTest, AResumeJumpsHoweverManyRecordsTheVerdictTakes) {
  const auto kept = std::make_shared<KeptRows>(ColumnSchema().column("id", DType::int64),
                                               KeepRowsOptions{.only_bad_max = UINT64_MAX});
  std::atomic<std::uint64_t> calls = 0;
  const auto batches = range(60'000) | map([&calls](std::int64_t i) {
                         ++calls;
                         return i;
                       }) |
                       shuffle({.buffer = 64, .seed = 1}) | map([](std::int64_t i) {
                         ExampleBuilder example;
                         example.integers("id", i);
                         return Record(example.encode());
                       }) |
                       keep_rows(kept, 100);
  auto iterator = batches.iterate();
  for (int i = 0; i < 300; ++i) iterator.next();
  calls = 0;
  auto resumed = batches.iterate({.resume = iterator.checkpoint()});
  const std::optional<ColumnBatch> batch = resumed.next();
  EXPECT_LT(calls, 10'000U) << "a shuffle that was begun reads all";
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch, iterator.next());
}

/// A record that stands for damage parses, whatever the schema is.
TEST(KeptRowsTest, DamageIsNoProofOfTheSchema) {
  const auto kept = std::make_shared<KeptRows>(ColumnSchema().column("id", DType::int64),
                                               KeepRowsOptions{.only_bad_max = 3});
  const auto rows = range(10) | map([](std::int64_t i) {
                      if (i == 1) throw std::runtime_error("gone");
                      return Record("nonsense");
                    });
  auto iterator = (rows | keep_rows(kept, 4)).iterate();
  EXPECT_TRUE(iterator.next());
  EXPECT_THAT(error_of([&] { iterator.next(); }).message(),
              HasSubstr("none of the first 3 records gave a row"));
}

TEST(KeptRowsTest, ALedgerNumbersWhatIsBadWhereverItIsRead) {
  BadRowLedger here;
  BadRowLedger there;
  const BadRow row{"/a/rows.tfrecord", 7, 90, "data_loss: cut"};
  const BadRow copy{"/b/rows.tfrecord", 7, 90, "data_loss: cut"};
  const std::int64_t number = here.note(row);
  EXPECT_GT(number, 0);
  EXPECT_EQ(there.note(copy), number);
  EXPECT_NE(here.note({"/a/rows.tfrecord", 8, 90, "data_loss: cut"}), number);
  EXPECT_EQ(here.row(number), row);
  EXPECT_THAT(BadRowLedger().row(number).reason, HasSubstr("another process"));
}

TEST(KeptRowsTest, ListsOfBadRowsAreText) {
  const std::vector<BadRow> rows{{"a\tfile", 1, 2, "two\nlines \\ and more"}, {"b", 0, 0, ""}};
  EXPECT_EQ(bad_rows_from_text(to_text(rows)), rows);
  EXPECT_THAT(bad_rows_from_text(""), IsEmpty());
  for (const char* const bad : {"a\t1\t2\n", "a\tx\t2\tr\n", "a\t1\t2\tr\tmore\n", "\n"}) {
    EXPECT_THAT(error_of([&] { bad_rows_from_text(bad); }).message(),
                HasSubstr("line 1 of a list"));
  }
}

}  // namespace
}  // namespace infeed::test
