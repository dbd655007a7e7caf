#include <numeric>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "sources/from_chunks.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

ColumnBatch numbered_columns(std::int64_t rows) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::int64_t> splits(numbers);
  splits.push_back(rows);
  return ColumnBatch(
      {{"id", Column::dense(Tensor::copy_of<std::int64_t>({rows}, numbers))},
       {"tokens", Column::ragged(Tensor::copy_of<std::int64_t>({rows}, numbers),
                                 {Tensor::copy_of<std::int64_t>({rows + 1}, splits)})}});
}

Dataset<std::vector<std::int64_t>> ids_of(const Dataset<ColumnBatch>& batches) {
  return batches | map([](const ColumnBatch& batch) {
           const auto ids = batch.column("id").values<std::int64_t>();
           const auto tokens = batch.column("tokens").values<std::int64_t>();
           EXPECT_TRUE(std::equal(ids.begin(), ids.end(), tokens.begin(), tokens.end()));
           return std::vector<std::int64_t>(ids.begin(), ids.end());
         });
}

TEST(FromColumns, PassesTheSuite) {
  const ColumnBatch all = numbered_columns(100);
  Stream expected;
  for (std::int64_t i = 0; i < 100; i += 7) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min<std::int64_t>(7, 100 - i)));
    std::iota(ids.begin(), ids.end(), i);
    expected.push_back(show(ids));
  }
  run_source_suite([&] { return ids_of(from_columns(all, 7)); }, expected);
  expected.pop_back();
  run_source_suite([&] { return ids_of(from_columns(all, 7, {.drop_remainder = true})); },
                   expected);
}

TEST(FromChunks, IsAsOneOfOneChunk) {
  const ColumnBatch all = numbered_columns(100);
  const std::vector<ColumnBatch> chunks = {all.slice(0, 0),  all.slice(0, 10),  all.slice(10, 1),
                                           all.slice(11, 0), all.slice(11, 60), all.slice(71, 29)};
  const Stream expected = stream_of(ids_of(from_columns(all, 7)));
  run_source_suite([&] { return ids_of(detail::from_chunks(chunks, 7)); }, expected);
  EXPECT_EQ(stream_of(ids_of(detail::from_chunks(chunks, 7) | global_shuffle({.seed = 3}))),
            stream_of(ids_of(from_columns(all, 7) | global_shuffle({.seed = 3}))));
  const auto first = detail::from_chunks(chunks, 10).iterate().next();
  EXPECT_EQ(first->column("id").values().data(), all.column("id").values().data());
  EXPECT_EQ(detail::from_chunks({all.slice(0, 0), all.slice(5, 0)}, 7).cardinality(),
            Cardinality::finite(0));
  EXPECT_THAT(error_of([&] {
                detail::from_chunks({all, all.select({"id"})}, 7);
              }).message(),
              HasSubstr("tokens"));
}

TEST(FromColumns, ShowsWithoutCopyingAndAtAnyPlace) {
  const ColumnBatch all = numbered_columns(10);
  const auto batches = from_columns(all, 4);
  EXPECT_EQ(batches.cardinality(), Cardinality::finite(3));
  EXPECT_EQ(from_columns(all, 4, {.drop_remainder = true}).cardinality(), Cardinality::finite(2));
  EXPECT_EQ(from_columns(ColumnBatch(), 4).cardinality(), Cardinality::finite(0));
  auto iterator = batches.iterate();
  iterator.next();
  EXPECT_EQ(iterator.next()->column("id").values().data(), all.column("id").values().data() + 32);
  Stream shuffled = stream_of(ids_of(batches | global_shuffle({.seed = 3})));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, (Stream{"{0 1 2 3}", "{4 5 6 7}", "{8 9}"}));
  EXPECT_THAT(error_of([&] { from_columns(all, 0); }).message(),
              HasSubstr("from_columns: the size of a batch is 0; give 1 row or more"));
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(error_of([&] { from_columns(all, 5).iterate({.resume = checkpoint}); }).code(),
            ErrorCode::failed_precondition);
}

TEST(FromMemory, PassesTheSuiteAndKeepsTheOwner) {
  std::vector<std::int64_t> numbers_expected(300);
  std::iota(numbers_expected.begin(), numbers_expected.end(), 5);
  auto owner = std::make_shared<const std::vector<std::int64_t>>(numbers_expected);
  const std::span<const std::int64_t> values(*owner);
  run_source_suite([&] { return from_memory(values, owner); }, numbers(numbers_expected));
  const std::weak_ptr<const void> seen = owner;
  {
    auto iterator = from_memory(values, std::move(owner)).iterate();
    EXPECT_EQ(iterator.next(), 5);
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
  static constexpr std::array<int, 3> kForever = {1, 2, 3};
  EXPECT_EQ(stream_of(from_memory(std::span<const int>(kForever), nullptr)), numbers({1, 2, 3}));
}

}  // namespace
}  // namespace infeed::test
