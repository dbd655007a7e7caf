#include <cstdint>
#include <fcntl.h>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

/// Files that one thread of ParallelRecordReader decodes ahead, since they can't be split.
namespace infeed {
namespace {

class ReadAheadSource : public ::testing::Test {
 protected:
  ReadAheadSource() {
    RecordWriter writer(file_, {.compression = Compression::gzip});
    for (int i = 0; i < 3'000; ++i) writer.write(payload(i));
    writer.close();
  }
  static std::string payload(int number) { return "record " + std::to_string(number); }

  /// Reads to the end or an error, and behind it. Returns the records and the error's text.
  template <class Reader>
  static std::pair<int, std::string> read(Reader& reader) {
    int count = 0;
    std::string text;
    Record record;
    try {
      for (; reader.next(record); ++count) EXPECT_EQ(record.bytes(), payload(count));
    } catch (const Error& error) {
      text = error.what();
    }
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(reader.next(record));
    return {count, text};
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("x");
};

TEST_F(ReadAheadSource, gives_all_records_however_little_it_may_hold) {
  for (const std::uint64_t bytes : {1, 1'000, 100'000'000}) {
    ParallelRecordReader reader(file_, {.read_ahead_bytes = bytes});
    EXPECT_THAT(reader.how(), StartsWith("one thread decodes ahead"));
    EXPECT_EQ(read(reader), std::pair(3'000, std::string())) << bytes;
  }
}

TEST_F(ReadAheadSource, gives_an_error_behind_the_records_before_it) {
  const std::string good = read_whole(file_);
  folder_.write("x", good.substr(0, good.size() / 2));
  RecordReader alone(file_);
  const auto expected = read(alone);
  EXPECT_GT(expected.first, 0);
  EXPECT_NE(expected.second, "");
  ParallelRecordReader reader(file_);
  EXPECT_EQ(read(reader), expected);
}

/// A pipe that brings nothing more.
class SilentPipe : public ::testing::Test {
 protected:
  SilentPipe() {
    EXPECT_EQ(::mkfifo(name_.c_str(), 0600), 0);
    silent_ = File::open(name_, O_RDWR);
    silent_.write(test::frame(payload_));
  }
  void read_what_is_there(ParallelRecordReader& reader) const {
    Record record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.bytes(), payload_);
  }

  const TemporaryFolder folder_;
  const std::string name_ = folder_.file("pipe");
  const std::string payload_ = std::string(40, 'x');
  File silent_;
};

/// The thread was in read(2), and the destructor waited for it.
TEST_F(SilentPipe, keeps_no_reader_from_its_end) {
  ParallelRecordReader reader(name_);
  read_what_is_there(reader);
}

TEST_F(SilentPipe, is_waited_for_until_somebody_stops_it) {
  std::stop_source stop;
  ParallelRecordReader reader(name_, {.reader = {.url = {.stop = stop.get_token()}}});
  read_what_is_there(reader);
  stop.request_stop();
  Record record;
  const Error error = error_of([&] { reader.next(record); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
  EXPECT_EQ(error.file(), name_);
  EXPECT_FALSE(reader.next(record)) << "after an error the file is over";
}

}  // namespace
}  // namespace infeed
