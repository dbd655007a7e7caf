#include <thread>

#include <infeed/records/record_index.h>
#include <infeed/records/record_set.h>
#include <infeed/records/shard_manifest.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::frame;
using Payloads = std::vector<std::string>;

/// Makes shards whose records hold their row.
class RecordSetTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kRecordBytes = 24;

  static Payloads numbers(std::uint64_t first, std::size_t count, std::size_t bytes = 8) {
    Payloads payloads;
    for (std::uint64_t i = first; i < first + count; ++i) {
      const std::string number = std::to_string(i);
      payloads.push_back(std::string(bytes - std::min(bytes, number.size()), '0') + number);
    }
    return payloads;
  }
  /// Makes shard `number` of three, with an index by default.
  void add(const Payloads& payloads, bool index = true) {
    const auto name = "train-0000" + std::to_string(files_.size()) + "-of-00003.tfrecord";
    files_.push_back(folder_.write(name, frame(payloads)));
    if (index) write_index(index_records(files_.back()), files_.back() + ".index");
  }
  void add_three(std::size_t count = 100, bool index = true) {
    for (std::uint64_t i = 0; i < 3; ++i) add(numbers(i * count, count), index);
  }
  void write_manifest(const std::vector<std::uint64_t>& examples) {
    std::string shards;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto name = std::filesystem::path(files_[i]).filename().string();
      shards += (i == 0 ? "" : ",") +
                to_json({name, {examples[i] * kRecordBytes, 0}, examples[i], std::nullopt});
    }
    folder_.write("train.manifest.json", seal_manifest("{\"shards\":[" + shards + "]}"));
  }
  void change(std::size_t file, std::size_t byte) { flip_bits(files_[file], byte); }
  static std::uint64_t value(const Record& record) {
    return std::stoull(std::string(record.bytes()));
  }

  TemporaryFolder folder_;
  std::vector<std::string> files_;
};

TEST_F(RecordSetTest, gives_any_row) {
  add(numbers(0, 70));
  add({});
  add(numbers(70, 30));
  const RecordSet set(files_);
  ASSERT_EQ(set.size(), 100U);
  EXPECT_EQ(set.files(), files_);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(value(set.at(i * 37 % 100)), i * 37 % 100);
  const Record record = set.at(71);
  EXPECT_EQ(record.file(), files_[2]);
  EXPECT_EQ(record.number(), 1U);
  EXPECT_EQ(record.offset(), kRecordBytes + 12);
  const Error error = error_of([&] { set.at(100); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "row 100 is asked for, but there are 100 (they count from 0)");
}

TEST_F(RecordSetTest, takes_patterns_and_names_in_braces) {
  add_three(5);
  EXPECT_EQ(RecordSet(folder_.file("train-*.tfrecord")).size(), 15U);
  const RecordSet two({files_[2], files_[0]});
  EXPECT_EQ(two.size(), 10U);
  EXPECT_EQ(value(two.at(0)), 10U);
  EXPECT_EQ(RecordSet(std::vector<std::string>()).size(), 0U);
}

TEST_F(RecordSetTest, reads_several_rows_as_one_by_one) {
  std::mt19937_64 random(5);
  Payloads all;
  for (int file = 0; file < 3; ++file) {
    Payloads payloads;
    for (int i = 0; i < 300; ++i) {
      const std::size_t most = random() % 20 == 0 ? 400'000 : 3000;
      payloads.push_back(test::random_bytes(random, random() % most));
    }
    add(payloads);
    all.insert(all.end(), payloads.begin(), payloads.end());
  }
  Payloads wholes;
  for (const std::string& file : files_) wholes.push_back(read_whole(file));
  const RecordSet set(files_, {.open_files_max = 2});
  for (int turn = 0; turn < 40; ++turn) {
    std::vector<std::uint64_t> rows(1 + random() % 400);
    const bool ascending = random() % 2 == 0;
    for (std::uint64_t& row : rows) row = random() % all.size();
    if (ascending) std::sort(rows.begin(), rows.end());
    std::vector<Record> records(rows.size());
    std::size_t done = 0;
    while (done < rows.size()) {
      const std::size_t got =
          set.read(std::span(rows).subspan(done), std::span(records).subspan(done));
      ASSERT_GE(got, 1U);
      done += got;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(records[i].bytes(), all[rows[i]]);
      ASSERT_EQ(records[i].number(), rows[i] % 300);
      ASSERT_EQ(records[i].file(), files_[rows[i] / 300]);
      ASSERT_EQ(wholes[rows[i] / 300].compare(*records[i].offset(), records[i].size(),
                                              records[i].bytes()),
                0);
    }
  }
}

TEST_F(RecordSetTest, is_read_by_several_threads_with_few_files_open) {
  add_three(200);
  const RecordSet set(files_, {.open_files_max = 1});
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::uint64_t row = (i * 7919 + t * 131) % 600;
        ASSERT_EQ(value(set.at(row)), row);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(RecordSetTest, keeps_a_limited_number_of_files_open) {
  for (int i = 0; i < 60; ++i) {
    files_.push_back(folder_.write("x" + std::to_string(i), frame(numbers(i, 1))));
  }
  const auto open_here = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const auto target = std::filesystem::read_symlink(entry.path(), ignored);
      count += target.parent_path() == folder_.path();
    }
    return count;
  };
  const RecordSet set(files_, {.without_index = WithoutIndex::scan, .open_files_max = 7});
  EXPECT_EQ(open_here(), 0U);
  for (std::uint64_t i = 0; i < 600; ++i) {
    const std::uint64_t row = i * i % 60;
    ASSERT_EQ(value(set.at(row)), row);
    ASSERT_LE(open_here(), 7U);
  }
  EXPECT_EQ(open_here(), 7U);
}

TEST_F(RecordSetTest, selects_rows_in_any_order_and_several_times) {
  add_three(10);
  const RecordSet set(files_);
  const RecordSet some = set.select({25, 3, 3, 14});
  ASSERT_EQ(some.size(), 4U);
  EXPECT_EQ(value(some.at(0)), 25U);
  EXPECT_EQ(value(some.at(2)), 3U);
  const RecordSet fewer = some.select({3, 0});
  EXPECT_EQ(value(fewer.at(0)), 14U);
  EXPECT_EQ(value(fewer.at(1)), 25U);
  EXPECT_EQ(*fewer.selected(), (std::vector<std::uint64_t>{14, 25}));
  EXPECT_EQ(set.selected(), nullptr);
  EXPECT_EQ(set.select({}).size(), 0U);
  EXPECT_EQ(error_of([&] {
              some.select({0, 4});
            }).message(),
            "row 4 is asked for, but there are 4 (they count from 0)");
}

TEST_F(RecordSetTest, an_index_among_the_records_is_named) {
  add_three(10);
  const Error error = error_of([&] { RecordSet set({files_[0], files_[0] + ".index"}); });
  EXPECT_EQ(error.file(), files_[0] + ".index");
  EXPECT_NE(error.message().find("holds no records: name the record files alone"),
            std::string::npos)
      << error.message();
}

TEST_F(RecordSetTest, without_an_index_says_what_to_do) {
  add_three(10);
  std::filesystem::remove(files_[1] + ".index");
  std::filesystem::remove(files_[2] + ".index");
  const Error error = error_of([&] { RecordSet set(files_); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(
      error.message(),
      "nothing says where the records of this file are (nor of 1 others): there is neither '" +
          files_[1] +
          ".index' nor a manifest; write indices with infeed index, or give {.without_index "
          "= WithoutIndex::scan}, which reads all headers first, each time");
  EXPECT_EQ(error.file(), files_[1]);
  const RecordSet scanned(files_, {.without_index = WithoutIndex::scan});
  EXPECT_EQ(scanned.size(), 30U);
  EXPECT_EQ(value(scanned.at(29)), 29U);
}

TEST_F(RecordSetTest, a_manifest_counts_and_the_headers_are_read_later) {
  add_three(10, false);
  write_manifest({10, 10, 10});
  const RecordSet set(files_);
  ASSERT_EQ(set.size(), 30U);
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_EQ(value(set.at(29 - i)), 29 - i);
}

TEST_F(RecordSetTest, a_manifest_that_does_not_fit_its_files) {
  add_three(10, false);
  write_manifest({10, 13, 8});
  const RecordSet set(files_);
  ASSERT_EQ(set.size(), 31U);
  EXPECT_EQ(value(set.at(19)), 19U);
  const Error fewer = error_of([&] { set.at(21); });
  EXPECT_EQ(fewer.code(), ErrorCode::data_loss);
  EXPECT_EQ(fewer.message(),
            "the file ends behind 10 records at byte 240, but its manifest says 13: it was cut or "
            "replaced; take it from a copy, or convert it again");
  EXPECT_EQ(fewer.file(), files_[1]);
  EXPECT_EQ(fewer.record(), 11U);
  const Error more = error_of([&] { set.at(23); });
  EXPECT_EQ(more.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(more.message(),
            "the file has more than the 8 records that its manifest says: it was replaced since; "
            "convert it again, or make an index (infeed index)");
}

TEST_F(RecordSetTest, damage_behind_which_headers_can_not_be_found) {
  add_three(10, false);
  change(1, 4 * kRecordBytes);
  write_manifest({10, 10, 10});
  const RecordSet set(files_);
  EXPECT_EQ(value(set.at(13)), 13U);
  for (const std::uint64_t row : {14U, 19U}) {
    EXPECT_THAT(error_of([&] { set.at(row); }).message(), HasSubstr("record header is damaged"));
  }
  EXPECT_EQ(value(set.at(20)), 20U);
  const auto lone = folder_.write("lone", read_whole(files_[1]));
  EXPECT_THAT(error_of([&] { RecordSet({lone}, {.without_index = WithoutIndex::scan}); }).message(),
              HasSubstr("; what follows can't be counted without an index: infeed repair saves"));
}

TEST_F(RecordSetTest, damage_costs_only_what_is_damaged) {
  add_three();
  change(0, 5 * kRecordBytes + 13);  // a payload
  change(1, 7 * kRecordBytes);       // a length
  const RecordSet set(files_);
  std::vector<std::uint64_t> rows(300);
  for (std::uint64_t i = 0; i < 300; ++i) rows[i] = i;
  std::vector<Record> records(300);
  EXPECT_EQ(set.read(rows, records), 5U);
  EXPECT_TRUE(records[6].empty()) << "what lies behind the failure isn't handed out";
  const Error payload = error_of([&] { set.read(std::span(rows).subspan(5), records); });
  EXPECT_EQ(payload.code(), ErrorCode::data_loss);
  EXPECT_EQ(payload.message(),
            "record is damaged: its 8 bytes do not have the checksum that is stored");
  EXPECT_EQ(payload.file(), files_[0]);
  EXPECT_EQ(payload.offset(), 5 * kRecordBytes);
  EXPECT_EQ(payload.record(), 5U);
  const Error length = error_of([&] { set.at(107); });
  EXPECT_EQ(length.message(),
            "there is no record of 8 bytes at this place: the record is damaged, or the index is "
            "another file's (infeed verify tells which)");
  EXPECT_EQ(length.record(), 7U);
  for (std::uint64_t row = 0; row < 300; ++row) {
    if (row == 5 || row == 107) continue;
    EXPECT_EQ(value(set.at(row)), row);
  }
  EXPECT_EQ(value(RecordSet(files_, {.verify = Verify::lengths}).at(6)), 6U);
  EXPECT_EQ(RecordSet(files_, {.verify = Verify::lengths}).at(5).size(), 8U);
}

TEST_F(RecordSetTest, a_file_that_is_cut_gives_what_is_there) {
  add_three();
  std::filesystem::resize_file(files_[1], 40 * kRecordBytes + 5);
  const RecordSet set(files_);
  EXPECT_EQ(value(set.at(139)), 139U);
  const Error error = error_of([&] { set.at(140); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(),
            "record is cut: its index has it end at byte 984, but the file ends at byte 965; take "
            "the file from a copy, or make the index anew (infeed index)");
  EXPECT_EQ(error.offset(), 960U);
  EXPECT_EQ(error.record(), 40U);
  EXPECT_EQ(value(set.at(200)), 200U);
  // A file that is cut while it is being read.
  std::filesystem::resize_file(files_[0], 10 * kRecordBytes);
  EXPECT_EQ(value(set.at(9)), 9U);
  EXPECT_THAT(error_of([&] { set.at(10); }).message(), HasSubstr("the file ends at byte"));
}

TEST_F(RecordSetTest, a_file_that_is_longer_than_its_index) {
  add_three();
  folder_.write("train-00001-of-00003.tfrecord", frame(numbers(100, 101)));
  const RecordSet set(files_);
  const Error error = error_of([&] { set.at(100); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the index is for 2400 bytes, but the file has 2424: records were added, or it is "
            "another one; make the index anew (infeed index)");
  EXPECT_EQ(value(set.at(99)), 99U);
  EXPECT_EQ(value(set.at(200)), 200U);
}

TEST_F(RecordSetTest, an_index_that_lies) {
  add_three(4);
  RecordIndex index = index_records(files_[1]);
  for (const std::uint64_t wrong : {16U, 23U, 25U, 32U}) {
    index.offsets[1] = wrong;
    write_index(index, files_[1] + ".index");
    const RecordSet set(files_);
    EXPECT_THAT(error_of([&] { set.at(4); }).message(), HasSubstr("there is no record of"));
    EXPECT_THAT(error_of([&] { set.at(5); }).message(), HasSubstr("there is no record of"));
    EXPECT_EQ(value(set.at(6)), 6U);
  }
  index = index_records(files_[1]);
  index.offsets.back() = std::uint64_t{1} << 60;
  write_index(index, files_[1] + ".index");
  EXPECT_THAT(error_of([&] { RecordSet(files_).at(7); }).message(), HasSubstr("record is cut"));
}

TEST_F(RecordSetTest, a_damaged_index) {
  add_three(4);
  const std::string index = files_[1] + ".index";
  flip_bits(index, 40);
  const RecordSet set(files_);
  EXPECT_THAT(error_of([&] { set.at(4); }).message(),
              HasSubstr("the index is damaged: its checksum does not match; make it anew"));
  EXPECT_EQ(value(set.at(3)), 3U);
  write_whole(index, "x" + read_whole(index).substr(1));
  EXPECT_THAT(error_of([&] { RecordSet other(files_); }).what(),
              HasSubstr("the index is damaged: line 1 is not two numbers"));
}

TEST_F(RecordSetTest, an_index_that_was_made_anew_meanwhile) {
  add_three(4);
  const RecordSet set(files_);
  folder_.write("train-00001-of-00003.tfrecord", frame(numbers(4, 5)));
  write_index(index_records(files_[1]), files_[1] + ".index");
  const std::string message =
      "the index has 5 records, but had 4 when the set of files was made; make the set anew";
  EXPECT_EQ(error_of([&] { set.at(4); }).message(), message);
  std::filesystem::remove(files_[1] + ".index");
  EXPECT_EQ(error_of([&] { set.at(5); }).message(), message) << "it isn't read for each record";
}

TEST_F(RecordSetTest, an_index_of_dalis_kind_serves_too) {
  add(numbers(0, 20), false);
  write_dali_index(index_records(files_[0]), files_[0] + ".index");
  const RecordSet set(files_);
  EXPECT_EQ(set.size(), 20U);
  EXPECT_EQ(value(set.at(19)), 19U);
}

TEST_F(RecordSetTest, a_file_that_is_gone_and_comes_back) {
  add_three(10);
  std::filesystem::rename(files_[1], folder_.file("hidden"));
  const RecordSet set(files_);
  const Error error = error_of([&] { set.at(10); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.file(), files_[1]);
  EXPECT_EQ(value(set.at(20)), 20U);
  std::filesystem::rename(folder_.file("hidden"), files_[1]);
  EXPECT_EQ(value(set.at(10)), 10U);
}

TEST_F(RecordSetTest, refuses_what_has_no_places) {
  const auto gzip = folder_.write("a.gz", test::gzip(frame(numbers(0, 9))));
  const Error compressed = error_of([&] { RecordSet set({gzip}); });
  EXPECT_EQ(compressed.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(compressed.message(),
            "a gzip file can't be read by rows: its records are not at fixed places; write it "
            "plain (infeed reshard --compression none), or read it in order (records())");
  EXPECT_EQ(error_of([] { RecordSet set({"https://example.org/a.tfrecord"}); }).message(),
            "records by rows are read from local files only; copy the files, or read URLs in "
            "order (records())");
  EXPECT_EQ(error_of([&] { RecordSet set({folder_.file("none")}); }).code(), ErrorCode::not_found);
  EXPECT_THAT(error_of([&] { RecordSet set({gzip}, {.open_files_max = -1}); }).message(),
              HasSubstr("open_files_max"));
}

}  // namespace
}  // namespace infeed
