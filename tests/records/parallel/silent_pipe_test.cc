#include <fcntl.h>
#include <gtest/gtest.h>
#include <stop_token>
#include <string>
#include <sys/stat.h>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/parallel_record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

/// A thread of ParallelRecordReader that waits for a pipe which brings nothing more.
namespace infeed {
namespace {

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
  const Error error = test::error_of([&] { reader.next(record); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
  EXPECT_EQ(error.file(), name_);
  EXPECT_FALSE(reader.next(record)) << "after an error the file is over";
}

}  // namespace
}  // namespace infeed
