#include <filesystem>

#include <infeed/records/byte_stream.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

/// A file that is cut while it is read, at the border of a record: the rest looks whole.
namespace infeed::test {
namespace {

constexpr std::size_t kRecords = 30'000;
constexpr std::size_t kFramedBytes = 100 + 16;

class ShrinkingFile : public ::testing::Test {
 protected:
  ShrinkingFile() {
    std::string bytes;
    for (std::size_t i = 0; i < kRecords; ++i) bytes += frame(std::string(100, 'x'));
    file_ = folder_.write("a.tfrecord", bytes);
  }
  void cut(std::size_t records) { fs::resize_file(file_, records * kFramedBytes); }

  template <class Reader>
  static std::size_t count_rest(Reader& reader) {
    std::size_t count = 0;
    for (Record record; reader.next(record);) ++count;
    return count;
  }

  TemporaryFolder folder_;
  std::string file_;
};

TEST_F(ShrinkingFile, IsAnErrorOfTheReader) {
  RecordReader reader(file_);
  Record record;
  ASSERT_TRUE(reader.next(record));
  cut(20'000);
  const Error error = error_of([&] { count_rest(reader); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(),
            "the file became shorter while it was read: nothing is left at 2320000 of the 3480000 "
            "bytes that it had");
  EXPECT_EQ(error.record(), 20'000U);
  EXPECT_EQ(error.file(), file_);
}

TEST_F(ShrinkingFile, IsARangeThatIsLostWhereDamageIsSkipped) {
  RecordReader reader(file_, {.damage = DamagePolicy::skip_and_resynchronise});
  Record record;
  ASSERT_TRUE(reader.next(record));
  cut(20'000);
  EXPECT_EQ(count_rest(reader), 19'999U);
  ASSERT_EQ(reader.damaged().size(), 1U);
  EXPECT_THAT(reader.damaged().front().message, HasSubstr("became shorter while it was read"));
}

TEST_F(ShrinkingFile, IsAnErrorOfTheParallelReader) {
  for (const std::size_t left : {0U, 1U, 20'000U, 29'999U}) {
    SCOPED_TRACE(left);
    std::string bytes;
    for (std::size_t i = 0; i < kRecords; ++i) bytes += frame(std::string(100, 'x'));
    folder_.write("a.tfrecord", bytes);
    ParallelRecordReader reader(file_, {.threads = 2, .segment_bytes = 100'000});
    cut(left);
    const Error error = error_of([&] { count_rest(reader); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_THAT(error.message(), HasSubstr("became shorter while it was read"));
  }
}

TEST_F(ShrinkingFile, IsAnErrorOfByteStream) {
  ByteStream stream(file_, Compression::none);
  std::string bytes(kFramedBytes, '\0');
  ASSERT_EQ(stream.read(bytes), kFramedBytes);
  cut(1);
  EXPECT_THAT(error_of([&] { stream.read(bytes); }).message(),
              HasSubstr("nothing is left at 116 of the 3480000 bytes that it had"));
}

}  // namespace
}  // namespace infeed::test
