#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <infeed/records/detail/column_bytes.h>

#include "records/columns/drawn_columns.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

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
  test::SeededRandom random;
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
  test::SeededRandom random;
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

/// A batch of one column "x" of two bytes: 46 bytes.
std::string bytes_of_two() {
  const std::uint8_t values[] = {7, 8};
  return bytes_of_batch(ColumnBatch(
      {{"x", Column::dense(Tensor::copy_of({2}, std::span<const std::uint8_t>(values)))}}));
}

std::string number_of(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

TEST(ColumnBytes, HaveOneLayout) {
  const std::string uint8_and_rank_1 = "\x05\x01";
  EXPECT_EQ(bytes_of_two(), number_of(1) + number_of(1) + "x" + std::string(1, '\0') +
                                uint8_and_rank_1 + number_of(2) + number_of(2) + "\x07\x08" +
                                number_of(0));
  const std::string int64_and_rank_1 = "\x04\x01";
  EXPECT_EQ(bytes_of_batch(ColumnBatch({{"names", Column::of_bytes({"ab"})}})),
            number_of(1) + number_of(5) + "names" + "\x03" + uint8_and_rank_1 + number_of(2) +
                number_of(2) + "ab" + number_of(1) + int64_and_rank_1 + number_of(2) +
                number_of(16) + number_of(0) + number_of(2));
  EXPECT_EQ(bytes_of_batch(ColumnBatch()), number_of(0));
}

TEST(ColumnBytes, ErrorsSayWhatIsWrong) {
  const auto problem = [](const std::string& bytes) {
    const std::string text = error_of([&] { detail::decode_columns(bytes); }).message();
    const std::string front = "the bytes of a batch of columns are damaged: ";
    const std::string back = "; remove the file, so that it is written anew";
    EXPECT_TRUE(text.starts_with(front) && text.ends_with(back)) << text;
    return text.substr(front.size(), text.size() - front.size() - back.size());
  };
  const std::string whole = bytes_of_two();
  ASSERT_EQ(whole.size(), 46U);
  EXPECT_EQ(problem(""), "8 bytes should follow where 0 are left");
  EXPECT_EQ(problem(whole.substr(0, 45)), "8 bytes should follow where 7 are left");
  EXPECT_EQ(problem(whole + "x"), "something follows them");
  const auto with_number = [&](std::size_t at, std::uint64_t number) {
    std::string bytes = whole;
    return problem(bytes.replace(at, 8, number_of(number)));
  };
  EXPECT_EQ(with_number(0, 2), "2 parts can't be in 38 bytes") << "columns";
  EXPECT_EQ(with_number(8, 31), "31 bytes should follow where 30 are left") << "of a name";
  EXPECT_EQ(with_number(8, 30), "1 bytes should follow where 0 are left") << "of a kind";
  EXPECT_EQ(with_number(20, 3), "2 bytes of uint8 have the shape [3]");
  EXPECT_EQ(with_number(20, ~std::uint64_t{0}), "the shape [-1] has a negative extent");
  EXPECT_EQ(with_number(28, 3), "3 bytes of uint8 have the shape [2]");
  EXPECT_EQ(with_number(28, 11), "11 bytes should follow where 10 are left");
  EXPECT_EQ(with_number(38, 1), "1 parts can't be in 0 bytes") << "partitions";
  const auto with_byte = [&](std::size_t at, char byte) {
    std::string bytes = whole;
    bytes[at] = byte;
    return problem(bytes);
  };
  EXPECT_EQ(with_byte(17, 4), "a column that is ragged_bytes lacks its offsets");
  EXPECT_EQ(with_byte(17, 5), "there is no kind of column of number 5");
  EXPECT_EQ(with_byte(18, 12), "2 bytes of float64 have the shape [2]");
  EXPECT_EQ(with_byte(18, 13), "there is no type of number 13");
  const std::string one_int16 = number_of(1) + number_of(1) + "x" + std::string(1, '\0') +
                                "\x02\x01" + number_of(1) + number_of(3) + "abc" + number_of(0);
  EXPECT_EQ(problem(one_int16), "3 bytes of int16 have the shape [1]");
  // The fewest bytes of a column, and of a partition.
  const std::string no_values = "0 bytes of bool have the shape []";
  EXPECT_EQ(problem(number_of(2) + std::string(53, '\0')), "2 parts can't be in 53 bytes");
  EXPECT_EQ(problem(number_of(2) + std::string(54, '\0')), no_values);
  const std::string with_partition = whole.substr(0, 38) + number_of(1);
  EXPECT_EQ(problem(with_partition + std::string(9, '\0')), "1 parts can't be in 9 bytes");
  EXPECT_EQ(problem(with_partition + std::string(10, '\0')), no_values);
}

TEST(ColumnBytes, HoldUpTo255Axes) {
  const auto batch = [](std::size_t rank) {
    const std::vector<std::int64_t> extents(rank, 1);
    const Shape shape{std::span<const std::int64_t>(extents)};
    return ColumnBatch({{"x", Column::dense(Tensor::copy_of<std::int8_t>(shape, {3}))}});
  };
  EXPECT_EQ(detail::decode_columns(bytes_of_batch(batch(255))), batch(255));
  EXPECT_EQ(error_of([&] { bytes_of_batch(batch(256)); }).message(),
            "column 'x' has 256 axes; a batch that is written may have 255");
}

TEST(JoinRows, JoinsWhatSlicesCut) {
  test::SeededRandom random;
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

}  // namespace
}  // namespace infeed::test
