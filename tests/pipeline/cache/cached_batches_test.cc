#include <infeed/infeed.h>

#include "pipeline/batch/suite_rows.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

// Batches of all kinds are elements like others: written, read again, hashed.
namespace infeed::test {
namespace {

template <class T>
std::uint64_t hash_of_all(const Dataset<T>& dataset) {
  auto iterator = dataset.iterate({.order_hash = true});
  while (iterator.next()) {
  }
  return iterator.order_hash();
}

/// The first pass, which writes the files, and the second, which reads them, give the same as
/// without files.
template <class Describe>
void check_cached(const Describe& describe) {
  const TemporaryFolder folder;
  const auto cached = [&] { return describe(20) | cache({.path = folder.file("cache")}); };
  const auto kept = [&] { return describe(20) | snapshot({.path = folder.file("snapshot")}); };
  const std::uint64_t expected = hash_of_all(describe(20));
  EXPECT_NE(expected, hash_of_all(describe(19)));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(hash_of_all(cached()), expected);
    EXPECT_EQ(hash_of_all(kept()), expected);
  }
}

struct CachedRow {
  std::array<float, 3> image;
  std::string name;
  std::pair<bool, std::int8_t> flags;
};

TEST(CachedBatches, Batch) {
  check_cached([](std::int64_t count) {
    return range(count) | map([](std::int64_t x) {
             const auto f = static_cast<float>(x);
             return CachedRow{{f, f / 2, -f}, std::to_string(x), {x % 2 == 0, 7}};
           }) |
           batch(6);
  });
}

TEST(CachedBatches, PaddedBatch) {
  check_cached([](std::int64_t count) {
    return range(count) | map(row_of_number) | padded_batch(6, {.padding = -1});
  });
}

TEST(CachedBatches, RaggedBatch) {
  check_cached(
      [](std::int64_t count) { return range(count) | map(row_of_number) | ragged_batch(6); });
}

TEST(CachedBatches, ColumnBatch) {
  check_cached(
      [](std::int64_t count) { return range(count) | map(columns_of_number) | rebatch(6); });
}

TEST(CachedBatches, AResumedRunHasTheSameHash) {
  const auto describe = [] {
    return range(20) | map(row_of_number) | padded_batch(3, {.padding = -1});
  };
  const std::uint64_t expected = hash_of_all(describe());
  auto first = describe().iterate({.order_hash = true});
  first.next();
  first.next();
  auto second = describe().iterate({.resume = first.checkpoint(), .order_hash = true});
  while (second.next()) {
  }
  EXPECT_EQ(second.order_hash(), expected);
}

/// Other programs may have written the bytes: an error, or other values.
TEST(CachedBatches, DamagedBytesAreRefused) {
  const auto batch = *(range(8) | map(row_of_number) | padded_batch(8)).iterate().next();
  using Codec = ElementCodec<PaddedBatch<SuiteRow>>;
  std::string bytes;
  Codec::encode(batch, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(0xff - damaged[i]);
    const Record record(damaged);
    ElementReader in(record);
    try {
      Codec::decode(in);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data_loss) << error.what();
    } catch (const std::bad_alloc&) {
    }
  }
  const Record shorter(bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(error_of([&] {
              ElementReader in(shorter);
              Codec::decode(in);
            }).code(),
            ErrorCode::data_loss);
}

}  // namespace
}  // namespace infeed::test
