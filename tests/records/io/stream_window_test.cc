#include "io/stream_window.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/records/record.h>

#include "matchers.h"
#include "records/temporary_files.h"
#include "seeded_random.h"

namespace infeed::detail {
namespace {

/// The bytes that a source gives, and a note of what it was asked for.
struct StreamScript {
  std::string bytes;
  std::size_t step_bytes = SIZE_MAX;
  std::optional<std::uint64_t> size = std::nullopt;
  bool is_seekable = false;
  std::size_t room_preferred = 0;
  std::optional<std::uint64_t> damage_at = std::nullopt;
  std::optional<std::uint64_t> resumes_at = std::nullopt;
  std::uint64_t place = 0;
  std::vector<std::size_t> rooms = {};
  std::vector<std::uint64_t> seeks = {};
};

class ScriptedStream final : public ByteSource {
 public:
  explicit ScriptedStream(StreamScript& script) : script_(script) {}
  std::size_t read(std::span<char> into) override {
    script_.rooms.push_back(into.size());
    if (script_.damage_at == script_.place) {
      script_.damage_at.reset();
      script_.place = script_.resumes_at.value_or(script_.place);
      throw StreamDamage{"damaged", script_.resumes_at};
    }
    const std::uint64_t end = script_.damage_at.value_or(script_.bytes.size());
    const std::size_t count =
        std::min({into.size(), script_.step_bytes, static_cast<std::size_t>(end - script_.place)});
    script_.bytes.copy(into.data(), count, static_cast<std::size_t>(script_.place));
    script_.place += count;
    return count;
  }
  std::optional<std::uint64_t> size_bytes() const override { return script_.size; }
  std::size_t room_preferred() const override { return script_.room_preferred; }
  bool is_seekable() const override { return script_.is_seekable; }
  void seek(std::uint64_t offset) override {
    script_.seeks.push_back(offset);
    script_.place = offset;
  }

 private:
  StreamScript& script_;
};

StreamWindow window_over(StreamScript& script, std::size_t block_bytes) {
  return {std::make_unique<ScriptedStream>(script), std::make_shared<BlockPool>("x"), block_bytes};
}

std::string bytes_drawn(std::size_t size) {
  std::mt19937_64 random(size);
  return test::random_bytes(random, size);
}

std::string_view bytes_in(const StreamWindow& window) { return {window.data(), window.size()}; }

void expect_place_in_block(const StreamWindow& window) {
  const Block& block = *window.block();
  EXPECT_EQ(block.stream_offset + static_cast<std::uint64_t>(window.data() - block.data),
            window.offset());
  EXPECT_EQ(block.stream_offset % kBlockLeadBytes, 0U);
}

TEST(StreamWindow, ShowsTheBytesWhateverTheSteps) {
  test::SeededRandom random;
  const std::string bytes = bytes_drawn(30'000);
  for (const std::size_t block_bytes : {100, 1000}) {
    for (const std::size_t step_bytes : {1, 7, 64, 1000}) {
      StreamScript script{.bytes = bytes, .step_bytes = step_bytes};
      StreamWindow window = window_over(script, block_bytes);
      while (true) {
        const std::size_t wanted = 1 + random() % (random() % 8 == 0 ? 3000 : 200);
        const std::size_t left = bytes.size() - static_cast<std::size_t>(window.offset());
        const bool is_there = window.ensure(wanted);
        ASSERT_EQ(is_there, wanted <= left);
        ASSERT_GE(window.size(), std::min(wanted, left));
        ASSERT_EQ(bytes_in(window),
                  std::string_view(bytes).substr(bytes.size() - left, window.size()));
        expect_place_in_block(window);
        if (!is_there) break;
        window.consume(1 + random() % wanted);
      }
    }
  }
}

TEST(StreamWindow, LeavesTheBytesThatARecordHolds) {
  StreamScript script{.bytes = bytes_drawn(5000), .step_bytes = 900};
  StreamWindow window = window_over(script, 1000);
  ASSERT_TRUE(window.ensure(900));
  window.block()->references.fetch_add(1);
  const Record held = Record::adopt(window.block(), bytes_in(window).substr(0, 500), 0);
  window.consume(600);
  ASSERT_TRUE(window.ensure(1000));
  EXPECT_NE(window.block()->data, held.bytes().data());
  EXPECT_EQ(held.bytes(), script.bytes.substr(0, 500));
  EXPECT_EQ(bytes_in(window).substr(0, 1000), script.bytes.substr(600, 1000));
  expect_place_in_block(window);
}

TEST(StreamWindow, AClaimedLengthCostsMemoryOnlyAsItsBytesCome) {
  StreamScript unknown{.bytes = bytes_drawn(10'000), .step_bytes = 1000};
  StreamWindow window = window_over(unknown, 1000);
  EXPECT_FALSE(window.ensure(std::size_t{1} << 30));
  EXPECT_EQ(window.size(), 10'000U);
  EXPECT_LE(window.block()->capacity_bytes, 33'000U);
  // A stream that is known to be that long is read at once.
  StreamScript known{.bytes = unknown.bytes, .size = 10'000};
  EXPECT_TRUE(window_over(known, 1000).ensure(10'000));
  EXPECT_THAT(known.rooms, ElementsAre(10'000));
}

TEST(StreamWindow, RoomDoublesAsTheBytesOfAClaimCome) {
  StreamScript script{.bytes = bytes_drawn(10'000), .step_bytes = 1000};
  StreamWindow window = window_over(script, 1000);
  EXPECT_FALSE(window.ensure(1 << 30));
  EXPECT_THAT(script.rooms, ElementsAre(1064, 64,              // room for 1,000 bytes and the lead
                                        3096, 2096, 1096, 96,  // room for 4,096
                                        12'288, 11'288, 10'288,  // room for 16,384
                                        9288, 8288, 7288, 6448));
  EXPECT_TRUE(bytes_in(window) == script.bytes);
}

/// Headers that claim a little more each time would have the bytes moved again and again.
TEST(StreamWindow, RoomIsAmpleWhereMuchIsMovedForALittleMore) {
  for (const auto& [wanted, capacity] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1600, 2048 + 64},
                                                        {1639, 2048 + 64},  // a quarter more
                                                        {1640, 4096 + 64},
                                                        {1700, 4096 + 64},
                                                        {2048, 4096 + 64}}) {
    StreamScript script{.bytes = bytes_drawn(10'000), .step_bytes = 1000, .size = 10'000};
    StreamWindow window = window_over(script, 1000);
    ASSERT_TRUE(window.ensure(1000));
    ASSERT_TRUE(window.ensure(wanted));
    EXPECT_EQ(window.block()->capacity_bytes, capacity) << wanted;
    EXPECT_EQ(bytes_in(window), script.bytes.substr(0, wanted));
  }
}

TEST(StreamWindow, KnowsWhatIsLeftWhereTheSizeIsKnown) {
  StreamScript unknown{.bytes = "0123456789"};
  EXPECT_EQ(window_over(unknown, 100).remaining_bytes(), std::nullopt);
  StreamScript known{.bytes = "0123456789", .size = 10};
  StreamWindow window = window_over(known, 100);
  EXPECT_EQ(window.remaining_bytes(), 10U);
  window.ensure(10);
  window.consume(4);
  EXPECT_EQ(window.remaining_bytes(), 6U);
  StreamScript longer{.bytes = "0123456789", .size = 3};
  StreamWindow grown = window_over(longer, 100);
  EXPECT_EQ(grown.remaining_bytes(), 3U);
  grown.ensure(10);
  EXPECT_EQ(grown.remaining_bytes(), std::nullopt) << "more may have come";
  grown.consume(5);
  EXPECT_EQ(grown.remaining_bytes(), std::nullopt);
}

TEST(StreamWindow, JumpsOverAGapThatIsLarge) {
  StreamScript script{.bytes = bytes_drawn(1'000'000), .size = 1'000'000, .is_seekable = true};
  StreamWindow window = window_over(script, 100'000);
  EXPECT_TRUE(window.discard(65'535));
  EXPECT_EQ(window.offset(), 65'535U);
  EXPECT_THAT(script.seeks, IsEmpty());
  const std::uint64_t target = 65'535 + window.size() + 65'536;
  EXPECT_TRUE(window.discard(window.size() + 65'536));
  EXPECT_THAT(script.seeks, ElementsAre(target));
  EXPECT_EQ(window.size(), 0U);
  ASSERT_TRUE(window.ensure(1));
  EXPECT_EQ(script.rooms.back(), 4096U) << "little may be wanted behind a jump";
  EXPECT_EQ(bytes_in(window), script.bytes.substr(static_cast<std::size_t>(target), 4096));
  ASSERT_TRUE(window.ensure(6000));
  EXPECT_GT(script.rooms.back(), 50'000U);
  window.seek(500'000);
  ASSERT_TRUE(window.ensure(6000));
  EXPECT_EQ(script.rooms.back(), 6000U);
  EXPECT_EQ(bytes_in(window), script.bytes.substr(500'000, 6000));
  expect_place_in_block(window);
  EXPECT_TRUE(window.discard(500'000));  // up to the end
  EXPECT_THAT(script.seeks, ElementsAre(target, 500'000, 1'000'000));
  EXPECT_EQ(window.offset(), 1'000'000U);
  EXPECT_FALSE(window.ensure(1));
}

TEST(StreamWindow, ReadsOnWhereItCannotJump) {
  StreamScript script{.bytes = bytes_drawn(1'000'000), .size = 1'000'000};
  StreamWindow pipe = window_over(script, 10'000);
  EXPECT_TRUE(pipe.discard(900'000));
  ASSERT_TRUE(pipe.ensure(10));
  EXPECT_EQ(bytes_in(pipe).substr(0, 10), script.bytes.substr(900'000, 10));
  EXPECT_FALSE(pipe.discard(100'001));
  EXPECT_EQ(pipe.offset(), 1'000'000U);
  script.is_seekable = true;  // but it is not that long
  script.place = 0;
  StreamWindow file = window_over(script, 10'000);
  EXPECT_FALSE(file.discard(1'000'001));
  EXPECT_EQ(file.offset(), 1'000'000U);
  EXPECT_THAT(script.seeks, IsEmpty());
}

/// The part of a record at a block's end would be moved to the next one.
TEST(StreamWindow, ReadsAsManyLargeRecordsAsABlockHolds) {
  constexpr std::size_t kBlock = 262'144;
  const auto first_room = [](std::size_t block_bytes, std::size_t wanted) {
    StreamScript script{.bytes = std::string(500'000, 'x')};
    EXPECT_TRUE(window_over(script, block_bytes).ensure(wanted));
    return script.rooms.front();
  };
  EXPECT_EQ(first_room(kBlock, 40'000), 6 * 40'000 + 4096U);
  EXPECT_EQ(first_room(kBlock, 32'768), 7 * 32'768 + 4096U);
  EXPECT_EQ(first_room(kBlock, 32'767), kBlock + kBlockLeadBytes);
  EXPECT_EQ(first_room(50'000, 46'000), 50'000 + kBlockLeadBytes);
}

TEST(StreamWindow, ABlockIsNoLargerThanTheStream) {
  const auto first_room = [](std::size_t bytes, std::size_t block_bytes, bool is_size_known) {
    StreamScript script{.bytes = std::string(bytes, 'x')};
    if (is_size_known) script.size = bytes;
    StreamWindow window = window_over(script, block_bytes);
    EXPECT_TRUE(window.ensure(1));
    return script.rooms.front();
  };
  EXPECT_EQ(first_room(10'000, 500'000, true), 10'000 + kBlockLeadBytes);
  EXPECT_EQ(first_room(10'000, 500'000, false), 500'000 + kBlockLeadBytes);
  EXPECT_EQ(first_room(10'000, 5000, true), 5000 + kBlockLeadBytes);
  EXPECT_EQ(first_room(10, 500'000, true), 4096 + kBlockLeadBytes);
}

TEST(StreamWindow, FillsTheRoomThatTheSourcePrefers) {
  const auto second_room = [](std::size_t preferred) {
    StreamScript script{
        .bytes = std::string(5000, 'x'), .step_bytes = 900, .room_preferred = preferred};
    StreamWindow window = window_over(script, 1000);
    EXPECT_TRUE(window.ensure(1));
    window.consume(900);
    EXPECT_TRUE(window.ensure(1));
    return script.rooms.back();
  };
  EXPECT_EQ(second_room(0), 164U);
  EXPECT_EQ(second_room(164), 164U);
  EXPECT_EQ(second_room(165), 1060U);
  EXPECT_EQ(second_room(5000), 1060U);
}

TEST(StreamWindow, GoesOnBehindDamage) {
  StreamScript script{.bytes = bytes_drawn(10'000), .damage_at = 5000, .resumes_at = 6000};
  StreamWindow window = window_over(script, 1000);
  EXPECT_FALSE(window.ensure(5001));
  ASSERT_TRUE(window.damage());
  EXPECT_EQ(window.damage()->message, "damaged");
  EXPECT_EQ(bytes_in(window), script.bytes.substr(0, 5000));
  const std::size_t reads = script.rooms.size();
  EXPECT_FALSE(window.ensure(5001));
  EXPECT_EQ(script.rooms.size(), reads) << "nothing is read behind damage";
  EXPECT_TRUE(window.resume_behind_damage());
  EXPECT_EQ(window.offset(), 6000U);
  EXPECT_EQ(window.size(), 0U);
  EXPECT_FALSE(window.damage());
  EXPECT_FALSE(window.ensure(4001));
  EXPECT_FALSE(window.damage());
  EXPECT_EQ(bytes_in(window), script.bytes.substr(6000));
  EXPECT_FALSE(window.resume_behind_damage()) << "there is none";
  EXPECT_EQ(window.size(), 0U);
  EXPECT_EQ(window.offset(), 10'000U);
}

TEST(StreamWindow, EndsWithDamageThatNothingFollows) {
  StreamScript script{.bytes = bytes_drawn(10'000), .damage_at = 5000};
  StreamWindow window = window_over(script, 1000);
  EXPECT_FALSE(window.ensure(5001));
  EXPECT_FALSE(window.resume_behind_damage());
  EXPECT_EQ(window.offset(), 5000U);
  EXPECT_FALSE(window.ensure(1));
}

}  // namespace
}  // namespace infeed::detail
