#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/sequence_batch.h>
#include <infeed/records/column_batch.h>

/// Rows that stand for a number, with a column of each kind, for tests of stages that take batches
/// apart and put them together.
namespace infeed::test {

struct SuiteRow {
  std::int64_t number = 0;
  std::vector<std::int32_t> tokens;  ///< number % 4 of them: number, number + 1, ...
  std::vector<std::string> words;    ///< number % 3 of them
};

inline SuiteRow row_of_number(std::int64_t number) {
  SuiteRow row{number, std::vector<std::int32_t>(static_cast<std::size_t>(number % 4)), {}};
  std::iota(row.tokens.begin(), row.tokens.end(), static_cast<std::int32_t>(number));
  for (std::int64_t i = 0; i < number % 3; ++i) row.words.push_back(std::to_string(number + i));
  return row;
}

/// Returns the number of a row, after checking that row_of_number() makes the same row.
inline std::int64_t number_of_row(const SuiteRow& row) {
  const SuiteRow expected = row_of_number(row.number);
  EXPECT_EQ(row.tokens, expected.tokens);
  EXPECT_EQ(row.words, expected.words);
  return row.number;
}

template <template <class> class Sequence>
std::vector<std::int64_t> numbers_of_rows(const SequenceBatch<SuiteRow, Sequence>& batch) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    numbers.push_back(number_of_row(detail::sequence_row(batch, i)));
  }
  return numbers;
}

/// Returns the same row as a batch of one.
inline ColumnBatch columns_of_number(std::int64_t number) {
  const SuiteRow row = row_of_number(number);
  std::vector<std::string_view> words(row.words.begin(), row.words.end());
  const Column texts = Column::of_bytes(words);
  const auto count = static_cast<std::int64_t>(row.tokens.size());
  const auto splits = [](std::int64_t end) {
    return std::vector<Tensor>{Tensor::copy_of<std::int64_t>({2}, {0, end})};
  };
  return ColumnBatch(
      {{"number", Column::dense(Tensor::copy_of<std::int64_t>({1}, {number}))},
       {"tokens",
        Column::ragged(Tensor::copy_of({count}, std::span<const std::int32_t>(row.tokens)),
                       splits(count))},
       {"words", Column::ragged_bytes(splits(static_cast<std::int64_t>(words.size())),
                                      texts.partitions().back(), texts.values())}});
}

inline std::vector<std::int64_t> numbers_of_rows(const ColumnBatch& batch) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < batch.rows(); ++i) {
    const ColumnBatch row = batch.slice(i, 1);
    numbers.push_back(row.column("number").values<std::int64_t>()[0]);
    EXPECT_EQ(row, columns_of_number(numbers.back()));
  }
  return numbers;
}

}  // namespace infeed::test
