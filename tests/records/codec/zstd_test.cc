#include <random>
#include <sys/stat.h>
#include <thread>

#include <infeed/error.h>
#include <infeed/records/byte_stream.h>
#include <infeed/records/csv.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/seekable_file.h>

#include "records/codec/zstd_framed.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::frame;
using test::skippable_frame;
using test::zstd;

std::string read_stream(const std::string& file, std::size_t step_bytes = 100'000) {
  ByteStream stream(file);
  std::string all;
  std::string step(step_bytes, '\0');
  while (const std::size_t got = stream.read(step)) all.append(step, 0, got);
  return all;
}

/// Compresses well, but not to nothing.
TEST(Zstd, frames_of_any_kind_are_read) {
  const TemporaryFolder folder;
  const std::string large = test::some_text(700'000);
  for (const std::string& bytes : {std::string(), std::string("x"), large}) {
    for (const test::ZstdFrame& kind :
         {test::ZstdFrame{}, test::ZstdFrame{.level = 1, .has_checksum = false},
          test::ZstdFrame{.level = 19, .has_size = false},
          test::ZstdFrame{.has_size = false, .window_log = 27}}) {
      const auto file = folder.write("x", zstd(bytes, kind));
      for (const std::size_t step : {1000, 1'000'000}) EXPECT_EQ(read_stream(file, step), bytes);
    }
  }
}

TEST(Zstd, frames_follow_each_other_and_skippable_ones_are_passed_over) {
  const TemporaryFolder folder;
  const std::string text = test::some_text(300'000);
  const std::string one = zstd(text);
  const std::string skip = skippable_frame(std::string(70'000, 's'));
  EXPECT_EQ(read_stream(folder.write("x", one + zstd("") + one)), text + text);
  EXPECT_EQ(read_stream(folder.write("x", one + skip + one + skip)), text + text);
  // As pzstd and seekable files begin and end; the first hides what the file is.
  EXPECT_EQ(read_stream(folder.write("x", skippable_frame("size") + one)), text);
  EXPECT_EQ(read_stream(folder.write("x", skip + one)), text);
  EXPECT_EQ(read_stream(folder.write("x", skip)), "");
}

TEST(Zstd, records_are_recognised_and_read) {
  const TemporaryFolder folder;
  const std::vector<std::string> payloads(100, test::some_text(5000));
  const auto file = folder.write("x", zstd(frame(payloads)));
  for (const std::size_t block_bytes : {64, 262'144}) {
    RecordReader reader(file, {.block_bytes = block_bytes});
    EXPECT_EQ(reader.compression(), Compression::zstd);
    Record record;
    EXPECT_EQ(reader.skip(40), 40U);
    for (int i = 40; i < 100; ++i) {
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.bytes(), payloads[0]);
    }
    EXPECT_FALSE(reader.next(record));
  }
}

TEST(Zstd, pipes_are_read) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = test::some_text(300'000);
  const std::jthread writer([&] { write_whole(pipe, skippable_frame("a") + zstd(text)); });
  EXPECT_EQ(read_stream(pipe), text);
}

TEST(Zstd, a_copy_for_reading_at_any_place_is_decompressed) {
  const TemporaryFolder folder;
  const std::string text = test::some_text(300'000);
  const SeekableFile file(folder.write("x", zstd(text)));
  ASSERT_EQ(file.size_bytes(), text.size());
  std::string part(1000, '\0');
  file.read_exactly(200'000, part);
  EXPECT_EQ(part, text.substr(200'000, 1000));
}

TEST(Zstd, every_cut_is_an_error_behind_what_came_before) {
  const TemporaryFolder folder(test::memory_folder());
  const std::vector<std::string> payloads = {test::some_text(20'000), "b", test::some_text(30'000)};
  const std::string good =
      zstd(frame(payloads[0])) + skippable_frame("some") + zstd(frame({payloads[1], payloads[2]}));
  const std::size_t first = zstd(frame(payloads[0])).size();
  for (std::size_t size = 4; size < good.size(); size += size < 40 ? 1 : 13) {
    if (size == first || size == first + 12) continue;  // whole frames
    SCOPED_TRACE("size " + std::to_string(size));
    RecordReader reader(folder.write("x", good.substr(0, size)));
    Record record;
    std::size_t records = 0;
    const Error error = error_of([&] {
      while (reader.next(record)) EXPECT_EQ(record.bytes(), payloads[records++]);
    });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(records, size < first ? 0U : 1U);
    EXPECT_THAT(error.what(), HasSubstr("file"));
  }
}

TEST(Zstd, damage_names_the_frame_and_the_place) {
  const TemporaryFolder folder;
  const std::string text = test::some_text(400'000);
  const std::string one = zstd(text);
  std::string bytes = one + one;
  bytes[one.size() + one.size() / 2] ^= 0x10;
  const auto file = folder.write("x", bytes);
  ByteStream stream(file);
  std::string step(10'000, '\0');
  std::string before;
  const Error error = error_of([&] {
    while (const std::size_t got = stream.read(step)) before.append(step, 0, got);
  });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), file);
  EXPECT_THAT(error.what(), HasSubstr("zstd frame 1 is damaged near byte "));
  EXPECT_GE(before.size(), text.size());

  bytes = one;
  bytes.back() ^= 1;
  EXPECT_THAT(error_of([&] { read_stream(folder.write("x", bytes)); }).what(),
              HasSubstr("zstd frame 0 is damaged near byte"));
  EXPECT_THAT(error_of([&] { read_stream(folder.write("x", bytes)); }).what(),
              HasSubstr("its checksum does not match its contents"));
  EXPECT_THAT(
      error_of([&] { read_stream(folder.write("x", one.substr(0, 1000))); }).what(),
      HasSubstr("zstd frame 0 is damaged near byte 1000 of the file: the file ends inside"));
  EXPECT_THAT(error_of([&] { read_stream(folder.write("x", one + "rubbish")); }).what(),
              HasSubstr("what follows the end of a zstd frame is not another one (byte " +
                        std::to_string(one.size()) + " of the file)"));
  EXPECT_THAT(error_of([&] {
                read_stream(folder.write("x", one + skippable_frame("ab").substr(0, 9)));
              }).what(),
              HasSubstr("the file ends inside a skippable frame"));
}

/// Blocks before the damage come out, whatever room the reader has for them.
TEST(Zstd, blocks_before_damage_are_given) {
  const TemporaryFolder folder;
  std::mt19937_64 random(1);
  const std::string text = test::random_bytes(random, 5 * 131'072);  // blocks of 128 KiB
  const std::string good = zstd(text);
  for (const std::size_t block : {1, 3}) {
    std::string bytes = good;
    const std::size_t header = good.size() - 4 - (5 - block) * (131'072 + 3);
    bytes[header] = static_cast<char>(bytes[header] | 6);  // a type that doesn't exist
    for (const std::size_t step : {1000, 200'000, 1'000'000}) {
      ByteStream stream(folder.write("x", bytes));
      std::string into(step, '\0');
      std::string before;
      const Error error = error_of([&] {
        while (const std::size_t got = stream.read(into)) before.append(into, 0, got);
      });
      EXPECT_EQ(error.code(), ErrorCode::data_loss);
      // ByteStream fills its reader's room, or throws: the last room is lost with it.
      EXPECT_GE(before.size() + step, block * 131'072) << step;
      EXPECT_EQ(before, text.substr(0, before.size()));
    }
  }
}

TEST(Zstd, a_window_beyond_the_limit_is_refused_and_the_limit_said) {
  const TemporaryFolder folder;
  // Magic number, no flags, a window of 2^(10+31) bytes, an empty last block.
  const std::string huge = std::string("\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00", 9);
  const Error error = error_of([&] { read_stream(folder.write("x", huge)); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.what(),
              HasSubstr("it wants a window of more than 134217728 bytes, which is the limit"));
}

/// Frames of one segment that claim so many bytes, made by hand.
TEST(Zstd, a_frame_has_the_bytes_that_its_header_claims) {
  const TemporaryFolder folder;
  const std::string front = "\x28\xb5\x2f\xfd\x20";
  const std::string no_more = std::string("\x01\0\0", 3);  // the last block, which is empty
  const std::string one_byte = std::string("\x08\0\0", 3) + "a";
  const auto said = [&](const std::string& bytes) {
    return error_of([&] { read_stream(folder.write("x", bytes)); }).message();
  };
  EXPECT_EQ(said(front + "\x05" + no_more),
            "zstd frame 0 is damaged near byte 9 of the file: it has 0 bytes, and 5 by its header");
  EXPECT_EQ(
      said(front + "\x02" + one_byte + no_more),
      "zstd frame 0 is damaged near byte 13 of the file: it has 1 bytes, and 2 by its header");
  EXPECT_EQ(read_stream(folder.write("x", front + "\x01" + one_byte + no_more)), "a");
}

TEST(Zstd, what_the_library_says_is_told) {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& bytes) {
    return error_of([&] { read_stream(folder.write("x", bytes)); }).message();
  };
  EXPECT_THAT(said(std::string("\x28\xb5\x2f\xfd\x21\x07\0\x01\0\0", 10)),
              HasSubstr("it needs a dictionary, which can't be given here"));
  EXPECT_THAT(said(std::string("\x28\xb5\x2f\xfd\x20\x05\x07\0\0", 9)), HasSubstr("zstd says '"));
}

TEST(Zstd, a_bomb_costs_no_more_than_the_limits_of_rows_and_records) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", zstd(std::string(100'000'000, '\0')));
  RecordReader reader(file);
  EXPECT_EQ(error_of([&] {
              Record record;
              while (reader.next(record)) continue;
            }).code(),
            ErrorCode::data_loss);
  const auto text = folder.write("y.csv", zstd("a\n" + std::string(100'000'000, '1')));
  EXPECT_THAT(error_of([&] { infer_csv_schema(text, {}); }).what(), HasSubstr("16777216"));
}

}  // namespace
}  // namespace infeed
