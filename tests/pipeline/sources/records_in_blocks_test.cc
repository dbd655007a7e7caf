#include <array>
#include <cstddef>
#include <filesystem>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>
#include <vector>

#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/detail/record_block_source.h>
#include <infeed/pipeline/records.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/record_writer.h>

#include "engine/iterator_context.h"
#include "pipeline/suite/stream.h"
#include "records/filled_pipe.h"
#include "records/temporary_files.h"

// The counts of records() for its files, behind a run in which a stage that fills batches read them
// in blocks.
namespace infeed::test {
namespace {

/// The count of each file included those of the files before it, so that a resume skipped too few
/// records, and gave one a second time.
TEST(RecordsInBlocks, AreCountedByFileForTheNextResume) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (int file = 0; file < 4; ++file) {
    files.push_back(folder.file(std::to_string(file)));
    RecordWriter writer(files.back());
    for (int i = 0; i <= file; ++i)
      writer.write(std::string(1, static_cast<char>('a' + i + 10 * file)));
    writer.close();
  }
  const auto batches =
      records(files) |
      batch_into<std::int64_t>(1, [](const Record& record, const Row<std::int64_t>& row) {
        row.value() = record.bytes().front();
      });
  const auto rows_from = [&](const std::optional<Checkpoint>& place) {
    std::vector<std::int64_t> rows;
    auto iterator = batches.iterate({.resume = place});
    while (const auto batch = iterator.next()) rows.push_back((*batch)[0]);
    return rows;
  };
  const std::vector<std::int64_t> all = rows_from(std::nullopt);
  ASSERT_EQ(all.size(), 10);
  auto iterator = batches.iterate();
  for (std::size_t taken = 0; taken <= all.size(); ++taken) {
    const std::vector<std::int64_t> rest(all.begin() + static_cast<std::ptrdiff_t>(taken),
                                         all.end());
    EXPECT_EQ(rows_from(iterator.checkpoint()), rest) << taken << " were taken";
    iterator.next();
  }
  EXPECT_LT(iterator.memory().peak_bytes(), 2U << 20) << "small files keep no spare blocks";
}

/// Counts how often a file is opened while it lives. The system tells of opens without a close between
/// them only once.
class Opens {
 public:
  explicit Opens(const std::string& file) {
    EXPECT_GE(::inotify_add_watch(events_.get(), file.c_str(), IN_OPEN | IN_CLOSE), 0);
  }
  std::size_t count() const {
    std::array<inotify_event, 100> events{};  // they have no names: it is no folder
    const auto bytes = ::read(events_.get(), events.data(), sizeof events);
    const std::size_t told =
        bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(inotify_event);
    std::size_t opens = 0;
    for (const inotify_event& event : std::span(events).first(told)) {
      if ((event.mask & IN_OPEN) != 0) ++opens;
    }
    return opens;
  }

 private:
  struct Closed {
    explicit Closed(int opened) : descriptor(opened) {}
    ~Closed() { ::close(descriptor); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    int get() const { return descriptor; }
    const int descriptor;
  };
  const Closed events_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
};

/// It was opened to see whether it can be mapped, closed, and opened again.
TEST(RecordsInBlocks, ACompressedFileIsOpenedOnceWhereFilesAreMapped) {
  const TemporaryFolder folder;
  const std::string file = folder.file("data.gz");
  RecordWriter writer(file, {.compression = Compression::gzip});
  for (int i = 0; i < 100; ++i) writer.write(std::to_string(i));
  writer.close();
  for (const Count& parallelism : {Count(1), Count(autotune)}) {
    const auto dataset = records({file}, {.parallelism = parallelism, .map_files = true});
    const Opens opens(file);
    EXPECT_EQ(stream_of(dataset, {.executor = Executor::inline_()}).size(), 100U);
    EXPECT_EQ(opens.count(), 1U);
  }
}

/// A pipe was opened to see whether it has blocks, which took its first bytes, and then again.
TEST(RecordsInBlocks, APipeIsOpenedOnce) {
  const TemporaryFolder folder;
  const auto written = [&](const std::string& name, const std::string& payloads) {
    RecordWriter writer(folder.file(name));
    for (const char payload : payloads) writer.write(std::string(1, payload));
    writer.close();
    return folder.file(name);
  };
  const std::string plain = written("plain", "abc");
  const std::string content = read_whole(written("content", "defgh"));
  for (const Count parallelism : {Count(1), Count(autotune)}) {
    for (const bool comes_first : {true, false}) {
      const TemporaryFolder of_pipe;
      const FilledPipe pipe(of_pipe, "pipe", content);
      const auto batches =
          records(comes_first ? std::vector{pipe.name(), plain} : std::vector{plain, pipe.name()},
                  {.parallelism = parallelism}) |
          batch_into<std::int64_t>(1, [](const Record& record, const Row<std::int64_t>& row) {
            row.value() = record.bytes().front();
          });
      std::string found;
      auto iterator = batches.iterate();
      while (const auto batch = iterator.next()) found += static_cast<char>((*batch)[0]);
      EXPECT_EQ(found, comes_first ? "defghabc" : "abcdefgh");
    }
  }
}

/// The source of the files "abc" and "defg" with a record each letter, for a stage that reads blocks.
class SourceOfBlocks : public ::testing::Test {
 protected:
  SourceOfBlocks() {
    for (const std::string payloads : {"abc", "defg"}) {
      files_.push_back(folder_.file(payloads));
      RecordWriter writer(files_.back());
      for (const char payload : payloads) writer.write(std::string(1, payload));
      writer.close();
    }
    dataset_ = records(files_);
    stage_ = dataset_.node()->open(StageContext{.run = run_, .counters = nullptr});
    blocks_ = stage_->record_blocks();
  }
  /// Returns the letters that are left to be pulled; "!" is an error.
  std::string pulled() {
    std::string found;
    Chunk out(dataset_.node()->type());
    while (stage_->pull(out, 10) == Pull::values) {
      for (const Record& record : out.values<Record>()) found += record.bytes();
      if (out.has_error()) found += '!';
      out.clear();
    }
    return found;
  }

  const TemporaryFolder folder_;
  std::vector<std::string> files_;
  Dataset<Record> dataset_;
  IteratorContext run_{IterateOptions{}};
  std::unique_ptr<Stage> stage_;
  detail::RecordBlockSource* blocks_;
};

/// The place in it was taken for one in the next file, whose first records were left out.
TEST_F(SourceOfBlocks, AFileThatIsGoneBehindItsBlocksIsOneError) {
  ASSERT_NE(blocks_, nullptr);
  {
    detail::RecordBlock block;
    ASSERT_TRUE(blocks_->claim(block));
    block.file().read(block);
    ASSERT_TRUE(block.file().frame(block));
    blocks_->leave(detail::RecordBlockSource::Place{&block.file(), block.position(2)});
  }
  std::filesystem::remove(files_.front());
  EXPECT_EQ(pulled(), "!defg");
}

/// It ended the run, though the file was open already.
TEST_F(SourceOfBlocks, AFileThatCannotBeOpenedForItsBlocksIsPulled) {
  ASSERT_NE(blocks_, nullptr);
  std::filesystem::remove(files_.front());
  {
    detail::RecordBlock block;
    EXPECT_FALSE(blocks_->claim(block));
    blocks_->leave(std::nullopt);
  }
  EXPECT_EQ(stage_->record_blocks(), nullptr) << "they aren't tried again";
  EXPECT_EQ(pulled(), "abcdefg");
}

}  // namespace
}  // namespace infeed::test
