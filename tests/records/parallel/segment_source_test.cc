#include "parallel/segment_source.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

#include <infeed/records/byte_stream.h>
#include <infeed/records/record_writer.h>

#include "memory/block.h"
#include "parallel/compressed_blocks.h"
#include "records/temporary_files.h"

namespace infeed::detail {
namespace {

/// A file that is split, with all its bytes decompressed.
class SegmentSourceTest : public ::testing::TestWithParam<Compression> {
 protected:
  SegmentSourceTest() {
    std::mt19937_64 random(3);
    RecordWriterOptions options{.compression = GetParam()};
    if (is_gzip()) options.flush_point_bytes = 1;
    RecordWriter writer(file_, options);
    for (int i = 0; i < 300; ++i) {
      writer.write(test::random_bytes(random, 3000) + std::string(random() % 3000, 'x'));
    }
    writer.close();
    ByteStream stream(file_);
    stream_.resize(2'000'000);
    stream_.resize(stream.read(stream_));
    segments_ = plan_segments(file_, GetParam(), 1).segments;
  }
  static bool is_gzip() { return GetParam() == Compression::gzip; }

  static std::string read(SegmentSource& source, const Segment& segment, std::size_t room_bytes) {
    source.begin(segment);
    std::string bytes;
    std::string room(room_bytes, '\0');
    const std::uint64_t size = segment.stream_end - segment.stream_begin;
    while (bytes.size() < size) {
      const std::size_t got = source.read(
          std::span(room).first(std::min<std::size_t>(room_bytes, size - bytes.size())));
      if (got == 0) break;
      bytes.append(room, 0, got);
    }
    return bytes;
  }
  std::string bytes_of(const Segment& segment) const {
    return stream_.substr(segment.stream_begin, segment.stream_end - segment.stream_begin);
  }
  static std::uint32_t zip_crc(const std::string& bytes) {
    return static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("x");
  std::string stream_;
  std::vector<Segment> segments_;
};

TEST_P(SegmentSourceTest, GivesTheBytesOfAnySegmentInAnyOrder) {
  ASSERT_GT(segments_.size(), 3U);
  EXPECT_EQ(segments_.front().stream_begin, 0U);
  EXPECT_EQ(segments_.back().stream_end, stream_.size());
  for (const std::size_t block_bytes : {64, 5000, 1 << 20}) {
    const auto source = make_segment_source(file_, GetParam(), block_bytes);
    for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
      for (const std::size_t room_bytes : {700, 300'000}) {
        ASSERT_TRUE(read(*source, *segment, room_bytes) == bytes_of(*segment));
        if (is_gzip()) {
          ASSERT_EQ(source->crc32(), zip_crc(bytes_of(*segment)));
        }
      }
    }
  }
}

TEST_P(SegmentSourceTest, RefusesASegmentThatIsAnotherOne) {
  const auto source = make_segment_source(file_, GetParam(), 4096);
  const Segment good = segments_[1];
  const auto refuses = [&](const Segment& segment) {
    try {
      read(*source, segment, 300'000);
    } catch (const StreamDamage& damage) {
      if (is_gzip()) {
        EXPECT_EQ(damage.message, "a segment is damaged");
      }
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refuses(good));
  for (const int change : {-1, 1}) {
    Segment other = good;
    other.stream_end += static_cast<std::uint64_t>(change);
    EXPECT_TRUE(refuses(other)) << change;
    other = good;
    other.file_end += static_cast<std::uint64_t>(change);
    // LZ4's blocks say by themselves where they end.
    EXPECT_EQ(refuses(other), is_gzip() || change < 0) << change;
  }
  EXPECT_TRUE(read(*source, good, 300'000) == bytes_of(good)) << "and goes on";
}

/// Hundreds of short segments may be on their way at once.
TEST_P(SegmentSourceTest, ABlockHoldsLittleMoreThanItsSegment) {
  const auto blocks = make_segment_blocks(file_, {}, {.compression = GetParam()}, segments_);
  std::vector<RecordBlock> held;  // none is used again
  for (const Segment& segment : segments_) {
    RecordBlock& block = held.emplace_back();
    ASSERT_TRUE(blocks->claim(block));
    blocks->read(block);
    EXPECT_LE(block.memory_bytes(),
              2 * (segment.stream_end - segment.stream_begin) + kBlockLeadBytes);
    EXPECT_TRUE(blocks->frame(block));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SegmentSourceTest,
                         ::testing::Values(Compression::gzip, Compression::lz4));

TEST(SegmentBlocks, TakeMemoryInSteps) {
  const TemporaryFolder folder;
  const std::string file = folder.write("x", "no segment");
  for (const auto& [bytes, memory_bytes] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 2},
                                                        {127, 128},
                                                        {128, 256},
                                                        {4096, 8192},
                                                        {4097, 8192},
                                                        {131'071, 131'072},
                                                        {131'072, 262'144},
                                                        {262'143, 262'144},
                                                        {262'144, 393'216}}) {
    const std::vector<Segment> only{{0, bytes, 0, 1}};
    const auto blocks = make_segment_blocks(file, {}, {.compression = Compression::gzip}, only);
    RecordBlock block;
    ASSERT_TRUE(blocks->claim(block));
    blocks->read(block);
    EXPECT_EQ(block.memory_bytes(), memory_bytes) << bytes;
    EXPECT_FALSE(blocks->frame(block)) << "a RecordReader says what is wrong";
  }
}

class GzipTail : public SegmentSourceTest {};

TEST_P(GzipTail, EndsTheFileWithItsChecksumAndSize) {
  const std::uint64_t end = segments_.back().file_end;
  const std::uint32_t crc = zip_crc(stream_);
  const auto is_right = [&](std::uint64_t segments_end, std::uint32_t sum, std::uint64_t size) {
    return gzip_tail_is_right(file_, segments_end, sum, size);
  };
  EXPECT_TRUE(is_right(end, crc, stream_.size()));
  EXPECT_TRUE(is_right(end, crc, stream_.size() + (std::uint64_t{1} << 32))) << "it has 32 bits";
  EXPECT_FALSE(is_right(end, crc ^ 1, stream_.size()));
  EXPECT_FALSE(is_right(end, crc, stream_.size() + 1));
  EXPECT_FALSE(is_right(end - 1, crc, stream_.size()));
  EXPECT_FALSE(is_right(end + 1, crc, stream_.size()));
  EXPECT_FALSE(is_right(end + 3, crc, stream_.size())) << "the trailer is cut";
  EXPECT_FALSE(is_right(segments_.front().file_begin, crc, stream_.size()));
  const std::string good = read_whole(file_);
  for (const std::size_t at : {0, 1, 2, 3}) {
    std::string other = good;
    other[at] = static_cast<char>(other[at] ^ 8);
    folder_.write("x", other);
    EXPECT_FALSE(is_right(end, crc, stream_.size())) << "byte " << at;
  }
  folder_.write("x", good + "x");
  EXPECT_FALSE(is_right(end, crc, stream_.size()));
}

/// A tail may hold any number of blocks without content, but is looked at only if it is short.
TEST_P(GzipTail, IsShort) {
  using namespace std::string_literals;
  const std::uint64_t end = segments_.back().file_end;
  const std::string good = read_whole(file_);
  const auto is_right_with = [&](std::size_t stored_blocks, std::size_t fixed_blocks) {
    std::string tail;
    for (std::size_t i = 0; i < stored_blocks; ++i) tail += "\0\0\0\xff\xff"s;
    for (std::size_t i = 0; i < fixed_blocks; ++i) tail += "\2\0\0\0\xff\xff"s;
    tail += "\3\0"s + good.substr(good.size() - 8);
    folder_.write("x", good.substr(0, end) + tail);
    return std::pair(tail.size(), gzip_tail_is_right(file_, end, zip_crc(stream_), stream_.size()));
  };
  EXPECT_EQ(is_right_with(0, 0), std::pair(std::size_t{10}, true));
  EXPECT_EQ(is_right_with(816, 1), std::pair(std::size_t{4096}, true));
  EXPECT_EQ(is_right_with(815, 2), std::pair(std::size_t{4097}, false));
}

INSTANTIATE_TEST_SUITE_P(Kinds, GzipTail, ::testing::Values(Compression::gzip));

}  // namespace
}  // namespace infeed::detail
