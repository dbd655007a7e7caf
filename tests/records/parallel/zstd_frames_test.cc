#include "parallel/zstd_frames.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <infeed/records/file.h>

#include "matchers.h"
#include "records/codec/zstd_framed.h"
#include "records/temporary_files.h"
#include "seeded_random.h"

namespace infeed::detail {
namespace {

using test::seek_table;
using test::seekable_zstd;

struct Outcome {
  std::string bytes;
  std::optional<std::string> damage = {};
  bool operator==(const Outcome&) const = default;
};

class ZstdFramesTest : public ::testing::Test {
 protected:
  Outcome read(const std::string& file, unsigned threads, std::size_t room_bytes = 100'000,
               std::uint64_t bytes_max = std::uint64_t{1} << 30) {
    started_ = 0;
    const OpenedSource opened =
        open_source(file, {.ahead = {.threads = threads,
                                     .bytes_max = bytes_max,
                                     .on_thread_start = [this](auto) { ++started_; }}});
    Outcome outcome;
    std::string room(room_bytes, '\0');
    try {
      while (const std::size_t got = opened.source->read(room)) {
        outcome.bytes.append(room, 0, got);
      }
      EXPECT_EQ(opened.source->read(room), 0U) << "behind the end there is nothing";
    } catch (const StreamDamage& damage) {
      outcome.damage = damage.message;
      EXPECT_EQ(opened.source->read(room), 0U) << "behind damage it is over";
    }
    return outcome;
  }
  /// Reads a file with threads and without, which must give the same.
  Outcome read_both_ways(const std::string& bytes) {
    const std::string file = folder_.write("x", bytes);
    const Outcome alone = read(file, 0);
    EXPECT_TRUE(read(file, 3) == alone) << alone.damage.value_or("good");
    return alone;
  }

  /// Returns what threads read of a file that is gone when they begin, so no single thread can read
  /// it from its front in their place.
  std::string read_by_threads_alone(const std::string& bytes) const {
    const std::string file = folder_.write("x", bytes);
    const auto source = make_zstd_frames_source(file, 1000, {.threads = 3, .bytes_max = 1 << 24});
    if (source == nullptr) return "no threads read it";
    std::filesystem::remove(file);
    std::string all;
    std::string room(10'000, '\0');
    while (const std::size_t got = source->read(room)) all.append(room, 0, got);
    return all;
  }

  const TemporaryFolder folder_{test::memory_folder()};
  std::atomic<int> started_ = 0;
};

TEST_F(ZstdFramesTest, threads_give_the_bytes_of_one) {
  const std::string text = test::some_text(1'000'000);
  for (const std::size_t frame_bytes : {20'000, 123'457, 999'999}) {
    for (const bool has_checksums : {false, true}) {
      const auto file = folder_.write("x", seekable_zstd(text, frame_bytes, has_checksums));
      for (const std::size_t room : {1000, 70'000, 2'000'000}) {
        for (const unsigned threads : {2, 5}) {
          EXPECT_TRUE(read(file, threads, room) == Outcome{text}) << frame_bytes;
          EXPECT_GE(started_, 1);
          EXPECT_LE(started_, static_cast<int>(threads));
        }
        EXPECT_TRUE(read(file, 1, room) == Outcome{text});
        EXPECT_EQ(started_, 0);
      }
    }
  }
}

TEST_F(ZstdFramesTest, good_frames_need_no_other_reader) {
  const std::string text = test::some_text(300'000);
  EXPECT_TRUE(read_by_threads_alone(seekable_zstd(text, 20'000)) == text);
  // The longest window, and the longest below.
  std::string frame = test::zstd(text, {.has_size = false});
  for (const char window : {'\x87', '\x88'}) {
    frame[5] = window;
    EXPECT_TRUE(read_by_threads_alone(frame + frame +
                                      seek_table({{frame.size(), text.size()},
                                                  {frame.size(), text.size()}})) == text + text)
        << int{window};
  }
  // Its length, taken for a header, would ask for a window beyond the limit.
  const std::string skipped = test::skippable_frame(std::string(0x9000, 's'));
  EXPECT_TRUE(read_by_threads_alone(frame + skipped + frame +
                                    seek_table({{frame.size(), text.size()},
                                                {skipped.size() + frame.size(), text.size()}})) ==
              text + text);
}

TEST_F(ZstdFramesTest, a_file_that_is_replaced_by_a_shorter_one_is_damage) {
  const std::string text = test::some_text(50'000);
  const std::string first = test::zstd(text.substr(0, 30'000));
  const std::string second = test::zstd(text.substr(30'000));
  const std::string lie = seek_table({{first.size(), 30'000}, {second.size(), 19'999}});
  const std::string file = folder_.write("x", first + second + lie);
  const auto source = make_zstd_frames_source(file, 1000, {.threads = 2, .bytes_max = 1 << 20});
  ASSERT_NE(source, nullptr);
  std::string room(30'000, '\0');
  ASSERT_EQ(source->read(room), room.size());
  EXPECT_TRUE(room == text.substr(0, 30'000));
  folder_.write("x", test::zstd("short"));
  try {
    source->read(room);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const StreamDamage& damage) {
    EXPECT_EQ(damage.message, "the file changed while it was read");
  }
}

TEST_F(ZstdFramesTest, memory_bounds_the_threads) {
  const std::string text = test::some_text(1'000'000);
  const auto file = folder_.write("x", seekable_zstd(text, 100'000));
  EXPECT_GT(bytes_of_thread_ahead(file), 100'000U);
  EXPECT_LT(bytes_of_thread_ahead(file), 200'000U);
  EXPECT_TRUE(read(file, 4, 1000, 2 * bytes_of_thread_ahead(file)) == Outcome{text});
  EXPECT_GE(started_, 1);
  EXPECT_TRUE(read(file, 4, 1000, 2 * bytes_of_thread_ahead(file) - 1) == Outcome{text});
  EXPECT_EQ(started_, 0);
}

TEST_F(ZstdFramesTest, a_table_that_lies_changes_nothing) {
  const std::string text = test::some_text(90'000);
  const std::string first = test::zstd(text.substr(0, 30'000));
  const std::string second = test::zstd(text.substr(30'000));
  const auto size = [](const std::string& frame) {
    return static_cast<std::uint32_t>(frame.size());
  };
  const std::uint32_t both = size(first) + size(second);
  for (const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sizes :
       {std::vector<std::pair<std::uint32_t, std::uint32_t>>{},
        {{size(first), 30'000}},
        {{both, 90'000}},
        {{size(first), 30'001}, {size(second), 59'999}},
        {{size(first) + 1, 30'000}, {size(second) - 1, 60'000}},
        {{size(first), 30'000}, {size(second), 0xffffffff}},
        {{size(first), 0}, {size(second), 60'000}},
        {{0, 0}, {size(first), 30'000}, {size(second), 60'000}},
        {{0xffffffff, 1}, {0xffffffff, 1}},
        {{size(first), 30'000}, {size(second), 60'000}, {1, 0}}}) {
    const Outcome outcome = read_both_ways(first + second + seek_table(sizes));
    EXPECT_TRUE(outcome == Outcome{text});
  }
  // Frames of other data may be counted with a frame.
  const std::string other = test::skippable_frame("other");
  const std::string file = first + other + second + other;
  const std::string right = seek_table({{size(first), 30'000}, {both - size(first) + 26, 60'000}});
  EXPECT_TRUE(read_both_ways(file + right) == Outcome{text});
  EXPECT_GE(started_, 1);
  EXPECT_TRUE(read_both_ways(file + right + other) == Outcome{text});
  EXPECT_EQ(started_, 0) << "the table isn't at the end";
}

/// The bytes that the threads gave are passed over in several steps.
TEST_F(ZstdFramesTest, one_thread_goes_on_far_behind_the_front) {
  const std::string text = test::some_text(3'000'000);
  const std::string first = test::zstd(text.substr(0, 2'500'000));
  const std::string second = test::zstd(text.substr(2'500'000));
  const auto bytes = [](const std::string& frame) {
    return static_cast<std::uint32_t>(frame.size());
  };
  const std::string file = first + second;
  const std::string lie = seek_table({{bytes(first), 2'500'000}, {bytes(second), 499'999}});
  EXPECT_TRUE(read_both_ways(file + lie) == Outcome{text});
  EXPECT_GE(started_, 1);
}

TEST_F(ZstdFramesTest, damage_is_what_one_thread_finds) {
  test::SeededRandom random;
  const std::string text = test::some_text(60'000);
  const std::string good = seekable_zstd(text, 7000);
  int damaged = 0;
  for (int i = 0; i < 600; ++i) {
    std::string bytes = good;
    if (i % 3 == 0) {
      bytes.resize(random() % good.size());
    } else {
      bytes[random() % good.size()] ^= static_cast<char>(1 << random() % 8);
    }
    if (bytes.size() < 4 || bytes.substr(0, 4) != good.substr(0, 4)) continue;
    const Outcome outcome = read_both_ways(bytes);
    if (outcome.damage) ++damaged;
    if (!outcome.damage && bytes.size() == good.size()) {
      EXPECT_EQ(outcome.bytes, text);
    }
  }
  EXPECT_GT(damaged, 300);
  std::string bytes = good;
  bytes[good.size() / 2] ^= 1;
  EXPECT_THAT(read_both_ways(bytes).damage.value_or(""), HasSubstr("is damaged near byte"));
}

TEST_F(ZstdFramesTest, a_window_beyond_the_limit_is_refused_here_too) {
  const std::string text = test::some_text(1000);
  std::string frame = test::zstd(text, {.has_size = false});
  const std::string good = frame + frame + seek_table({{frame.size(), 1000}, {frame.size(), 1000}});
  EXPECT_TRUE(read_both_ways(good) == Outcome{text + text});
  for (const char window : {'\x88', '\x89', '\x90', '\xf8'}) {  // 2^27 bytes, then more
    std::string bytes = good;
    bytes[frame.size() + 5] = window;
    EXPECT_EQ(read_both_ways(bytes).damage.has_value(), window != '\x88');
  }
}

TEST_F(ZstdFramesTest, a_reader_may_leave_at_any_time) {
  const std::string text = test::some_text(1'000'000);
  const auto file = folder_.write("x", seekable_zstd(text, 30'000));
  std::string room(1000, '\0');
  for (const int reads : {0, 1, 31, 500}) {
    const auto source = make_zstd_frames_source(file, 1000, {.threads = 3, .bytes_max = 1 << 20});
    ASSERT_NE(source, nullptr);
    for (int i = 0; i < reads; ++i) {
      ASSERT_EQ(source->read(room), room.size());
      ASSERT_EQ(room, text.substr(static_cast<std::size_t>(i) * room.size(), room.size()));
    }
  }
}

TEST_F(ZstdFramesTest, frames_are_those_of_the_table) {
  const std::string frames =
      std::string(10, 'a') + std::string(20, 'b');  // which nobody looks into
  const auto expect_frames = [&](const std::string& table) {
    const auto file = folder_.write("x", frames + table);
    const std::vector<Segment> found = find_zstd_frames(file);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].stream_begin, 0U);
    EXPECT_EQ(found[0].stream_end, 67'108'864U);
    EXPECT_EQ(found[0].file_begin, 0U);
    EXPECT_EQ(found[0].file_end, 10U);
    EXPECT_EQ(found[1].stream_begin, 67'108'864U);
    EXPECT_EQ(found[1].stream_end, 67'108'864U + 7);
    EXPECT_EQ(found[1].file_begin, 10U);
    EXPECT_EQ(found[1].file_end, 30U);
    EXPECT_EQ(bytes_of_thread_ahead(file), 20U + 67'108'864U);
  };
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes = {{10, 67'108'864}, {20, 7}};
  expect_frames(seek_table(sizes));
  expect_frames(seek_table(sizes, true));
  std::string table = seek_table(sizes);
  table[table.size() - 5] = '\x03';  // bits without a meaning
  expect_frames(table);
}

TEST_F(ZstdFramesTest, a_table_that_cannot_be_has_no_frames) {
  const std::string frames(30, 'a');
  const auto has_none = [&](const std::string& bytes) {
    return find_zstd_frames(folder_.write("x", bytes)).empty();
  };
  const std::string good = frames + seek_table({{10, 5}, {20, 7}});
  const std::size_t table = 30;
  EXPECT_FALSE(has_none(good));
  for (const char reserved : {'\x04', '\x08', '\x10', '\x20', '\x40'}) {
    std::string bytes = good;
    bytes[bytes.size() - 5] = reserved;
    EXPECT_TRUE(has_none(bytes)) << int{reserved};
  }
  // Its magic number, its size, the number of frames, the checksums it should have, its end.
  for (const std::size_t at :
       {table, table + 4, good.size() - 9, good.size() - 5, good.size() - 1}) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (at == good.size() - 5 ? 0x80 : 1));
    EXPECT_TRUE(has_none(bytes)) << at;
  }
  EXPECT_TRUE(has_none(good.substr(1)));
  EXPECT_TRUE(has_none("x" + good));
  EXPECT_TRUE(has_none(good.substr(table + 9))) << "less than the table that it claims";
  EXPECT_TRUE(has_none(good.substr(good.size() - 9)));
  EXPECT_TRUE(has_none(frames + seek_table({{10, 67'108'865}, {20, 7}})));
  EXPECT_TRUE(has_none(frames + seek_table({{10, 5}, {20, 67'108'865}})));
  EXPECT_TRUE(has_none(frames + seek_table({{0, 5}, {30, 7}})));
  EXPECT_FALSE(has_none(frames + seek_table({{10, 0}, {20, 7}})));
  EXPECT_TRUE(has_none(frames + seek_table({{30, 7}}))) << "one frame is no gain";
  EXPECT_TRUE(has_none(frames + seek_table({{10, 5}, {19, 7}})));
  EXPECT_TRUE(has_none(frames + seek_table({{10, 5}, {21, 7}})));
}

/// Only the table is looked at.
TEST_F(ZstdFramesTest, a_frame_may_be_as_long_in_the_file_as_in_memory) {
  const std::string file = folder_.file("x");
  const auto frames_of = [&](std::uint32_t stored) {
    folder_.write("x", "");
    std::filesystem::resize_file(file, std::uint64_t{stored} + 10);  // which takes no space
    std::ofstream(file, std::ios::binary | std::ios::app) << seek_table({{stored, 5}, {10, 7}});
    return find_zstd_frames(file).size();
  };
  EXPECT_EQ(frames_of(67'108'864), 2U);
  EXPECT_EQ(frames_of(67'108'865), 0U);
}

TEST_F(ZstdFramesTest, files_without_a_table_have_no_frames) {
  EXPECT_TRUE(find_zstd_frames(folder_.file("none")).empty());
  EXPECT_TRUE(find_zstd_frames(folder_.path()).empty());
  EXPECT_TRUE(find_zstd_frames(folder_.write("x", test::zstd("text"))).empty());
  EXPECT_TRUE(find_zstd_frames(folder_.write("x", "")).empty());
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  const File opened(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "opened");
  ASSERT_GE(::inotify_add_watch(opened.descriptor(), folder_.file("pipe").c_str(), IN_OPEN), 0);
  EXPECT_TRUE(find_zstd_frames(folder_.file("pipe")).empty()) << "nobody waits for its other end";
  EXPECT_EQ(bytes_of_thread_ahead(folder_.file("pipe")), 0U);
  std::array<char, 1000> events{};
  EXPECT_LT(::read(opened.descriptor(), events.data(), events.size()), 0) << "nobody opened it";
}

}  // namespace
}  // namespace infeed::detail
