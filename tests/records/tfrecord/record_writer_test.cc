#include <csignal>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::frame;
using Payloads = std::vector<std::string>;

std::vector<std::string> names_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Payloads read_back(const std::string& file) {
  RecordReader reader(file);
  Payloads payloads;
  Record record;
  while (reader.next(record)) payloads.emplace_back(record.bytes());
  return payloads;
}

void write_all(const std::string& file, const Payloads& payloads,
               RecordWriterOptions options = {}) {
  RecordWriter writer(file, options);
  for (const auto& payload : payloads) writer.write(payload);
  writer.close();
}

TEST(RecordWriter, writes_the_bytes_of_the_format) {
  const TemporaryFolder folder;
  const Payloads payloads = {"hello", "", "123456789", std::string(300'000, 'x'), "end"};
  write_all(folder.file("a"), payloads);
  EXPECT_EQ(read_whole(folder.file("a")), frame(payloads));
  write_all(folder.file("empty"), {});
  EXPECT_EQ(read_whole(folder.file("empty")), "");
}

TEST(RecordWriter, what_it_writes_is_read_back_in_every_compression) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    for (const int level : {0, 1, 2, 3, 4, 6, 9}) {
      const bool is_plain = compression == Compression::none;
      if (is_plain && level != 1) continue;
      Payloads payloads;
      for (int i = 0; i < 300; ++i) {
        payloads.push_back(test::random_bytes(random, random() % 5000));
        payloads.push_back(std::string(random() % 200'000, 'a'));
      }
      const auto file = folder.file("x");
      write_all(file, payloads,
                {.compression = compression,
                 .compression_level = is_plain ? std::nullopt : std::optional(level),
                 .existing = ExistingFile::replace});
      EXPECT_EQ(RecordReader(file).compression(), compression);
      ASSERT_EQ(read_back(file), payloads) << to_string(compression) << " level " << level;
    }
  }
}

TEST(RecordWriter, the_same_records_give_the_same_compressed_bytes) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    write_all(folder.file(name), {"hello", "hello"}, {.compression = Compression::gzip});
  }
  EXPECT_EQ(read_whole(folder.file("a")), read_whole(folder.file("b")));
}

TEST(RecordWriter, the_usual_level_is_the_first) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i) + " squared is " + std::to_string(i);
  const TemporaryFolder folder;
  for (const Compression compression : {Compression::gzip, Compression::zlib, Compression::lz4}) {
    const auto written = [&](std::optional<int> level) {
      write_all(folder.file("x"), {text},
                {.compression = compression,
                 .compression_level = level,
                 .existing = ExistingFile::replace});
      return read_whole(folder.file("x"));
    };
    EXPECT_TRUE(written(std::nullopt) == written(1)) << to_string(compression);
  }
}

TEST(RecordWriter, an_empty_compressed_file_is_a_whole_stream) {
  const TemporaryFolder folder;
  write_all(folder.file("a"), {}, {.compression = Compression::gzip});
  EXPECT_GT(std::filesystem::file_size(folder.file("a")), 0U);
  EXPECT_THAT(read_back(folder.file("a")), ElementsAre());
}

TEST(RecordWriter, the_name_appears_only_when_the_file_is_closed) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.file("a"));
  writer.write("hello");
  EXPECT_THAT(names_in(folder), ElementsAre(".a.partial"));
  writer.close();
  EXPECT_THAT(names_in(folder), ElementsAre("a"));
}

TEST(RecordWriter, what_is_not_closed_disappears) {
  const TemporaryFolder folder;
  { RecordWriter(folder.file("a")).write("hello"); }
  EXPECT_THAT(names_in(folder), ElementsAre());
  RecordWriter writer(folder.file("a"));
  writer.discard();
  EXPECT_THAT(names_in(folder), ElementsAre());
  EXPECT_THAT(error_of([&] { writer.write("x"); }).what(), HasSubstr("it was discarded"));
}

TEST(RecordWriter, takes_over_what_a_killed_writer_left) {
  const TemporaryFolder folder;
  folder.write(".a.partial", std::string(1000, 'z'));
  write_all(folder.file("a"), {"hello"});
  EXPECT_EQ(read_whole(folder.file("a")), frame("hello"));
  EXPECT_THAT(names_in(folder), ElementsAre("a"));
}

TEST(RecordWriter, an_existing_file_is_only_replaced_when_asked) {
  const TemporaryFolder folder;
  const auto file = folder.write("a", "precious");
  const Error error = error_of([&] { RecordWriter writer(file); });
  EXPECT_EQ(error.code(), ErrorCode::already_exists);
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(read_whole(file), "precious");
  write_all(file, {"new"}, {.existing = ExistingFile::replace});
  EXPECT_EQ(read_back(file), Payloads{"new"});
  // Also if the file appears while the writer is at work.
  RecordWriter writer(folder.file("b"));
  writer.write("x");
  folder.write("b", "precious");
  EXPECT_EQ(error_of([&] { writer.close(); }).code(), ErrorCode::already_exists);
  EXPECT_EQ(error_of([&] { writer.close(); }).message(),
            "cannot close: an earlier write failed and the file was given up");
  EXPECT_EQ(read_whole(folder.file("b")), "precious");
  EXPECT_THAT(names_in(folder), ElementsAre("a", "b"));
}

TEST(RecordWriter, two_writers_of_one_name_are_refused) {
  const TemporaryFolder folder;
  RecordWriter first(folder.file("a"));
  const Error error = error_of([&] { RecordWriter second(folder.file("a")); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.what(), HasSubstr("somebody else is writing this file"));
  first.write("x");
  first.close();
  EXPECT_EQ(read_back(folder.file("a")), Payloads{"x"});
}

TEST(RecordWriter, synced_files_are_the_same) {
  const TemporaryFolder folder;
  const Payloads payloads(20, std::string(1'000'000, 'x'));
  write_all(folder.file("a"), payloads, {.durability = Durability::synced});
  EXPECT_EQ(read_whole(folder.file("a")), frame(payloads));
}

TEST(RecordWriter, knows_where_each_record_goes) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.file("a"));
  EXPECT_EQ(writer.position(), (RecordPosition{0, 0}));
  writer.write("hello");
  EXPECT_EQ(writer.position(), (RecordPosition{1, 21}));
}

TEST(RecordWriter, a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing) {
  RecordWriter full("/dev/full");
  const Error error = error_of([&] {
    for (int i = 0; i < 10; ++i) full.write(std::string(300'000, 'x'));
    full.close();
  });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.what(), HasSubstr("cannot write: the disk is full; free space"));
  EXPECT_EQ(error.file(), "/dev/full");
  EXPECT_THAT(error_of([&] { full.close(); }).what(), HasSubstr("an earlier write failed"));
  EXPECT_THAT(error_of([&] { full.write(""); }).what(), HasSubstr("an earlier write failed"));
}

// A limit on the size of files makes real short writes, followed by EFBIG, in a child process.
TEST(RecordWriter, short_writes_are_carried_on_until_they_fail) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{700'000, 700'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      RecordWriter writer(folder.file("a"));
      for (int i = 0; i < 10; ++i) writer.write(std::string(500'000, 'x'));
      writer.close();
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool is_right = text.find("larger than is allowed") != text.npos &&
                            text.find("(700000 bytes were written") != text.npos &&
                            !std::filesystem::exists(folder.file(".a.partial"));
      status = is_right ? 0 : 2;
    }
    ::_exit(status);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RecordWriter, wrong_places_and_options_say_why) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { RecordWriter w(folder.file("no/such/a")); }).what(),
              HasSubstr("folder '" + folder.file("no") + "' does not exist"));
  EXPECT_EQ(error_of([&] { RecordWriter w(folder.path().string()); }).code(),
            ErrorCode::invalid_argument);
  EXPECT_THAT(error_of([&] {
                RecordWriter w(folder.file("a"), {.compression = Compression::automatic});
              }).what(),
              HasSubstr("choose none, gzip, zlib or lz4"));
  EXPECT_THAT(error_of([&] {
                RecordWriter w(folder.file("a"),
                               {.compression = Compression::gzip, .compression_level = 10});
              }).what(),
              HasSubstr("compression_level is 10, it goes from 0 (fastest) to 9 (smallest)"));
  EXPECT_THAT(error_of([&] { RecordWriter w(folder.file("a"), {.compression_level = 1}); }).what(),
              HasSubstr("compression_level is for gzip, zlib and lz4, but the file is written "
                        "plain"));
  EXPECT_THAT(error_of([&] {
                RecordWriter w(folder.file("a"), {.compression = Compression::zstd});
              }).what(),
              HasSubstr("compression 'zstd' is for reading; choose none, gzip, zlib or lz4"));
  EXPECT_THAT(error_of([&] { RecordWriter w(folder.file("a"), {.flush_point_bytes = 1}); }).what(),
              HasSubstr("flush points are for gzip, but the compression is plain"));
  EXPECT_THAT(error_of([&] {
                RecordWriter w("/dev/null",
                               {.compression = Compression::gzip, .flush_point_bytes = 1});
              }).what(),
              HasSubstr("a device or a pipe can have no index and no flush points beside it"));
  EXPECT_THAT(names_in(folder), ElementsAre());
  RecordWriter writer(folder.file("a"));
  writer.close();
  EXPECT_EQ(error_of([&] { writer.write("x"); }).message(), "cannot write: it is closed already");
  const Error twice = error_of([&] { writer.close(); });
  EXPECT_EQ(twice.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(twice.message(), "cannot close: it is closed already");
  EXPECT_EQ(twice.file(), folder.file("a"));
  writer.discard();
  EXPECT_THAT(names_in(folder), ElementsAre("a")) << "what is closed stays";
  EXPECT_EQ(error_of([&] { writer.close(); }).message(), "cannot close: it is closed already");
  EXPECT_EQ(error_of([&] { (void)writer.file_sum(); }).message(),
            "file_sum() is known when RecordWriterOptions::file_sum asked for it");
}

TEST(RecordWriter, knows_the_index_and_the_sum_that_reading_the_file_finds) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  const auto file = folder.file("a");
  Payloads payloads = {"", std::string(300'000, 'x')};
  for (int i = 0; i < 2000; ++i) {
    payloads.push_back(test::random_bytes(random, random() % 3000));
  }
  for (const Payloads& written : {payloads, Payloads{}}) {
    for (const Compression compression :
         {Compression::none, Compression::gzip, Compression::zlib, Compression::lz4}) {
      const bool is_plain = compression == Compression::none;
      RecordWriter writer(file, {.compression = compression,
                                 .index = is_plain,
                                 .file_sum = true,
                                 .existing = ExistingFile::replace});
      for (const auto& payload : written) writer.write(payload);
      EXPECT_THAT(error_of([&] { (void)writer.file_sum(); }).what(),
                  HasSubstr("file_sum() is known when the file is closed"));
      writer.close();
      EXPECT_EQ(writer.file_sum(), sum_file(file)) << to_string(compression);
      if (is_plain) {
        EXPECT_EQ(writer.index(), index_records(file));
      }
    }
  }
}

TEST(RecordWriter, sums_and_indexes_end_after_a_stop_request) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r");
  RecordWriter writer(file);
  writer.write("abc");
  writer.close();
  std::stop_source source;
  EXPECT_EQ(sum_file(file, source.get_token()).bytes, 19U);
  EXPECT_EQ(index_records(file, source.get_token()).size(), 1U);
  source.request_stop();
  for (const Error& error : {error_of([&] { sum_file(file, source.get_token()); }),
                             error_of([&] { index_records(file, source.get_token()); })}) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
    EXPECT_EQ(error.message(), "stopped before the file was read");
    EXPECT_EQ(error.file(), file);
  }
}

TEST(RecordWriter, an_index_that_cannot_be_is_refused) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] {
                RecordWriter w(folder.file("a"), {.compression = Compression::lz4, .index = true});
              }).what(),
              HasSubstr("an index is for plain files, but the compression is lz4"));
  EXPECT_THAT(error_of([&] { RecordWriter w("/dev/null", {.index = true}); }).what(),
              HasSubstr("a device or a pipe can have no index"));
  RecordWriter writer(folder.file("a"));
  writer.close();
  EXPECT_THAT(error_of([&] { (void)writer.index(); }).what(),
              HasSubstr("index() is known when RecordWriterOptions::index asked for it"));
}

}  // namespace
}  // namespace infeed
