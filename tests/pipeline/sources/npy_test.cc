#include "infeed/pipeline/npy.h"

#include <fmt/format.h>
#include <numeric>

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/skip_errors.h>

#include "pipeline/suite/stage_suite.h"
#include "records/arrays/npy_bytes.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using test::bytes_of;
using test::npy_of;
using test::zip_of;

class NpySource : public ::testing::Test {
 protected:
  static std::string ids_file(std::int64_t first, std::int64_t rows, bool is_swapped = false) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(rows));
    std::iota(ids.begin(), ids.end(), first);
    if (is_swapped) {
      for (std::int64_t& id : ids) id = static_cast<std::int64_t>(__builtin_bswap64(id));
    }
    return npy_of(is_swapped ? ">i8" : "<i8", fmt::format("({},)", rows), bytes_of(ids));
  }
  static std::string texts_file(std::int64_t first, std::int64_t rows) {
    std::string bytes;
    for (std::int64_t i = first; i < first + rows; ++i) bytes += fmt::format("{:\x01<5}", i);
    std::replace(bytes.begin(), bytes.end(), '\1', '\0');
    return npy_of("|S5", fmt::format("({}, 1)", rows), bytes);
  }
  /// Makes arrays of 40, 0, 1, 59 rows; some deflated, one with its numbers swapped.
  void write_npz() const {
    std::int64_t first = 0;
    int number = 0;
    for (const std::int64_t rows : {40, 0, 1, 59}) {
      folder_.write(fmt::format("d-{}.npz", number),
                    zip_of({{"id.npy", ids_file(first, rows, number == 3)},
                            {"text.npy", texts_file(first, rows)}},
                           number == 0));
      first += rows;
      ++number;
    }
  }
  std::string pattern(const std::string& name) const { return folder_.file(name); }
  static Dataset<std::vector<std::int64_t>> ids(const Dataset<ColumnBatch>& batches) {
    return batches | map([](const ColumnBatch& batch) {
             const Column& column = batch.columns()[0];
             const auto values = column.values<std::int64_t>();
             for (std::size_t i = 0; i < values.size() && batch.find("text") != nullptr; ++i) {
               EXPECT_EQ(batch.column("text").bytes(static_cast<std::int64_t>(i)),
                         std::to_string(values[i]));
             }
             return std::vector<std::int64_t>(values.begin(), values.end());
           });
  }
  static Stream batches(std::int64_t rows, std::int64_t size, std::int64_t first = 0) {
    Stream stream;
    for (std::int64_t at = 0; at < rows; at += size) {
      std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(size, rows - at)));
      std::iota(ids.begin(), ids.end(), first + at);
      stream.push_back(show(ids));
    }
    return stream;
  }

  const TemporaryFolder folder_;
};

TEST_F(NpySource, PassesTheSuite) {
  for (int f = 0; f < 3; ++f) folder_.write(fmt::format("{}.npy", f), ids_file(50 * f, 50));
  for (const ArrayMemory memory : {ArrayMemory::mapped, ArrayMemory::copied}) {
    const auto make = [&] { return ids(npy(pattern("*.npy"), 7, {.memory = memory})); };
    EXPECT_EQ(make().cardinality(), Cardinality::finite(22));
    run_source_suite(make, batches(150, 7));
  }
}

TEST_F(NpySource, NpzPassesTheSuite) {
  write_npz();
  const auto make = [&] { return ids(npz(pattern("*.npz"), 8)); };
  EXPECT_EQ(make().cardinality(), Cardinality::finite(13));
  run_source_suite(make, batches(100, 8));
  const auto whole = [&] { return ids(npz(pattern("*.npz"), 8, {.drop_remainder = true})); };
  EXPECT_EQ(whole().cardinality(), Cardinality::finite(12));
  run_source_suite(whole, batches(96, 8));
}

TEST_F(NpySource, PassesTheSuiteWithErrors) {
  write_npz();
  const std::string file = folder_.file("d-3.npz");
  flip_bits(file, read_whole(file).find("99"));
  folder_.write("d-0b.npz", zip_of({{"id.npy", npy_of("<i4", "(1,)", "abcd")},
                                    {"text.npy", texts_file(0, 1)}}));
  folder_.write("d-0c.npz", "cut");
  folder_.write("d-4.npz", zip_of({{"id.npy", ids_file(100, 5)}, {"text.npy", texts_file(0, 4)}}));
  folder_.write("d-5.npz", zip_of({{"id.npy", ids_file(0, 9)}, {"text.npy", texts_file(0, 9)}}));
  const auto make = [&] { return ids(npz(pattern("*.npz"), 8)); };
  const Stream all = stream_of(make());
  EXPECT_THAT(all, Contains(HasSubstr("array 'id' has rows of int32[], but in")));
  EXPECT_THAT(all, Contains(HasSubstr("no zip file")));
  EXPECT_THAT(all, Contains(HasSubstr("CRC-32 does not match")));
  EXPECT_THAT(all, Contains(HasSubstr("array 'text' has 4 rows, but 'id' has 5; columns have as "
                                      "many rows: choose the arrays that belong together")));
  EXPECT_EQ(all.size(), 5 + 2 + 1 + 2 + 2);
  EXPECT_EQ(make().cardinality(), Cardinality::unknown());
  run_source_suite(make, all);
  const auto good = [&] { return make() | skip_errors(); };
  run_source_suite(good, stream_of(good()));
}

TEST_F(NpySource, ColumnsAreInTheOrderOfTheFirstFile) {
  folder_.write("1.npz", zip_of({{"id.npy", ids_file(0, 5)}, {"text.npy", texts_file(0, 5)}}));
  folder_.write("2.npz", zip_of({{"text.npy", texts_file(5, 5)}, {"id.npy", ids_file(5, 5)}}));
  EXPECT_EQ(stream_of(ids(npz(pattern("*.npz"), 3))), batches(10, 3));
}

TEST_F(NpySource, ABoolThatIsNoneCostsItsBatch) {
  const std::string file =
      folder_.write("b.npy", npy_of("|b1", "(5,)", std::string("\1\0\2\1\0", 5)));
  const auto make = [&] {
    return npy(file, 2) | map([](const ColumnBatch& batch) { return batch.rows(); });
  };
  const Stream all = stream_of(make());
  ASSERT_EQ(all.size(), 3);
  EXPECT_THAT(all[1], HasSubstr("array 'values': a bool of row 2 has the byte 2"));
  run_source_suite(make, all);
}

TEST_F(NpySource, ColumnsOfSeveralFiles) {
  const std::string x = folder_.write("x.npy", ids_file(0, 10));
  const std::string y = folder_.write("y.npy", texts_file(0, 10));
  EXPECT_EQ(stream_of(ids(npy_columns({{"id", x}, {"text", y}}, 4))), batches(10, 4));
  EXPECT_THAT(error_of([&] {
                npy_columns({{"a", x}, {"a", y}}, 4);
              }).message(),
              HasSubstr("the name 'a' is empty or comes twice"));
  EXPECT_THAT(error_of([&] { npy(x, 0); }).message(),
              HasSubstr("npy: the size of a batch is 0; give 1 row or more"));
  EXPECT_THAT(error_of([&] { npy({x}, 2, {.column = ""}); }).message(), HasSubstr("name is empty"));
  EXPECT_EQ(error_of([&] { npz(folder_.file("gone-*"), 2); }).code(), ErrorCode::not_found);
  auto gone = npy({folder_.file("gone.npy"), x}, 4).iterate();
  EXPECT_EQ(error_of([&] { gone.next(); }).code(), ErrorCode::not_found);
  EXPECT_EQ(gone.next()->rows(), 4);
}

TEST_F(NpySource, MappedBatchesAreShownUncopied) {
  const std::string file = folder_.write("x.npy", ids_file(0, 10));
  auto iterator = npy(file, 3).iterate();
  const auto first = iterator.next();
  const auto second = iterator.next();
  EXPECT_EQ(second->column("values").values().data(), first->column("values").values().data() + 24);
  auto copying = npy(file, 3, {.memory = ArrayMemory::copied}).iterate();
  const auto copied = copying.next();
  EXPECT_EQ(*copied, *first);
  EXPECT_NE(copied->column("values").values().data() + 24,
            copying.next()->column("values").values().data());
}

TEST_F(NpySource, GzippedFilesAndArraysByName) {
  const auto dataset = npy(folder_.write("x.npy.gz", gzip(ids_file(0, 10))), 4);
  EXPECT_TRUE(dataset.cardinality().is_unknown());
  EXPECT_EQ(stream_of(ids(dataset)), batches(10, 4));
  write_npz();
  const auto texts = npz(pattern("d-0.npz"), 40, {.arrays = {"text"}}).iterate().next();
  EXPECT_EQ(texts->names(), (std::vector<std::string>{"text"}));
}

}  // namespace
}  // namespace infeed::test
