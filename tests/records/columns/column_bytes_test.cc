#include <gmock/gmock.h>
#include <random>

#include <infeed/records/detail/column_bytes.h>

#include "pipeline/suite/random_seed.h"
#include "records/columns/drawn_columns.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using ::testing::HasSubstr;

ColumnBatch draw_batch(std::mt19937_64& random) {
  const auto rows = static_cast<std::int64_t>(random() % 6);
  std::vector<NamedColumn> columns;
  for (std::uint64_t i = random() % 6; i > 0; --i) {
    columns.push_back({"column " + std::to_string(i), draw_column(random, rows)});
  }
  return ColumnBatch(std::move(columns));
}

std::string bytes_of_batch(const ColumnBatch& batch) {
  std::string bytes;
  detail::encode_columns(batch, bytes);
  return bytes;
}

TEST(ColumnBytes, GiveBackWhatWasWritten) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    const ColumnBatch batch = draw_batch(random);
    EXPECT_EQ(detail::decode_columns(bytes_of_batch(batch)), batch);
  }
}

TEST(ColumnBytes, OfASliceAreThoseOfACopy) {
  const ColumnBatch batch({{"text", Column::of_bytes({"one", "two", "three"})}});
  const ColumnBatch copy({{"text", Column::of_bytes({"two"})}});
  EXPECT_EQ(bytes_of_batch(batch.slice(1, 1)), bytes_of_batch(copy));
}

TEST(ColumnBytes, DamagedOnesAreRefusedOrOthers) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = bytes_of_batch(draw_batch(random));
    for (std::uint64_t k = random() % 3; k > 0; --k) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    try {
      detail::decode_columns(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data_loss);
      EXPECT_THAT(error.message(), HasSubstr("the bytes of a batch of columns are damaged"));
    }
  }
}

TEST(JoinRows, JoinsWhatSlicesCut) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    const ColumnBatch batch = draw_batch(random);
    std::vector<ColumnBatch> parts;
    for (std::int64_t row = 0; row < batch.rows();) {
      const auto left = static_cast<std::uint64_t>(batch.rows() - row);
      const auto count = static_cast<std::int64_t>(random() % (left + 1));
      parts.push_back(batch.slice(row, count));
      row += count;
    }
    if (parts.empty()) continue;
    EXPECT_EQ(join_rows(parts), batch);
  }
}

TEST(JoinRows, ColumnsMustBeAlike) {
  const ColumnBatch one({{"x", Column::dense(Tensor::copy_of({1}, {1.0F}))}});
  const ColumnBatch other({{"y", Column::dense(Tensor::copy_of({1}, {1.0F}))}});
  const ColumnBatch wide({{"x", Column::dense(Tensor::copy_of({1, 2}, {1.0F, 2.0F}))}});
  const auto message = [&](const ColumnBatch& second) {
    return error_of([&] { join_rows(std::array{one, second}); }).message();
  };
  EXPECT_EQ(message(other), "join_rows: one batch has the columns [x], another [y]");
  EXPECT_EQ(message(wide),
            "join_rows: column 'x' is dense of float32 [] in one batch and dense of float32 [2] in "
            "another; all must be alike");
  EXPECT_EQ(join_rows({}).rows(), 0);
}

}  // namespace
}  // namespace infeed::test
