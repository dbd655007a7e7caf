#include <string>

#include <infeed/records/byte_stream.h>

#include "codec/lz4_file.h"
#include "records/codec/lz4_framed.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// Tests how damage of LZ4 files is told, and where.
namespace infeed::test {
namespace {

using detail::SegmentPlace;

/// Returns the error of a whole file that is read.
std::string lz4_error(const std::string& bytes) {
  const TemporaryFolder folder;
  ByteStream stream(folder.write("x", bytes));
  std::string room(1000, '\0');
  const Error error = error_of([&] {
    while (stream.read(room) != 0) continue;
  });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  const std::string front = "the lz4 file is damaged: ";
  EXPECT_EQ(error.message().substr(0, front.size()), front);
  return error.message().substr(front.size());
}

TEST(Lz4Texts, SayWhichByteOfAFrameIsWrong) {
  const auto block_of = [](std::uint32_t size) { return kLz4Header + little(size) + "little"; };
  EXPECT_EQ(lz4_error(kLz4Header + kLz4Promise),
            "it is cut: its end mark is missing (byte 12 of the file)");
  EXPECT_EQ(lz4_error(kLz4Header + "abc"),
            "it is cut: its end mark is missing (byte 7 of the file)");
  EXPECT_EQ(lz4_error(block_of(7)), "it is cut inside a block (byte 7 of the file)");
  EXPECT_EQ(lz4_error(block_of(262'144)), "it is cut inside a block (byte 7 of the file)");
  EXPECT_EQ(lz4_error(block_of(262'145)),
            "the size of a block can't be right (byte 7 of the file)");
  EXPECT_EQ(lz4_error(kLz4Header + little(std::uint32_t{1}) + "\xff"),
            "a block can't be decoded (byte 7 of the file)");
  const std::string header_is_damaged = "a frame's header is damaged (byte 0 of the file)";
  for (std::size_t size = 4; size < kLz4Header.size(); ++size) {
    EXPECT_EQ(lz4_error(kLz4Header.substr(0, size)), header_is_damaged) << size;
  }
  EXPECT_EQ(lz4_error(kLz4Header.substr(0, 6) + "x"), header_is_damaged);
  const std::string whole = lz4_frame("some text");
  const std::string behind = "what follows the end of a frame is not another one (byte " +
                             std::to_string(whole.size()) + " of the file)";
  for (const std::string& rest : {std::string("x"), std::string("rest"), kLz4Header.substr(0, 3)}) {
    EXPECT_EQ(lz4_error(whole + rest), behind);
  }
}

TEST(Lz4Texts, KnowTheLargestBlockOfAFrame) {
  for (const auto& [header, bytes] :
       {std::pair("\x60\x40\x82", 64U << 10), std::pair("\x60\x50\xfb", 256U << 10),
        std::pair("\x60\x60\x51", 1024U << 10), std::pair("\x60\x70\x73", 4096U << 10)}) {
    const std::string front = std::string(detail::kLz4Magic) + header;
    EXPECT_EQ(lz4_error(front + little(std::uint32_t{bytes})),
              "it is cut inside a block (byte 7 of the file)");
    EXPECT_EQ(lz4_error(front + little(std::uint32_t{bytes + 1})),
              "the size of a block can't be right (byte 7 of the file)");
  }
}

TEST(Lz4Texts, SayThatADictionaryIsMissing) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.dictID = 7;
  const std::string text = "some text";
  std::string frame(LZ4F_compressFrameBound(text.size(), &preferences), '\0');
  frame.resize(
      LZ4F_compressFrame(frame.data(), frame.size(), text.data(), text.size(), &preferences));
  EXPECT_EQ(lz4_error(frame), "it needs a dictionary, which can't be given here");
}

TEST(Lz4Texts, SayWhatIsWrongWithTheIndex) {
  const std::string good = lz4_file({frame("x")}, {1});
  const std::string cut = "it is cut inside a skippable frame, as the index at its end";
  EXPECT_EQ(lz4_error(good.substr(0, good.size() - 1)), cut);
  EXPECT_EQ(lz4_error(good.substr(0, good.size() - 68 - 1)), cut);
  EXPECT_EQ(lz4_error(lz4_frame("some text") + skippable_frame("other").substr(0, 12)), cut);
  const std::string damaged = "the index at its end is damaged";
  std::string bad = good;
  bad[good.size() - 12] ^= 1;  // its checksum
  EXPECT_EQ(lz4_error(bad), damaged);
  bad = good;
  bad[good.size() - 30] ^= 1;  // a place
  EXPECT_EQ(lz4_error(bad), damaged);
  const std::string two = good.substr(good.size() - 68, 48) + little(std::uint64_t{2});
  EXPECT_EQ(lz4_error(good.substr(0, good.size() - 68) + two + little(mask_crc32c(crc32c(two))) +
                      "INFEEDL2"),
            damaged)
      << "it claims another number of blocks";
}

TEST(Lz4Texts, NameALaterIndexAndNoOther) {
  const std::string good = lz4_file({frame("x")}, {1});
  const std::string front = good.substr(0, good.size() - 8);
  for (const std::string version : {"3", "9"}) {
    EXPECT_EQ(lz4_error(front + "INFEEDL" + version),
              "the index at its end has format version " + version +
                  ", and this infeed knows versions up to 2; use the infeed that wrote it, or a "
                  "newer one");
  }
  for (const std::string other : {"INFEEDL1", "INFEEDL:", "INFEEDX3", "OTHERXL3"}) {
    EXPECT_EQ(lz4_error(front + other),
              "the index that its writer put behind the end mark is missing, so it was cut there; "
              "all records before are whole ('infeed repair' writes them with an index)");
  }
}

/// A file of two blocks, whose end mark is at byte 34 and whose index begins at byte 46.
class Lz4Places : public ::testing::Test {
 protected:
  static constexpr std::size_t kEndMark = 34;
  static constexpr std::size_t kIndex = 46;

  static std::vector<SegmentPlace> places_of(const std::string& file) {
    return detail::find_lz4_places(file.size(), [&](std::uint64_t offset, std::uint64_t bytes) {
      return file.substr(offset, bytes);
    });
  }
  static std::string refusal(const std::string& file) {
    try {
      places_of(file);
    } catch (const detail::StreamDamage& damage) {
      const std::string front = "the lz4 file can't be split: ";
      EXPECT_EQ(damage.message.substr(0, front.size()), front);
      return damage.message.substr(front.size());
    }
    return "nothing was thrown";
  }
  /// Puts bytes at a place, under a checksum of the index that fits.
  std::string changed(std::size_t at, const std::string& bytes, bool is_sealed = false) const {
    std::string file = good_;
    file.replace(at, bytes.size(), bytes);
    if (!is_sealed) return file;
    const std::string index = file.substr(kIndex, file.size() - kIndex - 12);
    return file.replace(file.size() - 12, 4, little(mask_crc32c(crc32c(index))));
  }

  const std::string good_ = lz4_file({"abcdefg", "hijklmn"}, {1, 1});
};

TEST_F(Lz4Places, AreThoseOfTheIndex) {
  ASSERT_EQ(good_.size(), 138U);
  const std::vector<SegmentPlace> places = places_of(good_);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0], (SegmentPlace{12, 0, 0}));
  EXPECT_EQ(places[1], (SegmentPlace{23, 7, 1}));
  EXPECT_EQ(places[2], (SegmentPlace{kEndMark, 14, 2}));
  const std::string none = lz4_file({}, {});
  EXPECT_EQ(none.size(), 68U);
  EXPECT_EQ(places_of(none), (std::vector<SegmentPlace>{{12, 0, 0}}));
}

TEST_F(Lz4Places, AreNotFoundWhereTheIndexIsWrong) {
  const std::string no_index = "it does not end with an index of ours";
  EXPECT_EQ(refusal(lz4_file({}, {}).substr(1)), no_index);
  EXPECT_EQ(refusal(changed(good_.size() - 1, "3")), no_index);
  EXPECT_EQ(refusal(good_ + "x"), no_index);
  const std::size_t count = good_.size() - 20;
  EXPECT_EQ(refusal(changed(count, little(std::uint64_t{3}))), "the count in its index");
  EXPECT_EQ(refusal(changed(count, little(std::uint64_t{1}))), "the frame of its index");
  EXPECT_EQ(refusal(changed(kEndMark, "\x01")), "its end mark");
  EXPECT_EQ(refusal(changed(kEndMark + 4, "x")), "the frame of its index");
  EXPECT_EQ(refusal(changed(kEndMark + 8, "x")), "the frame of its index");
  EXPECT_EQ(refusal(changed(good_.size() - 12, "xxxx")), "the checksum of its index");
  EXPECT_EQ(refusal(changed(kIndex, "x")), "the checksum of its index");
  const std::string other_blocks = "its index describes other blocks";
  EXPECT_EQ(refusal(changed(kIndex, "\x0b", true)), other_blocks);
  EXPECT_EQ(refusal(changed(kIndex + 48, "\x21", true)), other_blocks);
  EXPECT_EQ(refusal(good_.substr(1)), other_blocks);
  for (const std::size_t place : {24, 32, 40}) {
    EXPECT_EQ(refusal(changed(kIndex + place, std::string(1, '\0'), true)),
              "the order of its index");
  }
}

TEST_F(Lz4Places, AreNotFoundWhereTheFileBecameShorter) {
  int reads = 0;
  const auto find = [&](int short_read) {
    reads = 0;
    try {
      detail::find_lz4_places(good_.size(), [&](std::uint64_t offset, std::uint64_t bytes) {
        return good_.substr(offset, bytes - (++reads == short_read ? 1 : 0));
      });
    } catch (const detail::StreamDamage& damage) {
      return damage.message;
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(find(1), "the lz4 file can't be split: it does not end with an index of ours");
  EXPECT_EQ(find(2), "the lz4 file can't be split: the index at its end");
  EXPECT_EQ(find(3), "nothing was thrown");
}

}  // namespace
}  // namespace infeed::test
