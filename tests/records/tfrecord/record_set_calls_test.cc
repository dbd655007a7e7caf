#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <infeed/records/record_index.h>
#include <infeed/records/record_set.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

/// Tests how much one call of a RecordSet gives, and what is known without a call.
namespace infeed {
namespace {

class RecordSetCalls : public ::testing::Test {
 protected:
  /// Adds a file of so many records, whose payloads have so many bytes.
  void add_file(std::size_t records, std::size_t payload_bytes) {
    const std::vector<std::string> payloads(records, std::string(payload_bytes, 'x'));
    files_.push_back(folder_.write(std::to_string(files_.size()), test::frame(payloads)));
    write_index(index_records(files_.back()), files_.back() + ".index");
  }
  /// Returns how many of the first `rows` the call that asks for them gives.
  std::size_t given_at_once(std::size_t rows) const {
    std::vector<std::uint64_t> wanted(rows);
    std::iota(wanted.begin(), wanted.end(), 0U);
    std::vector<Record> records(rows);
    const std::size_t count = RecordSet(files_).read(wanted, records);
    for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(records[i].number().has_value(), i < count);
    return count;
  }

  const TemporaryFolder folder_;
  std::vector<std::string> files_;
};

TEST_F(RecordSetCalls, give_so_many_records_and_so_many_bytes) {
  add_file(300, 8);
  EXPECT_EQ(given_at_once(255), 255U);
  EXPECT_EQ(given_at_once(256), 256U);
  EXPECT_EQ(given_at_once(300), 256U);
  files_.clear();
  add_file(5, 300'000);
  EXPECT_EQ(given_at_once(5), 3U);
  files_.clear();
  add_file(3, 524'288 - 16);  // two of them are a MiB with their framing
  EXPECT_EQ(given_at_once(3), 2U);
  files_.clear();
  add_file(3, 524'288 - 15);
  EXPECT_EQ(given_at_once(3), 1U);
  files_.clear();
  add_file(2, 3'000'000);
  EXPECT_EQ(given_at_once(2), 1U) << "one comes, however large it is";
}

TEST_F(RecordSetCalls, give_no_more_than_there_is_room_for) {
  add_file(10, 8);
  const RecordSet set(files_);
  const std::vector<std::uint64_t> rows = {9, 0, 4};
  std::vector<Record> records(2);
  EXPECT_EQ(set.read(rows, records), 2U);
  EXPECT_EQ(records[0].number(), 9U);
  EXPECT_EQ(records[1].number(), 0U);
  EXPECT_EQ(set.read(rows, {}), 0U);
  EXPECT_EQ(set.read({}, records), 0U);
  const std::vector<std::uint64_t> beyond = {9, 10};
  EXPECT_EQ(error_of([&] { set.read(beyond, records); }).message(),
            "row 10 is asked for, but there are 10 (they count from 0)");
}

TEST_F(RecordSetCalls, are_not_needed_to_know_where_a_row_lies) {
  add_file(10, 8);
  add_file(0, 8);
  add_file(5, 8);
  const RecordSet set(files_, {.verify = Verify::lengths});
  EXPECT_EQ(set.options().verify, Verify::lengths);
  const auto expect_place = [&](const RecordSet& rows, std::uint64_t row, std::size_t file,
                                std::uint64_t record) {
    const RecordSet::Place place = rows.place_of(row);
    EXPECT_EQ(place.file, files_[file]) << row;
    EXPECT_EQ(place.record, record) << row;
  };
  expect_place(set, 0, 0, 0);
  expect_place(set, 9, 0, 9);
  expect_place(set, 10, 2, 0);
  expect_place(set, 14, 2, 4);
  expect_place(set.select({14, 3}), 1, 0, 3);
  EXPECT_EQ(error_of([&] { (void)set.place_of(15); }).message(),
            "row 15 is asked for, but there are 15 (they count from 0)");
  EXPECT_EQ(error_of([&] {
              (void)set.select({14, 3}).place_of(2);
            }).message(),
            "row 2 is asked for, but there are 2 (they count from 0)");
}

/// Rows near each other are read at once: their bytes stay as far from each other as in the file.
TEST_F(RecordSetCalls, read_near_rows_at_once) {
  const auto are_read_at_once = [&](const std::vector<std::size_t>& sizes) {
    std::vector<std::string> payloads;
    for (const std::size_t size : sizes) payloads.emplace_back(size - 16, 'x');
    const std::string file = folder_.write("near", test::frame(payloads));
    write_index(index_records(file), file + ".index");
    const std::vector<std::uint64_t> rows = {0, sizes.size() - 1};
    const RecordSet set({file});
    bool is_near = true;
    // All are kept: two blocks may lie by chance as their bytes do, but not thrice.
    std::vector<Record> all;
    for (int attempt = 0; attempt < 3; ++attempt) {
      std::vector<Record> records(2);
      EXPECT_EQ(set.read(rows, records), 2U);
      for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(records[i].bytes(), payloads[rows[i]]);
      is_near =
          is_near && records[1].bytes().data() - records[0].bytes().data() ==
                         static_cast<std::ptrdiff_t>(*records[1].offset() - *records[0].offset());
      all.insert(all.end(), records.begin(), records.end());
    }
    return is_near;
  };
  EXPECT_TRUE(are_read_at_once({24, 24}));
  EXPECT_TRUE(are_read_at_once({24, 4096, 24}));
  EXPECT_FALSE(are_read_at_once({24, 4097, 24}));
  EXPECT_TRUE(are_read_at_once({131'072, 131'072}));
  EXPECT_FALSE(are_read_at_once({131'072, 131'073}));
}

TEST_F(RecordSetCalls, give_what_comes_before_a_file_that_is_gone) {
  for (int i = 0; i < 3; ++i) add_file(10, 8);
  const RecordSet set(files_, {.open_files_max = 1});
  std::vector<Record> records(3);
  const auto expect_one_given = [&](const std::vector<std::uint64_t>& rows) {
    EXPECT_EQ(set.read(rows, records), 1U);
    EXPECT_EQ(records[0].number(), rows[0] % 10);
    const auto rest = std::span(rows).subspan(1);
    const Error error = error_of([&] { set.read(rest, records); });
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.file(), files_[1]);
  };
  std::filesystem::rename(files_[1], folder_.file("hidden"));
  expect_one_given({5, 10, 11});  // where its records lie isn't known yet
  std::filesystem::rename(folder_.file("hidden"), files_[1]);
  EXPECT_EQ(set.at(12).number(), 2U);
  EXPECT_EQ(set.at(25).number(), 5U) << "which closes the file before";
  std::filesystem::rename(files_[1], folder_.file("hidden"));
  expect_one_given({5, 10, 11});
  std::filesystem::rename(folder_.file("hidden"), files_[1]);
  EXPECT_EQ(set.at(11).number(), 1U);
}

TEST_F(RecordSetCalls, have_their_memory_counted_before) {
  add_file(100, 8);
  add_file(63, 8);
  // 4 bytes for each place and the end, and 8 for each 64 of them.
  const std::uint64_t places = 101 * 4 + 2 * 8 + 64 * 4 + 2 * 8;
  const RecordSet set(files_);
  EXPECT_EQ(set.memory_bytes_max(), places);
  EXPECT_EQ(set.select({1, 2, 1}).memory_bytes_max(), places + 3 * 8);
}

}  // namespace
}  // namespace infeed
