#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "records/codec/lz4_framed.h"
#include "records/parallel/same_records.h"
#include "records/temporary_files.h"
#include "seeded_random.h"
#include "thrown_error.h"

/// ParallelRecordReader gives the same as RecordReader, for any file, damage, and cuts.
namespace infeed {
namespace {

using test::expect_same;
using test::frame;
using Payloads = std::vector<std::string>;

void write_records(const std::string& file, const Payloads& payloads,
                   RecordWriterOptions options = {}) {
  options.existing = ExistingFile::replace;
  RecordWriter writer(file, options);
  for (const std::string& payload : payloads) writer.write(payload);
  writer.close();
}

Payloads mixed_payloads(std::mt19937_64& random, std::size_t count) {
  Payloads payloads;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = random() % (random() % 20 == 0 ? 3000 : 120);
    payloads.push_back(i % 3 == 0 ? test::random_bytes(random, size) : std::string(size, 'x'));
  }
  return payloads;
}

/// A file of exactly one stream, with nothing behind it.
std::string inflate_with_zlib(std::string bytes, int window_bits) {
  std::string out(10'000, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, window_bits), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

class ParallelRecordReaderTest : public ::testing::Test {
 protected:
  test::SeededRandom random_;
  TemporaryFolder folder_{test::memory_folder()};
  const std::string file_ = folder_.file("x");

  std::string how(std::uint64_t segment_bytes = 1000) {
    return ParallelRecordReader(file_, {.segment_bytes = segment_bytes}).how();
  }
  /// Changes some bytes of the file, or cuts its end.
  void damage_file() {
    std::string bytes = read_whole(file_);
    for (std::size_t i = random_() % 4; i > 0 && !bytes.empty(); --i) {
      bytes[random_() % bytes.size()] = static_cast<char>(random_());
    }
    if (random_() % 4 == 0) bytes.resize(random_() % (bytes.size() + 1));
    if (random_() % 8 == 0) bytes += test::random_bytes(random_, 1 + random_() % 50);
    folder_.write("x", bytes);
  }
};

TEST_F(ParallelRecordReaderTest, plain_files_are_read_in_blocks) {
  for (const Payloads& payloads :
       {Payloads{}, Payloads{""}, Payloads{"hello"}, mixed_payloads(random_, 400)}) {
    write_records(file_, payloads);
    expect_same(file_, {64, 1000, 1 << 20});
  }
  EXPECT_EQ(how(), "read in blocks");
}

TEST_F(ParallelRecordReaderTest, a_record_may_reach_over_many_segments) {
  write_records(file_, {"a", std::string(20'000, 'b'), "c", std::string(5000, 'd')});
  expect_same(file_, {64, 1000, 6000});
}

TEST_F(ParallelRecordReaderTest, records_inside_records_are_not_taken_for_records) {
  const std::string inner = frame(Payloads(50, "an inner record"));
  write_records(file_, {"a", inner, "b", inner + "x", inner});
  expect_same(file_, {64, 300, 1000});
}

TEST_F(ParallelRecordReaderTest, an_index_changes_nothing) {
  write_records(file_, mixed_payloads(random_, 400));
  write_index(index_records(file_), file_ + ".index");
  expect_same(file_, {64, 1000, 1 << 20});
  const std::string other = folder_.file("y");
  write_records(other, Payloads(10, "other"));
  write_index(index_records(other), file_ + ".index");
  expect_same(file_, {1000});
}

TEST_F(ParallelRecordReaderTest, an_index_that_lies_loses_nothing) {
  Payloads payloads = mixed_payloads(random_, 300);
  payloads[249] = "long enough to give some bytes away";
  write_records(file_, payloads);
  RecordIndex index = index_records(file_);
  for (std::size_t i = 20; i < 250; ++i) index.offsets[i] += 7;
  write_index(index, file_ + ".index");
  expect_same(file_, {64, 1000});
}

/// All of it would lie in memory before the first record comes.
TEST_F(ParallelRecordReaderTest, points_with_one_long_piece_are_not_used) {
  const Payloads payloads(70, std::string(std::size_t{1} << 20, 'x'));
  RecordWriterOptions options{.compression = Compression::gzip,
                              .flush_point_bytes = std::uint64_t{1} << 30};
  write_records(file_, payloads, options);
  EXPECT_EQ(how(), "one thread decodes ahead: a piece of it is longer than 67108864 bytes");
}

TEST_F(ParallelRecordReaderTest, lz4_files_are_split_at_their_blocks) {
  const Payloads payloads = mixed_payloads(random_, 300);
  std::vector<std::string> pieces;
  for (const std::string& payload : payloads) {
    if (pieces.empty() || pieces.back().size() > 700) pieces.emplace_back();
    pieces.back() += frame(payload);
  }
  folder_.write("x", test::lz4_file(pieces, std::vector<std::size_t>(pieces.size(), 1)));
  EXPECT_EQ(how(), "split by the index of its blocks");
  expect_same(file_, {64, 3000, 1 << 20});
  for (int round = 0; round < 40; ++round) {
    folder_.write("x", test::lz4_file(pieces, std::vector<std::size_t>(pieces.size(), 1)));
    damage_file();
    expect_same(file_, {64, 3000});
  }
  write_records(file_, {}, {.compression = Compression::lz4});
  expect_same(file_, {1000});
}

TEST_F(ParallelRecordReaderTest, gzip_files_are_split_at_their_flush_points) {
  for (const Payloads& payloads :
       {Payloads{}, Payloads{""}, mixed_payloads(random_, 10), mixed_payloads(random_, 400)}) {
    for (const std::uint64_t flush_point_bytes : {1, 500, 1 << 20}) {
      for (const int level : {0, 1, 3, 6}) {
        write_records(file_, payloads,
                      {.compression = Compression::gzip,
                       .compression_level = level,
                       .flush_point_bytes = flush_point_bytes});
        expect_same(file_, {64, 3000});
        EXPECT_EQ(how(), "split at its flush points");
      }
    }
  }
}

TEST_F(ParallelRecordReaderTest, gzip_files_without_flush_points_are_decoded_ahead) {
  write_records(file_, mixed_payloads(random_, 400), {.compression = Compression::gzip});
  EXPECT_THAT(how(), HasSubstr("one thread decodes ahead: '" + file_ + ".points' is not there"));
  expect_same(file_, {64, 1000});
  for (int round = 0; round < 20; ++round) {
    write_records(file_, mixed_payloads(random_, 60), {.compression = Compression::zlib});
    damage_file();
    expect_same(file_, {1000});
  }
}

TEST_F(ParallelRecordReaderTest, damage_is_told_as_by_the_plain_reader) {
  for (int round = 0; round < 60; ++round) {
    const bool is_gzip = round % 2 == 0;
    write_records(
        file_, mixed_payloads(random_, 100),
        is_gzip ? RecordWriterOptions{.compression = Compression::gzip, .flush_point_bytes = 400}
                : RecordWriterOptions{});
    damage_file();
    expect_same(file_, {64, 1000});
  }
}

TEST_F(ParallelRecordReaderTest, damage_in_the_middle_of_a_gzip_file_with_its_points_is_found) {
  const Payloads payloads(600, "much the same text again and again");
  const RecordWriterOptions options = {
      .compression = Compression::gzip, .compression_level = 0, .flush_point_bytes = 1};
  write_records(file_, payloads, options);
  const std::string good = read_whole(file_);
  ASSERT_GT(good.size(), 9500U) << "the ends are bound by a checksum; this damage is between them";
  for (int round = 0; round < 4; ++round) {
    std::string bytes = good;
    bytes[4100 + random_() % (bytes.size() - 8300)] ^= static_cast<char>(1 << random_() % 8);
    folder_.write("x", bytes);
    EXPECT_EQ(how(), "split at its flush points");
    expect_same(file_, {64, 3000});
  }
  // One record less, unknown to the points: only the member's own CRC and size show it.
  folder_.write("x", good);
  expect_same(file_, {3000});
}

TEST_F(ParallelRecordReaderTest, flush_points_that_are_damaged_or_foreign_are_not_used) {
  const RecordWriterOptions options = {.compression = Compression::gzip, .flush_point_bytes = 500};
  write_records(file_, mixed_payloads(random_, 100), options);
  const std::string points = read_whole(file_ + ".points");
  for (std::size_t bit = 0; bit < points.size() * 8; bit += 1 + random_() % 20) {
    std::string bytes = points;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    folder_.write("x.points", bytes);
    // Another number of the version, behind 8 bytes of the name, is that of a later one.
    const bool is_version = bit / 8 >= 8 && bit / 8 < 12;
    EXPECT_THAT(how(),
                StartsWith(std::string("one thread decodes ahead: the file of flush points ") +
                           (is_version && bit != 8 * 8 ? "has format version" : "is damaged")));
  }
  for (std::size_t size = 0; size < points.size(); size += 5) {
    folder_.write("x.points", points.substr(0, size));
    EXPECT_THAT(how(), StartsWith("one thread decodes ahead: the file of flush points is damaged"));
  }
  expect_same(file_, {1000});
  folder_.write("x.points", points);
  EXPECT_EQ(how(), "split at its flush points");
  write_records(file_, Payloads(3, "other"), {.compression = Compression::gzip});
  EXPECT_THAT(how(), HasSubstr("the flush points do not belong to the data file as it is now: they "
                               "are for "));
}

TEST_F(ParallelRecordReaderTest, a_file_of_flush_points_is_as_the_format_says) {
  write_records(file_, {"hello", "", "123456789"},
                {.compression = Compression::gzip, .flush_point_bytes = 30});
  const std::string data = read_whole(file_);
  const std::string points = read_whole(file_ + ".points");
  ASSERT_EQ(points.size(), 32U + 3 * 24 + 4);
  const auto number = [&points](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i > 0; --i)
      value = value << 8 | static_cast<std::uint8_t>(points[at + i - 1]);
    return value;
  };
  const std::string ends = data + data;
  EXPECT_EQ(points.substr(0, 16),
            "INFEEDGZ" + test::little(std::uint32_t{1}) + test::little(crc32c(ends)));
  EXPECT_EQ(number(16), data.size());
  EXPECT_EQ(number(24), 2U);
  EXPECT_THAT((std::array{number(32), number(40), number(48)}), ElementsAre(10, 0, 0));
  EXPECT_THAT((std::array{number(64), number(72)}), ElementsAre(37, 2));
  EXPECT_THAT((std::array{number(80), number(88), number(96)}),
              ElementsAre(data.size() - 10, 62, 3));
  EXPECT_EQ(points.substr(104), test::little(crc32c(points.substr(0, 104))));
  // zlib reads the whole as one member, and the second segment by itself.
  EXPECT_EQ(inflate_with_zlib(data, 31), frame(Payloads{"hello", "", "123456789"}));
  const std::string part = data.substr(number(56), number(80) - number(56));
  EXPECT_EQ(inflate_with_zlib(part + std::string("\3\0", 2), -15), frame("123456789"));
}

TEST_F(ParallelRecordReaderTest, what_the_callback_throws_passes_through_and_reading_goes_on) {
  std::string bytes = frame(Payloads(100, "hello"));
  bytes[21 * 50 + 13] ^= 1;
  for (const std::string& content : {bytes, test::gzip(bytes)}) {
    folder_.write("x", content);
    ParallelRecordReader reader(
        file_, {.reader = {.damage = DamagePolicy::skip_and_resynchronise,
                           .on_damage = [](const DamagedRange&) { throw std::string("enough"); }},
                .segment_bytes = 100});
    Record record;
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(reader.next(record));
    EXPECT_THROW(reader.next(record), std::string);
    for (int i = 51; i < 100; ++i) {
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.number(), static_cast<std::uint64_t>(i));
    }
    EXPECT_FALSE(reader.next(record));
    EXPECT_EQ(reader.damaged().size(), 1U);
  }
}

TEST_F(ParallelRecordReaderTest, may_be_left_at_any_moment_and_records_outlive_it) {
  const Payloads payloads = mixed_payloads(random_, 300);
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::lz4}) {
    write_records(file_, payloads, {.compression = compression});
    for (std::size_t stop = 0; stop < 300; stop += 23) {
      std::vector<Record> kept(stop);
      {
        ParallelRecordReader reader(file_,
                                    {.threads = 2, .segment_bytes = 512, .read_ahead_bytes = 2000});
        for (Record& record : kept) ASSERT_TRUE(reader.next(record));
      }
      for (std::size_t i = 0; i < stop; ++i) ASSERT_EQ(kept[i].bytes(), payloads[i]);
    }
  }
}

TEST_F(ParallelRecordReaderTest, records_are_skipped_and_counted) {
  Payloads payloads;
  for (int i = 0; i < 1000; ++i) payloads.push_back("record " + std::to_string(i));
  for (const RecordWriterOptions& options :
       {RecordWriterOptions{},
        RecordWriterOptions{.compression = Compression::gzip, .flush_point_bytes = 500},
        RecordWriterOptions{.compression = Compression::gzip},
        RecordWriterOptions{.compression = Compression::lz4}}) {
    write_records(file_, payloads, options);
    ParallelRecordReader reader(file_, {.segment_bytes = 1000});
    const auto expect_next = [&](std::uint64_t number) {
      Record record;
      ASSERT_TRUE(reader.next(record));
      EXPECT_EQ(record.number(), number);
      EXPECT_EQ(record.bytes(), payloads[number]);
      EXPECT_EQ(reader.records_passed(), number + 1);
    };
    EXPECT_EQ(reader.skip(0), 0U);
    EXPECT_EQ(reader.skip(10), 10U);
    EXPECT_EQ(reader.skip(5), 5U);
    EXPECT_EQ(reader.records_passed(), 15U);
    EXPECT_EQ(reader.read({}), 0U);
    expect_next(15);
    EXPECT_EQ(reader.skip(300), 300U);
    expect_next(316);
    EXPECT_EQ(reader.skip(0), 0U);
    EXPECT_EQ(reader.skip(256), 256U);
    expect_next(573);
    EXPECT_EQ(reader.skip(1000), 426U);
    EXPECT_EQ(reader.records_passed(), 1000U);
    EXPECT_EQ(reader.skip(1), 0U);
    std::filesystem::remove(file_ + ".points");
  }
}

/// A cut between two records loses bytes of the file, but none of the stream.
TEST_F(ParallelRecordReaderTest, a_skip_to_damage_counts_records_and_tells_of_it) {
  const Payloads payloads(20, "hello");
  const std::string whole = test::gzip(frame(payloads));
  const std::vector<std::pair<std::size_t, std::uint64_t>> cuts = {{11, 0}, {whole.size() - 1, 20}};
  for (const auto& [bytes, records] : cuts) {
    folder_.write("x", whole.substr(0, bytes));
    std::size_t told = 0;
    ParallelRecordReader reader(
        file_, {.reader = {.damage = DamagePolicy::skip_and_resynchronise,
                           .on_damage = [&told](const DamagedRange&) { ++told; }}});
    EXPECT_EQ(reader.skip(1000), records);
    EXPECT_EQ(reader.records_passed(), records);
    EXPECT_EQ(reader.damaged().size(), 1U);
    EXPECT_EQ(told, 1U);
    Record record;
    EXPECT_FALSE(reader.next(record));
    EXPECT_EQ(reader.skip(1), 0U);
    EXPECT_EQ(told, 1U);
  }
}

TEST_F(ParallelRecordReaderTest, pipes_are_decoded_ahead) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Payloads payloads = mixed_payloads(random_, 100);
  std::jthread writer([&] { write_whole(pipe, frame(payloads)); });
  ParallelRecordReader reader(pipe);
  EXPECT_EQ(reader.how(), "one thread decodes ahead: a pipe can't be split");
  Record record;
  for (const std::string& payload : payloads) {
    ASSERT_TRUE(reader.next(record));
    ASSERT_EQ(record.bytes(), payload);
  }
  EXPECT_FALSE(reader.next(record));
  EXPECT_FALSE(reader.next(record));
}

TEST_F(ParallelRecordReaderTest, a_file_that_is_not_there_is_said_at_once) {
  EXPECT_EQ(error_of([&] { ParallelRecordReader reader(folder_.file("none")); }).code(),
            ErrorCode::not_found);
  EXPECT_THAT(error_of([&] {
                RecordWriter(file_, {.compression = Compression::lz4, .flush_point_bytes = 1});
              }).what(),
              HasSubstr("flush points are for gzip, but the compression is lz4"));
}

}  // namespace
}  // namespace infeed
