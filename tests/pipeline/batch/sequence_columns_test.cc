#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/pipeline/detail/sequence_columns.h>
#include <infeed/pipeline/payload.h>
#include <infeed/records/detail/row_column.h>

namespace infeed {
namespace test {

struct CountedWord {
  std::string letters;
};
inline std::size_t words_looked_at = 0;

}  // namespace test

template <>
struct Payload<test::CountedWord> {
  static std::size_t bytes(const test::CountedWord& word) {
    ++test::words_looked_at;
    return detail::payload_bytes(word.letters);
  }
};

namespace test {
namespace {

using Words = std::vector<CountedWord>;

Words words(std::size_t count, std::size_t length) {
  return Words(count, CountedWord{std::string(length, 'x')});
}

/// A batch in the making is asked for its bytes behind each few rows.
TEST(SequenceColumns, LookAtEachValueOnceForTheirBytes) {
  RowColumn<Words> column;
  words_looked_at = 0;
  for (std::size_t row = 1; row <= 20; ++row) {
    column.append(words(3, 100));
    EXPECT_GE(detail::bytes_of_column(column), row * 3 * (sizeof(CountedWord) + 100));
    EXPECT_EQ(words_looked_at, row * 3);
  }
}

TEST(SequenceColumns, KnowTheirBytesBehindRowsThatWereTakenBack) {
  RowColumn<Words> column;
  RowColumn<std::vector<Words>> nested;
  RowColumn<CountedWord> plain;
  const auto append = [&](std::size_t length) {
    column.append(words(2, length));
    nested.append({words(1, length), words(1, length)});
    plain.append(CountedWord{std::string(length, 'x')});
  };
  const auto expect_known = [&] {
    EXPECT_EQ(detail::bytes_of_column(column),
              detail::bytes_of_array(column.values) + detail::bytes_of_array(column.row_splits));
    EXPECT_EQ(detail::bytes_of_column(nested), detail::bytes_of_array(nested.values) +
                                                   detail::bytes_of_array(nested.inner_splits) +
                                                   detail::bytes_of_array(nested.row_splits));
    EXPECT_EQ(detail::bytes_of_column(plain), detail::bytes_of_array(plain.values));
  };
  const auto truncate = [&](std::size_t rows) {
    column.truncate(rows);
    nested.truncate(rows);
    plain.truncate(rows);
  };
  expect_known();
  for (const std::size_t length : {100, 200, 300}) append(length);
  expect_known();
  truncate(1);
  expect_known();
  append(400);
  truncate(2);
  expect_known();
  truncate(1);
  for (const std::size_t length : {500, 600}) append(length);
  expect_known();
}

}  // namespace
}  // namespace test
}  // namespace infeed
