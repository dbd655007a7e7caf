#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

#include <infeed/records/limits.h>

#include "parallel/segment_source.h"
#include "records/codec/lz4_framed.h"
#include "records/codec/zstd_framed.h"
#include "records/temporary_files.h"

namespace infeed::detail {
namespace {

/// A segment's begin and end in the stream, then in the file.
using Ends = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

class SegmentPlanTest : public ::testing::Test {
 protected:
  SegmentPlan plan(const std::string& bytes, Compression compression,
                   std::uint64_t segment_bytes = 1) const {
    return plan_segments(folder_.write("x", bytes), compression, segment_bytes);
  }
  static std::vector<Ends> ends_of(const SegmentPlan& plan) {
    std::vector<Ends> ends;
    for (const Segment& segment : plan.segments) {
      ends.emplace_back(segment.stream_begin, segment.stream_end, segment.file_begin,
                        segment.file_end);
    }
    return ends;
  }

  const TemporaryFolder folder_;
};

/// Four blocks of 7 bytes each, which take 11 in the file.
TEST_F(SegmentPlanTest, JoinsNeighboursUntilTheyAreLongEnough) {
  const std::string file =
      test::lz4_file({"abcdefg", "bcdefgh", "cdefghi", "defghij"}, {1, 1, 1, 1});
  const auto ends = [&](std::uint64_t segment_bytes) {
    const SegmentPlan found = plan(file, Compression::lz4, segment_bytes);
    EXPECT_EQ(found.reason, "split by the index of its blocks");
    return ends_of(found);
  };
  const std::vector<Ends> single = {
      {0, 7, 12, 23}, {7, 14, 23, 34}, {14, 21, 34, 45}, {21, 28, 45, 56}};
  EXPECT_EQ(ends(1), single);
  EXPECT_EQ(ends(7), single);
  EXPECT_EQ(ends(8), (std::vector<Ends>{{0, 14, 12, 34}, {14, 28, 34, 56}}));
  EXPECT_EQ(ends(14), (std::vector<Ends>{{0, 14, 12, 34}, {14, 28, 34, 56}}));
  EXPECT_EQ(ends(15), (std::vector<Ends>{{0, 21, 12, 45}, {21, 28, 45, 56}}));
  EXPECT_EQ(ends(22), (std::vector<Ends>{{0, 28, 12, 56}}));
  EXPECT_EQ(ends(1000), (std::vector<Ends>{{0, 28, 12, 56}}));
}

TEST_F(SegmentPlanTest, RefusesPiecesThatAreTooLong) {
  std::string piece(limits::segment_bytes, 'x');
  EXPECT_EQ(ends_of(plan(test::lz4_file({piece, "y"}, {1, 1}), Compression::lz4)).size(), 2U);
  piece += 'x';
  const SegmentPlan longer = plan(test::lz4_file({piece, "y"}, {1, 1}), Compression::lz4);
  EXPECT_TRUE(longer.segments.empty());
  EXPECT_EQ(longer.reason, "one thread decodes ahead: a piece of it is longer than 67108864 bytes");
}

TEST_F(SegmentPlanTest, SaysWhyAFileIsNotSplit) {
  const auto why_not = [&](const std::string& bytes, Compression compression) {
    const SegmentPlan found = plan(bytes, compression);
    EXPECT_TRUE(found.segments.empty());
    return found.reason;
  };
  EXPECT_EQ(
      why_not(test::lz4_frame("text"), Compression::lz4),
      "one thread decodes ahead: the lz4 file can't be split: it does not end with an index of "
      "ours");
  EXPECT_EQ(why_not(test::gzip("text"), Compression::gzip),
            "one thread decodes ahead: '" + folder_.file("x") + ".points' is not there");
  folder_.write("x.points", "rubbish");
  EXPECT_EQ(
      why_not(test::gzip("text"), Compression::gzip),
      "one thread decodes ahead: the file of flush points is damaged: its 7 bytes do not begin "
      "as one; write the data file anew, or remove this one");
  EXPECT_EQ(why_not(test::zlib("text"), Compression::zlib),
            "one thread decodes ahead: a zlib file can't be split");
  EXPECT_EQ(why_not(test::zstd("text"), Compression::zstd),
            "one thread decodes ahead: a zstd file can't be split");
  EXPECT_EQ(plan_segments(folder_.file("none"), Compression::lz4, 1).reason,
            "one thread decodes ahead: cannot open: no such file; check the name");
}

}  // namespace
}  // namespace infeed::detail
