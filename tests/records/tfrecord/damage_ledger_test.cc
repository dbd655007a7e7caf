#include <infeed/records/limits.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

/// Each damaged range is noted with a line of text, and a few bytes of gzip make millions of
/// ranges.
namespace infeed {
namespace {

/// Whole records, each behind one whose bytes were changed.
std::string damaged_file(std::size_t ranges) {
  const std::string whole = test::frame("x");
  std::string damaged = whole;
  damaged[12] ^= 1;
  std::string bytes;
  for (std::size_t i = 0; i < ranges; ++i) bytes += damaged + whole;
  return test::gzip(bytes);
}

template <class Reader>
std::uint64_t count_whole(Reader& reader) {
  std::uint64_t count = 0;
  Record record;
  while (reader.next(record)) ++count;
  return count;
}

TEST(DamageLedger, HoldsSoManyRangesAndNoMore) {
  const TemporaryFolder folder;
  const auto options = [] {
    return RecordReaderOptions{.damage = DamagePolicy::skip_and_resynchronise};
  };
  RecordReader good(folder.write("good", damaged_file(limits::damaged_ranges)), options());
  EXPECT_EQ(count_whole(good), limits::damaged_ranges);
  EXPECT_EQ(good.damaged().size(), limits::damaged_ranges);

  const std::string file = folder.write("bad", damaged_file(limits::damaged_ranges + 10));
  RecordReader reader(file, options());
  const Error error = error_of([&] { count_whole(reader); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.message(), StartsWith("more than 65536 ranges of the file are "
                                          "damaged, and no more are noted: "));
  EXPECT_EQ(reader.damaged().size(), limits::damaged_ranges);
  EXPECT_EQ(count_whole(reader), 0U) << "after an error the file is over";

  ParallelRecordReader parallel(file, {.reader = options(), .threads = 2});
  EXPECT_EQ(error_of([&] { count_whole(parallel); }).message(), error.message());
  EXPECT_EQ(parallel.damaged().size(), limits::damaged_ranges);
}

}  // namespace
}  // namespace infeed
