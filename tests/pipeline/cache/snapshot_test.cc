#include <filesystem>

#include <infeed/infeed.h>
#include <infeed/records/line_journal.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// 0 .. count-1, of which every seventh fails.
auto some_fail(std::int64_t count) {
  return range(count) | map([](std::int64_t x) {
           if (x % 7 == 3) throw std::runtime_error("no " + std::to_string(x));
           return x;
         });
}

TEST(Snapshot, IsWrittenInALineAndReadBack) {
  const TemporaryFolder folder;
  const SnapshotSummary summary =
      write_snapshot(some_fail(300), {.path = folder.file("s"), .shard_bytes = 400});
  EXPECT_EQ(summary.elements, 300);
  EXPECT_EQ(summary.errors, 43);
  EXPECT_THAT(summary.folder, StartsWith(folder.file("s") + "/"));
  run_source_suite([&] { return read_snapshot<std::int64_t>(summary.folder); },
                   stream_of(some_fail(300)));
  const auto read = read_snapshot<std::int64_t>(folder.file("s"));
  EXPECT_EQ(read.cardinality(), Cardinality::finite(300));
  EXPECT_EQ(stream_of(read | repeat(2)).size(), 600);
}

TEST(Snapshot, PassesTheSuite) {
  const TemporaryFolder folder(test::memory_folder());
  int count = 0;
  run_stage_suite_on<std::int64_t>(
      [&](auto dataset) {
        return dataset |
               snapshot({.path = folder.file(std::to_string(count++)), .shard_bytes = 500});
      },
      [](const Slots& in) { return show_all(in); }, {.sizes = {5}});
}

TEST(Snapshot, CountsTheErrorsThatItReads) {
  const TemporaryFolder folder(test::memory_folder());
  const auto written = some_fail(3000) | snapshot({.path = folder.file("s")});
  EXPECT_EQ(stream_of(written).size(), 3000);
  constexpr std::uint64_t kLimit = 64 << 10;
  EXPECT_THAT(stream_of(written, {.memory_bytes_max = kLimit}).front(),
              StartsWith("!! snapshot needs"));
  const auto read = read_snapshot<std::int64_t>(folder.file("s"));
  auto iterator = read.iterate();
  EXPECT_GE(iterator.memory().in_use_bytes(), 428 * sizeof(Error));
  const Error error = error_of([&] { read.iterate({.memory_bytes_max = kLimit}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), StartsWith("read_snapshot needs"));
}

TEST(Snapshot, EachPipelineHasAFolderOfItsOwn) {
  const TemporaryFolder folder;
  std::atomic<int> calls = 0;
  const auto write = [&](std::int64_t count, std::string version) {
    return write_snapshot(range(count) | map([&](std::int64_t x) {
                            ++calls;
                            return x;
                          }),
                          {.path = folder.file("s"), .version = std::move(version)});
  };
  const SnapshotSummary ten = write(10, "");
  const SnapshotSummary twenty = write(20, "");
  const SnapshotSummary newer = write(20, "2");
  EXPECT_EQ(calls, 50);
  EXPECT_EQ(write(10, "").folder, ten.folder);
  EXPECT_EQ(calls, 50) << "it is there";
  EXPECT_NE(ten.folder, twenty.folder);
  EXPECT_NE(newer.folder, twenty.folder);
  EXPECT_EQ(stream_of(read_snapshot<std::int64_t>(ten.folder)), stream_of(range(10)));
  const Error error = error_of([&] { read_snapshot<std::int64_t>(folder.file("s")); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("there are 3 snapshots here; give one of their folders"));
  EXPECT_THAT(error.message(), HasSubstr(twenty.folder));
}

TEST(Snapshot, ReadingRefusesWhatIsNotThere) {
  const TemporaryFolder folder;
  const Error absent = error_of([&] { read_snapshot<std::int64_t>(folder.file("s")); });
  EXPECT_EQ(absent.code(), ErrorCode::not_found);
  EXPECT_EQ(absent.file(), folder.file("s"));
  stream_of(range(100) | snapshot({.path = folder.file("s"), .shard_bytes = 240}) | take(50));
  const Error half = error_of([&] { read_snapshot<std::int64_t>(folder.file("s")); });
  EXPECT_EQ(half.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(half.message(), HasSubstr("the snapshot is not complete ("));
  const auto summary = write_snapshot(range(100), {.path = folder.file("s"), .shard_bytes = 240});
  EXPECT_EQ(summary.elements, 100);
  const Error other = error_of([&] { read_snapshot<std::string>(folder.file("s")); });
  EXPECT_EQ(other.message(),
            "read_snapshot: the snapshot holds 'elements i64', not 'elements string'; read it as "
            "the type that was written");
}

TEST(Snapshot, WritingSaysWhatKeepsItFromBecomingComplete) {
  const TemporaryFolder folder;
  folder.write("file", "");
  const Error error = error_of([&] { write_snapshot(range(3), {.path = folder.file("file/s")}); });
  EXPECT_THAT(error.message(),
              HasSubstr("cannot make the folder: a part of the path is a file, not a folder"));
  const auto dataset = range(10'000) | snapshot({.path = folder.file("s")});
  Iterator<std::int64_t> iterator = dataset.iterate();
  take_stream(iterator, 10);
  const Error busy = error_of([&] { write_snapshot(range(10'000), {.path = folder.file("s")}); });
  EXPECT_EQ(busy.code(), ErrorCode::unavailable);
}

// A forged journal has the right checksums.
TEST(Snapshot, AShardIsOneFileInTheFolder) {
  const TemporaryFolder folder;
  for (const std::string name : {"/etc/passwd", "../x", ".."}) {
    const std::vector<std::string> lines{"infeed elements 1", "is\tx", "shard\t" + name + "\t1\t1",
                                         "end\t1"};
    const std::string file =
        folder.write("elements.journal", LineJournal::text_of(lines, LineChecksum::behind_text));
    const Error error = error_of([&] { read_snapshot<std::int64_t>(folder.path().string()); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.message(), "the journal names '" + name +
                                   "' as a shard, which is no name of a file in its own folder; "
                                   "that was not read, and who made the folder should not be "
                                   "trusted");
    EXPECT_EQ(error.file(), file);
  }
}

TEST(Snapshot, AShardThatCannotBeReadIsOneError) {
  const TemporaryFolder folder;
  const auto summary = write_snapshot(range(100), {.path = folder.file("s"), .shard_bytes = 240});
  const auto make = [&] { return read_snapshot<std::int64_t>(summary.folder); };
  std::vector<std::filesystem::path> shards;
  for (const auto& entry : std::filesystem::directory_iterator(summary.folder)) {
    if (entry.path().extension() == ".tfrecord") shards.push_back(entry.path());
  }
  std::sort(shards.begin(), shards.end());
  ASSERT_EQ(shards.size(), 10);
  flip_bits(shards[3], 5 * 24 + 14);
  std::filesystem::remove(shards[7]);
  const Stream stream = stream_of(make());
  ASSERT_EQ(stream.size(), 35 + 1 + 30 + 1 + 20);
  EXPECT_THAT(stream[35], HasSubstr("record is damaged"));
  EXPECT_EQ(stream[36], "40");
  EXPECT_THAT(stream[66], HasSubstr("no such file"));
  EXPECT_EQ(stream[67], "80");
  run_source_suite(make, stream);
}

}  // namespace
}  // namespace infeed::test
