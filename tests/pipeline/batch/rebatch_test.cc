#include <limits>

#include <infeed/infeed.h>

#include "pipeline/batch/suite_rows.h"
#include "pipeline/suite/resumes_anywhere.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Computes batch(before) | rebatch(sizes) row by row.
Stream rebatch_model(const Slots& in, std::size_t before, const std::vector<std::size_t>& sizes,
                     bool drop_remainder, const std::string& brackets = "[]") {
  Stream stream;
  Stream rows;
  std::size_t turn = 0;
  std::vector<std::string> batch;
  const auto join = [&brackets](const Stream& texts) {
    std::string text;
    for (const std::string& row : texts) text += (text.empty() ? "" : " ") + row;
    return brackets.front() + text + brackets.back();
  };
  // An empty batch comes in its turn, before the rows of the next batch, but not before the first one.
  bool has_begun = false;
  const auto give_full = [&] {
    while (rows.size() == sizes[turn]) {
      stream.push_back(join(rows));
      rows.clear();
      turn = (turn + 1) % sizes.size();
    }
  };
  const auto flush = [&] {
    if (!batch.empty() && !std::exchange(has_begun, true)) give_full();
    for (const std::string& row : batch) {
      rows.push_back(row);
      give_full();
    }
    batch.clear();
  };
  for (const Slot& slot : in) {
    if (slot.fails) {
      stream.push_back(show(slot));
      continue;
    }
    batch.push_back(show(slot));
    if (batch.size() == before) flush();
  }
  flush();
  if (!rows.empty() && !drop_remainder) stream.push_back(join(rows));
  return stream;
}

/// Tests batches of every other kind: `make` makes them from numbers, `before` rows each, and
/// `numbers_of` returns the rows' numbers.
template <class Make, class NumbersOf>
void check_rebatching(const Make& make, const NumbersOf& numbers_of) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{4}, {2, 0, 3}, {7}, {0, 3}}) {
    SCOPED_TRACE(::testing::PrintToString(sizes));
    const bool drop = sizes.size() == 3;
    run_stage_suite_on<std::int64_t>(
        [&](auto dataset) {
          return make(dataset, 4) | rebatch(sizes, {.drop_remainder = drop}) | map(numbers_of);
        },
        [&](const Slots& in) {
          return rebatch_model(in, 4, {sizes.begin(), sizes.end()}, drop, "{}");
        },
        {.sizes = {0, 1, 5, 33}});
  }
}

/// The bytes of as many rows wrapped to none.
TEST(Rebatch, MoreRowsThanMemoryHoldsAreRefused) {
  const auto batches = range(100) | batch(10);
  for (const std::int64_t size :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 61}) {
    EXPECT_EQ(error_of([&] { batches | rebatch(size); }).code(), ErrorCode::invalid_argument);
  }
}

TEST(Rebatch, PaddedBatchesPassTheSuite) {
  check_rebatching(
      [](auto dataset, std::int64_t before) {
        return dataset | map(row_of_number) | padded_batch(before, {.padding = -1});
      },
      [](const PaddedBatch<SuiteRow>& rows) { return numbers_of_rows(rows); });
}

TEST(Rebatch, RaggedBatchesPassTheSuite) {
  check_rebatching(
      [](auto dataset, std::int64_t before) {
        return dataset | map(row_of_number) | ragged_batch(before);
      },
      [](const RaggedBatch<SuiteRow>& rows) { return numbers_of_rows(rows); });
}

TEST(Rebatch, ColumnBatchesPassTheSuite) {
  check_rebatching(
      [](auto dataset, std::int64_t before) {
        return dataset | map(columns_of_number) | rebatch(before);
      },
      [](const ColumnBatch& rows) { return numbers_of_rows(rows); });
}

/// Also if it comes first, last, behind a batch that was handed through, or after a resume.
TEST(Rebatch, AnEmptyColumnBatchHasTheColumnsOfTheOthers) {
  // The rows, or -1 if there are other columns.
  const auto columns_of = [](const ColumnBatch& batch) {
    return batch.slice(0, 0) == columns_of_number(1).slice(0, 0) ? batch.rows() : -1;
  };
  const Stream expected = {"0", "4", "0", "4", "0"};
  for (const bool is_empty_first : {true, false}) {
    for (const std::int64_t before : {3, 4}) {
      SCOPED_TRACE(std::to_string(before) + (is_empty_first ? ", [0, 4]" : ", [4, 0]"));
      using Sizes = std::vector<std::int64_t>;
      const auto batches = range(8) | map(columns_of_number) | rebatch(before) |
                           rebatch(is_empty_first ? Sizes{0, 4} : Sizes{4, 0}) | map(columns_of);
      const Stream all(expected.begin() + (is_empty_first ? 0 : 1), expected.end());
      expect_resumes_anywhere(batches, all, {.bookmark_every = 1});
    }
  }
  const auto none = range(0) | map(columns_of_number) | rebatch({0, 4});
  EXPECT_EQ(stream_of(none | map(columns_of)), Stream());
}

/// It had those of the first batch, and in a resume those of another one.
TEST(Rebatch, AnEmptyColumnBatchHasTheColumnsOfTheRowsBeforeIt) {
  const auto batches =
      range(6) | map([](std::int64_t x) {
        return ColumnBatch({{"x", Column::dense(Tensor(DType::int64, {2, x + 1}))}});
      }) |
      rebatch({2, 0}) | map([](const ColumnBatch& rows) {
        return 10 * rows.rows() + rows.column("x").row_shape().items();
      });
  const Stream all = {"21", "1", "22", "2", "23", "3", "24", "4", "25", "5", "26", "6"};
  expect_resumes_anywhere(batches, all, {.bookmark_every = 1});
}

TEST(Rebatch, APaddedBatchIsAsWideAsTheWidest) {
  const std::vector<std::vector<int>> rows = {{1}, {2, 2}, {3, 3, 3}, {4}};
  const auto batches = slices(rows) | padded_batch(2, {.padding = -7}) | rebatch({1, 3});
  auto iterator = batches.iterate();
  EXPECT_THAT(iterator.next()->sequences().values(), ElementsAre(1, -7));
  const auto wide = iterator.next();
  EXPECT_THAT(wide->sequences().values(), ElementsAre(2, 2, -7, 3, 3, 3, 4, -7, -7));
  EXPECT_EQ(wide->sequences().padding(), -7);
}

TEST(Rebatch, ColumnsMustBeAlike) {
  const auto batches = range(4) | map([](std::int64_t x) {
                         const DType dtype = x == 2 ? DType::int32 : DType::int64;
                         return ColumnBatch({{"x", Column::dense(Tensor(dtype, {1}))}});
                       }) |
                       rebatch(4);
  const Stream stream =
      stream_of(batches | map([](const ColumnBatch& rows) { return rows.rows(); }));
  ASSERT_EQ(stream.size(), 2U);
  EXPECT_THAT(stream[0], HasSubstr("join_rows: column 'x' is dense of int64 [] in one "
                                   "batch and dense of int32 [] in another"));
  EXPECT_EQ(stream[1], "3");
}

TEST(Rebatch, PassesTheSuite) {
  const std::vector<std::vector<std::int64_t>> shapes = {{4}, {1}, {7}, {2, 3}, {3, 0, 1}, {0, 5}};
  for (const std::vector<std::int64_t>& sizes : shapes) {
    for (const std::int64_t before : {1, 4, 6}) {
      const bool drop = (before + static_cast<std::int64_t>(sizes.size())) % 2 == 0;
      SCOPED_TRACE(::testing::PrintToString(sizes) + " of " + std::to_string(before));
      const auto build = [&](auto dataset) {
        return dataset | batch(before) | rebatch(sizes, {.drop_remainder = drop});
      };
      const auto model = [&](const Slots& in) {
        return rebatch_model(in, static_cast<std::size_t>(before), {sizes.begin(), sizes.end()},
                             drop);
      };
      run_stage_suite_on<std::int64_t>(build, model, {.sizes = {0, 1, 5, 33}});
      if (before == 4) run_stage_suite_on<std::string>(build, model, {.sizes = {0, 5, 33}});
      if (before == 4) run_stage_suite_on<Wide>(build, model, {.sizes = {0, 5, 33}});
    }
  }
}

TEST(Rebatch, CutsAsTensorFlowDoes) {
  const auto cut = [](std::vector<std::int64_t> sizes, bool drop) {
    return stream_of(range(7) | batch(3) | rebatch(std::move(sizes), {.drop_remainder = drop}));
  };
  EXPECT_EQ(cut({2, 0}, false), (Stream{"[0 1]", "[]", "[2 3]", "[]", "[4 5]", "[]", "[6]"}));
  EXPECT_EQ(cut({2, 0}, true), (Stream{"[0 1]", "[]", "[2 3]", "[]", "[4 5]", "[]"}));
  EXPECT_EQ(cut({0, 3}, false), (Stream{"[]", "[0 1 2]", "[]", "[3 4 5]", "[]", "[6]"}));
  EXPECT_EQ(cut({3, 1}, false), (Stream{"[0 1 2]", "[3]", "[4 5 6]"}));
}

TEST(Rebatch, HandsFittingBatchesThrough) {
  const auto batches = range(8) | batch(4);
  const auto first_address = [](const Dataset<Batch<std::int64_t>>& dataset) {
    return dataset | map([](const Batch<std::int64_t>& rows) {
             return static_cast<std::int64_t>(
                 reinterpret_cast<std::uintptr_t>(rows.values().data()) % 64);
           });
  };
  EXPECT_EQ(stream_of(first_address(batches | rebatch(4))), numbers({0, 0}));
  EXPECT_EQ(stream_of(first_address(batches | rebatch(3))), numbers({0, 0, 0}));
}

TEST(Rebatch, DividesAGlobalBatchAsReplicasNeedIt) {
  EXPECT_EQ(per_replica_batch_sizes(10, 4), (std::vector<std::int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(per_replica_batch_sizes(2, 3), (std::vector<std::int64_t>{1, 1, 0}));
}

TEST(Rebatch, RefusesWhatCannotBe) {
  const auto with = [](std::vector<std::int64_t> sizes) {
    return error_of([&] { range(3) | batch(2) | rebatch(std::move(sizes)); }).message();
  };
  EXPECT_EQ(with({}),
            "rebatch: sizes are []; none may be negative, and at least one must be more than 0");
  EXPECT_EQ(
      with({0, 0}),
      "rebatch: sizes are [0, 0]; none may be negative, and at least one must be more than 0");
  EXPECT_EQ(with({4, -1}),
            "rebatch: sizes are [4, -1]; none may be negative, and at least one must be more than "
            "0");
}

}  // namespace
}  // namespace infeed::test
