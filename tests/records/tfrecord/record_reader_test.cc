#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>

#include "records/codec/lz4_framed.h"
#include "records/codec/zstd_framed.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::frame;
using test::gzip;
using test::zlib;
using Payloads = std::vector<std::string>;

Payloads read_all(RecordReader& reader, std::size_t at_once = 7) {
  Payloads payloads;
  std::vector<Record> records(at_once);
  while (const std::size_t count = reader.read(records)) {
    for (std::size_t i = 0; i < count; ++i) payloads.emplace_back(records[i].bytes());
  }
  return payloads;
}

Payloads read_all(const std::string& file, RecordReaderOptions options = {}) {
  RecordReader reader(file, std::move(options));
  return read_all(reader);
}

Payloads random_payloads(std::mt19937_64& random, std::size_t count, std::size_t bytes_max) {
  Payloads payloads;
  for (std::size_t i = 0; i < count; ++i) {
    payloads.push_back(test::random_bytes(random, random() % (bytes_max + 1)));
  }
  return payloads;
}

const Payloads kThreeRecords = {"hello", "", "123456789"};

TEST(RecordReader, golden_bytes) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  const auto file = folder.write("golden",
                                 "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2"
                                 "\x09\0\0\0\0\0\0\0\x37\xf9\x71\x39"
                                 "123456789\xe5\xb0\x8a\xc7"s);
  EXPECT_THAT(read_all(file), ElementsAre("", "123456789"));
}

TEST(RecordReader, a_record_knows_where_it_came_from_and_outlives_the_reader) {
  const TemporaryFolder folder;
  const auto file = folder.write("three", frame(kThreeRecords));
  Record last;
  {
    RecordReader reader(file);
    while (reader.next(last)) {
    }
  }
  EXPECT_EQ(last.bytes(), "123456789");
  EXPECT_EQ(last.file(), file);
  EXPECT_EQ(last.number(), 2U);
  EXPECT_EQ(last.offset(), 16U + 5 + 16 + 12);
}

TEST(RecordReader, an_empty_file_holds_no_records) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_all(folder.write("empty", "")), ElementsAre());
}

TEST(RecordReader, recognises_compression_by_content_whatever_the_name) {
  const TemporaryFolder folder;
  const std::string bytes = frame(kThreeRecords);
  for (const char* name : {"x", "x.gz", "x.zlib"}) {
    EXPECT_EQ(read_all(folder.write(name, bytes)), kThreeRecords);
    EXPECT_EQ(read_all(folder.write(name, gzip(bytes))), kThreeRecords);
    EXPECT_EQ(read_all(folder.write(name, zlib(bytes))), kThreeRecords);
    EXPECT_EQ(read_all(folder.write(name, test::zstd(bytes))), kThreeRecords);
    EXPECT_EQ(read_all(folder.write(name, test::lz4_frame(bytes))), kThreeRecords);
  }
  EXPECT_EQ(RecordReader(folder.write("y", gzip(bytes))).compression(), Compression::gzip);
  EXPECT_EQ(RecordReader(folder.write("y", zlib(bytes))).compression(), Compression::zlib);
  EXPECT_EQ(RecordReader(folder.write("y", bytes)).compression(), Compression::none);
}

TEST(RecordReader, compression_can_be_forced) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", gzip(frame(kThreeRecords)));
  EXPECT_EQ(read_all(file, {.compression = Compression::gzip}), kThreeRecords);
  const Error error = error_of([&] { read_all(file, {.compression = Compression::none}); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.what(), HasSubstr("perhaps the file does not hold TFRecords at all"));
  EXPECT_THROW(
      read_all(folder.write("y", frame(kThreeRecords)), {.compression = Compression::zlib}), Error);
}

TEST(RecordReader, random_files_at_any_block_size_and_compression) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  for (int round = 0; round < 30; ++round) {
    const Payloads payloads = random_payloads(random, random() % 60, round % 3 == 0 ? 9000 : 200);
    const std::string bytes = frame(payloads);
    for (const std::string& file :
         {folder.write("plain", bytes), folder.write("gz", gzip(bytes)),
          folder.write("zlib", zlib(bytes)), folder.write("zst", test::zstd(bytes)),
          folder.write("lz4", test::lz4_frame(bytes))}) {
      for (std::size_t block_bytes :
           {std::size_t{1}, std::size_t{64}, 65 + random() % 5000, std::size_t{262'144}}) {
        RecordReader reader(file, {.block_bytes = block_bytes});
        ASSERT_EQ(read_all(reader, 1 + random() % 20), payloads)
            << file << " block_bytes " << block_bytes;
      }
    }
  }
}

/// The system copies fastest out of its page cache in this case.
TEST(RecordReader, bytes_lie_in_a_cache_line_as_they_do_in_their_file) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  RecordReader reader(folder.write("plain", frame(random_payloads(random, 300, 9000))),
                      {.block_bytes = 16 << 10});
  Record record;
  while (reader.next(record)) {
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(record.bytes().data()) % 64, *record.offset() % 64)
        << "record " << *record.number();
  }
}

TEST(RecordReader, several_streams_in_one_file_are_all_read) {
  const TemporaryFolder folder;
  const Payloads six = {"hello", "", "123456789", "hello", "", "123456789"};
  const std::string bytes = frame(kThreeRecords);
  for (std::size_t block_bytes : {64, 262'144}) {
    const RecordReaderOptions options{.block_bytes = block_bytes};
    EXPECT_EQ(read_all(folder.write("g", gzip(bytes) + gzip("") + gzip(bytes)), options), six);
    EXPECT_EQ(read_all(folder.write("z", zlib(bytes) + zlib(bytes)), options), six);
    // A record may cross the border of two streams.
    EXPECT_EQ(
        read_all(folder.write("g", gzip(bytes.substr(0, 30)) + gzip(bytes.substr(30))), options),
        kThreeRecords);
  }
  const RecordReaderOptions lenient{.damage = DamagePolicy::stop_like_tensorflow};
  EXPECT_EQ(read_all(folder.write("z", zlib(bytes) + zlib(bytes)), lenient), kThreeRecords);
}

TEST(RecordReader, what_follows_a_stream_must_be_a_stream) {
  const TemporaryFolder folder;
  const auto file = folder.write("g", gzip(frame(kThreeRecords)) + "rubbish");
  RecordReader reader(file);
  std::vector<Record> records(10);
  EXPECT_EQ(reader.read(records), 3U);
  const Error error = error_of([&] { reader.read(records); });
  EXPECT_THAT(error.what(), HasSubstr("what follows the end of a gzip stream is not another one"));
  EXPECT_EQ(error.file(), file);
}

// TensorFlow ends silently in both; two bytes are an error to it.
TEST(RecordReader, stops_like_tensorflow_but_for_an_empty_member_and_a_lone_byte) {
  const TemporaryFolder folder;
  const RecordReaderOptions lenient{.damage = DamagePolicy::stop_like_tensorflow};
  const std::string member = gzip(frame(kThreeRecords));
  EXPECT_EQ(read_all(folder.write("g", member + gzip("") + member), lenient).size(), 6U);
  for (const std::string& rubbish : {std::string("x"), std::string("xx"), std::string(1, '\0')}) {
    const auto file = folder.write("g", member + rubbish);
    EXPECT_EQ(error_of([&] { read_all(file, lenient); }).code(), ErrorCode::data_loss);
  }
  EXPECT_EQ(read_all(folder.write("g", member + '\x1f'), lenient), kThreeRecords);
}

TEST(RecordReader, position_and_seek) {
  const TemporaryFolder folder;
  const auto file = folder.write("three", frame(kThreeRecords));
  RecordReader reader(file);
  Record record;
  std::vector<RecordPosition> positions;
  do {
    positions.push_back(reader.position());
  } while (reader.next(record));
  EXPECT_THAT(positions, ElementsAre(RecordPosition{0, 0}, RecordPosition{1, 21},
                                     RecordPosition{2, 37}, RecordPosition{3, 62}));
  reader.seek(positions[2]);
  EXPECT_EQ(reader.read({}), 0U) << "no room, no record";
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.bytes(), "123456789");
  EXPECT_EQ(record.number(), 2U);
  EXPECT_EQ(record.offset(), 37U + 12);
  EXPECT_FALSE(reader.next(record));

  RecordReader compressed(folder.write("gz", gzip(frame(kThreeRecords))));
  EXPECT_EQ(error_of([&] { compressed.seek({1, 21}); }).code(), ErrorCode::failed_precondition);
}

TEST(RecordReader, skips_and_counts_without_verifying_payloads) {
  std::mt19937_64 random(5);
  const Payloads payloads = random_payloads(random, 200, 3000);
  const TemporaryFolder folder;
  std::string bytes = frame(payloads);
  for (std::size_t block_bytes : {64, 4096, 262'144}) {
    for (const auto& file : {folder.write("p", bytes), folder.write("g", gzip(bytes))}) {
      EXPECT_EQ(count_records(file, {.block_bytes = block_bytes}), 200U);
      RecordReader reader(file, {.block_bytes = block_bytes});
      EXPECT_EQ(reader.skip(150), 150U);
      EXPECT_EQ(reader.position().record, 150U);
      EXPECT_EQ(read_all(reader), Payloads(payloads.begin() + 150, payloads.end()));
      EXPECT_EQ(reader.skip(1), 0U);
    }
  }
  bytes[12] = static_cast<char>(bytes[12] ^ 1);
  const auto damaged = folder.write("d", bytes);
  EXPECT_EQ(count_records(damaged), 200U);
  EXPECT_THROW(read_all(damaged), Error);
  EXPECT_EQ(read_all(damaged, {.verify = Verify::lengths}).size(), 200U);
  // A cut last record is no record.
  const auto cut = folder.write("c", bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(error_of([&] { count_records(cut); }).record(), 199U);
}

TEST(RecordReader, reads_a_pipe) {
  std::mt19937_64 random(6);
  const Payloads payloads = random_payloads(random, 300, 3000);
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  for (const std::string& bytes : {frame(payloads), gzip(frame(payloads))}) {
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { folder.write("pipe", bytes); });
    EXPECT_EQ(read_all(pipe), payloads);
    writer.join();
    ::unlink(pipe.c_str());
  }
}

TEST(RecordReader, a_file_that_shrinks_while_it_is_read_is_an_error) {
  const TemporaryFolder folder;
  const Payloads payloads(1000, std::string(1000, 'x'));
  const auto file = folder.write("shrinks", frame(payloads));
  RecordReader reader(file, {.block_bytes = 4096});
  Record record;
  ASSERT_TRUE(reader.next(record));
  std::filesystem::resize_file(file, 100'000);
  const Error error = error_of([&] {
    while (reader.next(record)) {
    }
  });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.what(), HasSubstr("became shorter while it was read"));
  EXPECT_EQ(error.record(), 98U);
}

/// Blocks that are read behind the old end begin and end inside of records.
TEST(RecordReader, a_file_that_grows_while_it_is_read_has_no_cut_records) {
  const TemporaryFolder folder;
  const Payloads payloads(10, std::string(1000, 'x'));
  const Payloads appended(40, std::string(1100, 'y'));
  Record record;
  const auto grown = [&](const std::string& file) {
    folder.write(file, frame(payloads));
    RecordReader reader(folder.file(file), {.block_bytes = 4096});
    EXPECT_TRUE(reader.next(record));
    write_at(folder.file(file), frame(payloads).size(), frame(appended));
    return reader;
  };
  RecordReader reader = grown("read");
  const Payloads rest = read_all(reader);
  ASSERT_EQ(rest.size(), 49U);
  EXPECT_EQ(Payloads(rest.begin() + 9, rest.end()), appended);
  EXPECT_EQ(grown("skipped").skip(100), 49U);
}

TEST(RecordReader, files_that_cannot_be_read_say_why) {
  const TemporaryFolder folder;
  const Error missing = error_of([&] { RecordReader(folder.file("nothing")); });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_THAT(missing.what(), HasSubstr("cannot open: no such file; check the name"));
  EXPECT_EQ(missing.file(), folder.file("nothing"));
  const Error no_folder = error_of([&] { RecordReader(folder.file("a/b/c")); });
  EXPECT_THAT(no_folder.what(), HasSubstr("folder '" + folder.file("a") + "' does not exist"));
  const Error is_folder = error_of([&] { RecordReader(folder.path().string()); });
  EXPECT_EQ(is_folder.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(is_folder.what(), HasSubstr("it is a folder"));
  const auto file = folder.write("file", "");
  const Error not_folder = error_of([&] { RecordReader(file + "/x"); });
  EXPECT_THAT(not_folder.what(), HasSubstr("a part of the path is a file"));
  if (::geteuid() != 0) {  // root may do everything
    ::chmod(file.c_str(), 0);
    EXPECT_EQ(error_of([&] { RecordReader reader(file); }).code(), ErrorCode::permission_denied);
  }
}

}  // namespace
}  // namespace infeed
