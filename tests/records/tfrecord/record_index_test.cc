#include <filesystem>
#include <thread>

#include <infeed/records/record_index.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::frame;
using Payloads = std::vector<std::string>;

const Payloads kThree = {"hello", "", "123456789"};

TEST(RecordIndex, knows_where_records_are) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", frame(kThree));
  const RecordIndex index = index_records(file);
  EXPECT_THAT(index.offsets, ElementsAre(0, 21, 37, 62));
  EXPECT_EQ(index.size(), 3U);
  RecordReader reader(file);
  reader.seek(index.position(2));
  Record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.bytes(), "123456789");
  const RecordIndex empty = index_records(folder.write("empty", ""));
  EXPECT_EQ(empty.size(), 0U);
}

TEST(RecordIndex, both_kinds_of_file_are_read_back) {
  const TemporaryFolder folder;
  for (const Payloads& payloads : {kThree, Payloads{}, Payloads(500, std::string(100, 'x'))}) {
    RecordIndex index = index_records(folder.write("x", frame(payloads)));
    write_index(index, folder.file("x.index"));
    EXPECT_EQ(read_index(folder.file("x.index")), index);
    write_dali_index(index, folder.file("x.idx"));
    index.ends_crc = 0;
    EXPECT_EQ(read_index(folder.file("x.idx")), index);
  }
  write_dali_index(index_records(folder.write("x", frame(kThree))), folder.file("x.idx"));
  EXPECT_EQ(read_whole(folder.file("x.idx")), "0 21\n21 16\n37 25\n");
}

TEST(RecordIndex, golden_bytes) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  RecordIndex index;
  index.offsets = {0, 21, 37};
  index.ends_crc = 0x04030201;
  write_index(index, folder.file("x"));
  const std::string body = "INFEEDIX\1\0\0\0\1\2\3\4\x25\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s +
                           "\0\0\0\0\0\0\0\0\x15\0\0\0\0\0\0\0"s;
  EXPECT_EQ(read_whole(folder.file("x")), body + test::little(crc32c(body)));
}

TEST(RecordIndex, random_access_from_several_threads) {
  std::mt19937_64 random(3);
  Payloads payloads;
  for (int i = 0; i < 500; ++i) payloads.push_back(test::random_bytes(random, random() % 5000));
  const TemporaryFolder folder;
  const auto file = folder.write("x", frame(payloads));
  const IndexedRecords records(file, index_records(file));
  ASSERT_EQ(records.size(), 500U);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t number = (i * 7919 + t) % 500;
        const Record record = records.read(number);
        ASSERT_EQ(record.bytes(), payloads[number]);
        ASSERT_EQ(record.number(), number);
        ASSERT_EQ(record.file(), file);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(records.read(7).offset(), records.index().offsets[7] + 12);
  EXPECT_EQ(error_of([&] { records.read(500); }).message(),
            "record 500 is asked for, but the file has 500");
}

TEST(RecordIndex, the_only_record_may_be_the_whole_file) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", frame("hello"));
  const IndexedRecords records(file, index_records(file));
  EXPECT_EQ(records.read(0).bytes(), "hello");
}

TEST(RecordIndex, every_bit_flip_and_truncation_of_an_index_is_detected) {
  const TemporaryFolder folder;
  write_index(index_records(folder.write("x", frame(kThree))), folder.file("x.index"));
  const std::string good = read_whole(folder.file("x.index"));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(error_of([&] { read_index(folder.write("bad", bytes)); }).what(),
                HasSubstr("make it anew"));
  }
  for (std::size_t size = 1; size < good.size(); ++size) {
    const auto bad = folder.write("bad", good.substr(0, size));
    const Error error = error_of([&] { read_index(bad); });
    EXPECT_EQ(error.file(), bad);
    const std::string what = size < 8    ? "line 1 is not two numbers 'offset size'"
                             : size < 36 ? "it has only " + std::to_string(size) + " bytes"
                                         : "its checksum does not match";
    EXPECT_EQ(error.message(), "the index is damaged: " + what + "; make it anew");
  }
}

TEST(RecordIndex, a_right_checksum_excuses_nothing) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  const auto message = [&](const std::string& body) {
    const auto file = folder.write("bad", body + test::little(crc32c(body)));
    return error_of([&] { read_index(file); }).message();
  };
  const auto body = [](char version, char count, std::uint64_t first, std::uint64_t second) {
    return "INFEEDIX"s + version + "\0\0\0\1\2\3\4\x25\0\0\0\0\0\0\0"s + count +
           std::string(7, '\0') + test::little(first) + test::little(second);
  };
  EXPECT_THAT(message(body(0, 2, 0, 21)), HasSubstr("its checksum does not match"));
  EXPECT_THAT(message(body(2, 2, 0, 21)), HasSubstr("version 2"));
  EXPECT_THAT(message(body(1, 3, 0, 21)), HasSubstr("it claims 3 records but has 52 bytes"));
  EXPECT_THAT(message(body(1, 1, 0, 21)), HasSubstr("it claims 1 records but has 52 bytes"));
  EXPECT_THAT(message(body(1, 2, 0, 21) + "more"),
              HasSubstr("it claims 2 records but has 56 bytes"));
  EXPECT_THAT(message(body(1, 2, 8, 29)), HasSubstr("it does not begin at byte 0"));
  EXPECT_THAT(message(body(1, 2, 0, 22)), HasSubstr("record 1 would be from byte 22 to byte 37"));
  EXPECT_THAT(message(body(1, 2, 0, 40)), HasSubstr("record 1 would be from byte 40 to byte 37"));
}

TEST(RecordIndex, the_last_dali_line_may_have_no_end) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_index(folder.write("x", "0 21\n21 16")).offsets, ElementsAre(0, 21, 37));
  EXPECT_THAT(read_index(folder.write("x", "0 16")).offsets, ElementsAre(0, 16));
}

TEST(RecordIndex, wrong_dali_lines) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    return error_of([&] { read_index(folder.write("bad", text)); }).message();
  };
  EXPECT_THAT(message("0\n"), HasSubstr("line 1 is not two numbers 'offset size'"));
  EXPECT_THAT(message("0 21 3\n"), HasSubstr("line 1 is not two numbers"));
  EXPECT_THAT(message("0 21\n\n"), HasSubstr("line 2 is not two numbers"));
  EXPECT_THAT(message("0 21\n20 16\n"), HasSubstr("line 2 begins at byte 20, but byte 21 follows"));
  EXPECT_THAT(message("0 21\n22 30\n"), HasSubstr("line 2 begins at byte 22, but byte 21 follows"));
  EXPECT_THAT(message("0 15\n"), HasSubstr("record 0 would be from byte 0 to byte 15"));
  EXPECT_THAT(message("0 18446744073709551615\n18446744073709551615 5\n"),
              HasSubstr("line 2 begins at"));
  EXPECT_THAT(message("0 21\n21 18446744073709551600\n"), HasSubstr("line 2 begins at"));
  EXPECT_THAT(message("0 21\n21,16\n"), HasSubstr("line 2 is not two numbers"));
}

TEST(RecordIndex, a_file_that_is_cut_meanwhile_says_which_record) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", frame(kThree));
  const IndexedRecords records(file, index_records(file));
  std::filesystem::resize_file(file, 61);
  EXPECT_EQ(records.read(1).bytes(), "");
  const Error cut = error_of([&] { records.read(2); });
  EXPECT_THAT(cut.what(), HasSubstr("record is cut: 24 of 25 bytes are there"));
  EXPECT_EQ(cut.record(), 2U);
}

TEST(RecordIndex, an_index_of_another_file_is_refused) {
  const TemporaryFolder folder;
  const std::string bytes = frame(kThree);
  const RecordIndex index = index_records(folder.write("x", bytes));
  const auto longer = folder.write("x", bytes + frame("more"));
  const Error size = error_of([&] { require_index_of(index, longer); });
  EXPECT_EQ(size.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(size.what(), HasSubstr("it is for 62 bytes, the file has 82; make the index anew"));
  const auto other = folder.write("x", frame({"hello", "", "12345678X"}));
  EXPECT_THAT(error_of([&] { IndexedRecords records(other, index); }).what(),
              HasSubstr("the checksum of the file's ends is another one"));
  // An index of DALI's kind knows no checksum.
  RecordIndex without_sum = index;
  without_sum.ends_crc = 0;
  require_index_of(without_sum, other);
  EXPECT_EQ(IndexedRecords(other, without_sum).read(2).bytes(), "12345678X");
  const Error packed = error_of([&] { index_records(folder.write("z", test::gzip(bytes))); });
  EXPECT_EQ(packed.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(packed.message(), "a gzip file cannot be indexed: its records are not at fixed places");
}

TEST(RecordIndex, damaged_records_say_where) {
  const TemporaryFolder folder;
  Payloads payloads(10, std::string(2000, 'x'));  // the middle is outside the checksummed ends
  std::string bytes = frame(payloads);
  const RecordIndex index = index_records(folder.write("x", bytes));
  bytes[2016 * 5 + 100] = 'y';
  bytes[2016 * 4] = 'y';
  const auto file = folder.write("x", bytes);
  const IndexedRecords records(file, index);
  EXPECT_EQ(records.read(3).bytes(), payloads[3]);
  const Error payload = error_of([&] { records.read(5); });
  EXPECT_EQ(payload.offset(), 2016U * 5);
  EXPECT_EQ(payload.record(), 5U);
  EXPECT_THAT(error_of([&] { records.read(4); }).what(), HasSubstr("there is no record of 2000"));
}

TEST(RecordIndex, an_index_made_by_hand_allocates_nothing_on_its_word) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", frame(kThree));
  RecordIndex index = index_records(file);
  index.offsets[1] = std::uint64_t{1} << 60;
  const IndexedRecords records(file, index);
  EXPECT_THAT(error_of([&] { records.read(0); }).what(),
              HasSubstr("the index says that it ends at byte 1152921504606846976; make the index "
                        "anew [file"));
  EXPECT_EQ(error_of([&] { records.read(1); }).code(), ErrorCode::data_loss);
  EXPECT_EQ(records.read(2).bytes(), "123456789");
  index.offsets[1] = 15;
  EXPECT_THAT(error_of([&] { IndexedRecords(file, index).read(0); }).message(),
              HasSubstr("the index says that it ends at byte 15; make the index anew"));
  index.offsets[1] = 16;
  EXPECT_THAT(error_of([&] { IndexedRecords(file, index).read(0); }).message(),
              HasSubstr("there is no record of 0 bytes at this place"));
}

}  // namespace
}  // namespace infeed
