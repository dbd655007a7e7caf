#include <fcntl.h>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include <infeed/records/record_reader.h>

#include "io/byte_source.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::deflate_with;
using test::little;

constexpr int kChecksum = 0x02;
constexpr int kExtra = 0x04;
constexpr int kName = 0x08;
constexpr int kComment = 0x10;

/// Builds a header by RFC 1952.
std::string header(int flags, const std::string& extra = "extra\0field",
                   const std::string& text = "text") {
  std::string bytes = {'\x1f', '\x8b', 8, static_cast<char>(flags), 1, 2, 3, 4, 0, '\xff'};
  if ((flags & kExtra) != 0) bytes += little(static_cast<std::uint16_t>(extra.size())) + extra;
  if ((flags & kName) != 0) bytes += text + '\0';
  if ((flags & kComment) != 0) bytes += "a comment: " + text + '\0';
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  if ((flags & kChecksum) != 0) bytes += little(static_cast<std::uint16_t>(sum));
  return bytes;
}

std::string behind_header(const std::string& content) {
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  return deflate_with(content, -15) + little(static_cast<std::uint32_t>(sum)) +
         little(static_cast<std::uint32_t>(content.size()));
}

/// Gives its bytes in these pieces, however much room there is.
class Pieces final : public ByteSource {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::size_t read(std::span<char> into) override {
    while (next_ < pieces_.size() && used_ == pieces_[next_].size()) {
      ++next_;
      used_ = 0;
    }
    if (next_ == pieces_.size()) return 0;
    const std::size_t count = pieces_[next_].copy(into.data(), into.size(), used_);
    used_ += count;
    return count;
  }

 private:
  const std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  std::size_t used_ = 0;
};

/// Returns the content, or the message of the damage.
std::string inflated(std::vector<std::string> pieces, Compression compression = Compression::gzip,
                     std::size_t input_block_bytes = 4096,
                     TrailingStreams trailing = TrailingStreams::read) {
  const auto source = make_inflate_source(std::make_unique<Pieces>(std::move(pieces)), compression,
                                          input_block_bytes, trailing);
  std::string all;
  std::vector<char> room(100);
  try {
    while (const std::size_t got = source->read(room)) all.append(room.data(), got);
  } catch (const StreamDamage& damage) {
    return damage.message;
  }
  return all;
}

std::vector<std::string> split_at(const std::string& bytes, std::size_t place) {
  return {bytes.substr(0, place), bytes.substr(place)};
}

std::vector<std::string> single_bytes(const std::string& bytes) {
  std::vector<std::string> pieces;
  for (const char byte : bytes) pieces.emplace_back(1, byte);
  return pieces;
}

TEST(GzipHeader, may_have_any_parts_and_come_in_any_two_pieces) {
  for (int flags = 0; flags < 0x20; ++flags) {  // the lowest bit marks text, and adds no part
    SCOPED_TRACE("flags " + std::to_string(flags));
    const std::string file = header(flags) + behind_header("one ") + header(flags) +
                             behind_header("") + header(flags) + behind_header("two");
    for (std::size_t place = 0; place <= file.size(); ++place) {
      ASSERT_EQ(inflated(split_at(file, place)), "one two") << "split at byte " << place;
    }
    EXPECT_EQ(inflated(single_bytes(file)), "one two");
    for (std::size_t block_bytes = 16; block_bytes < 64; ++block_bytes) {
      ASSERT_EQ(inflated({file}, Compression::gzip, block_bytes), "one two") << block_bytes;
    }
  }
}

TEST(GzipHeader, may_have_large_and_empty_parts) {
  const int all = kChecksum | kExtra | kName | kComment;
  for (const std::size_t size : {0, 1, 4095, 65'535}) {
    const std::string file =
        header(all, std::string(size, 'x'), std::string(2 * size, 'y')) + behind_header("content");
    EXPECT_EQ(inflated({file}), "content") << size;
    EXPECT_EQ(inflated(single_bytes(file)), "content") << size;
  }
}

TEST(ZlibStream, may_come_in_any_two_pieces) {
  const std::string file = test::zlib("one ") + test::zlib("") + test::zlib("two");
  for (std::size_t place = 0; place <= file.size(); ++place) {
    ASSERT_EQ(inflated(split_at(file, place), Compression::zlib), "one two") << place;
  }
  EXPECT_EQ(inflated(single_bytes(file), Compression::zlib), "one two");
}

TEST(GzipHeader, is_damaged_by_any_flipped_bit_under_its_checksum) {
  const std::string good = header(kChecksum | kExtra | kName | kComment);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const std::string file = bad + behind_header("content");
    EXPECT_THAT(inflated({file}), HasSubstr("gzip stream 0 is damaged")) << "bit " << bit;
    EXPECT_THAT(inflated(single_bytes(file)), HasSubstr("gzip stream 0 is damaged"));
  }
}

TEST(GzipHeader, says_where_it_is_wrong_and_how) {
  const auto damage_of = [](std::size_t place, char byte) {
    std::string bad = header(kChecksum);
    bad[place] = byte;
    return inflated({header(0) + behind_header("good") + bad + behind_header("content")});
  };
  EXPECT_EQ(damage_of(1, 'x'),
            "gzip stream 1 is damaged near byte 34 of the file: its header is invalid");
  EXPECT_THAT(damage_of(2, 7), HasSubstr("names an unknown method (only deflate exists)"));
  EXPECT_THAT(damage_of(3, '\x20'), HasSubstr("its header has reserved flags set"));
  EXPECT_THAT(damage_of(4, 'x'), HasSubstr("byte 36 of the file: the checksum of its header does "
                                           "not match"));
}

TEST(GzipHeader, a_file_may_not_end_inside_it) {
  const std::string member = header(0) + behind_header("content");
  const std::string last = header(kChecksum | kExtra | kName | kComment);
  for (std::size_t size = 1; size <= last.size(); ++size) {
    const std::string file = member + last.substr(0, size);
    ASSERT_THAT(inflated({file}), HasSubstr("the file ends inside it")) << size;
    ASSERT_EQ(inflated({file}, Compression::gzip, 4096, TrailingStreams::ignore_like_tensorflow),
              "content")
        << size;
  }
}

TEST(GzipStream, says_where_it_is_damaged) {
  const std::string first = header(0) + behind_header("good");
  const std::string second = header(0) + behind_header("content");
  const std::string cut = first + second.substr(0, second.size() - 3);
  const auto near = [](std::size_t byte) {
    return "gzip stream 1 is damaged near byte " + std::to_string(byte) + " of the file: ";
  };
  for (const auto& pieces : {std::vector{cut}, single_bytes(cut)}) {
    EXPECT_EQ(inflated(pieces),
              near(cut.size()) +
                  "the file ends inside it; it was probably not written or copied to its end");
    EXPECT_EQ(inflated(pieces, Compression::gzip, 4096, TrailingStreams::ignore_like_tensorflow),
              "goodcontent");
  }
  for (const std::size_t from_end : {1, 4, 5, 8}) {  // the size and the checksum
    std::string bad = first + second;
    bad[bad.size() - from_end] ^= 1;
    EXPECT_EQ(inflated({bad}), near(bad.size()) + "its checksum does not match its contents");
  }
  // A kind of block and a distance that don't exist, and bytes before the first.
  EXPECT_EQ(inflated({first + header(0) + "\x07"}),
            near(first.size() + 11) + "a deflate block is invalid");
  for (const auto& [deflated, what] : {std::pair("\x4b\x04\x3e", "a deflate symbol is invalid"),
                                       std::pair("\x03\x02",
                                                 "a deflate distance points before the "
                                                 "start")}) {
    EXPECT_THAT(inflated({first + header(0) + deflated + std::string(8, '\0')}), HasSubstr(what));
  }
}

TEST(GzipStream, must_be_followed_by_another_one) {
  const std::string member = header(0) + behind_header("content");
  const auto behind = [&](std::size_t bytes) {
    return "what follows the end of a gzip stream is not another one (byte " +
           std::to_string(member.size() + bytes) + " of the file)";
  };
  for (const std::string rest : {"x", "rubbish, and more"}) {
    EXPECT_EQ(inflated({member + rest}), behind(0));
    EXPECT_EQ(inflated(single_bytes(member + rest)), behind(0));
  }
  const std::string zeros(5, '\0');
  EXPECT_EQ(inflated({member + zeros}), "content");
  EXPECT_EQ(inflated({member + zeros + "x"}), behind(5));
  EXPECT_EQ(
      inflated({member + zeros}, Compression::gzip, 4096, TrailingStreams::ignore_like_tensorflow),
      behind(0));
  const std::string stream = test::zlib("content");
  EXPECT_EQ(inflated({stream + "\x01"}, Compression::zlib),
            "what follows the end of a zlib stream is not another one (byte " +
                std::to_string(stream.size()) + " of the file)");
  EXPECT_EQ(inflated({stream + stream}, Compression::zlib), "contentcontent");
  EXPECT_EQ(
      inflated({stream + stream}, Compression::zlib, 4096, TrailingStreams::ignore_like_tensorflow),
      "content");
}

std::size_t count_records(const std::string& file) {
  RecordReader reader(file);
  Record record;
  std::size_t count = 0;
  while (reader.next(record)) ++count;
  return count;
}

TEST(GzipHeader, lies_anywhere_in_a_file_of_many_members) {
  const TemporaryFolder folder;
  const std::string member = header(kChecksum) + behind_header(test::frame("record"));
  std::string file;
  for (int i = 0; i < 30'000; ++i) file += member;
  EXPECT_EQ(count_records(folder.write("many.tfrecord.gz", file)), 30'000U);
}

// Tapes and some writers fill a file up to a block; gzip ignores the zeros as well.
TEST(GzipStream, zeros_after_the_last_member_are_ignored) {
  const TemporaryFolder folder;
  const std::string member = header(kChecksum) + behind_header(test::frame("record"));
  for (const std::size_t zeros : {1, 7, 512, 1'500'000}) {
    const std::string padded = member + member + std::string(zeros, '\0');
    EXPECT_EQ(count_records(folder.write("padded.gz", padded)), 2U) << zeros;
    const std::string file = folder.write("more.gz", padded + member);
    EXPECT_EQ(error_of([&] { count_records(file); }).code(), ErrorCode::data_loss);
  }
}

/// Writes the bytes so that the reader gets each in a separate read.
void write_to_pipe(const std::string& pipe, const std::vector<std::string>& pieces) {
  const int descriptor = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  for (const std::string& piece : pieces) {
    EXPECT_EQ(::write(descriptor, piece.data(), piece.size()), std::ssize(piece));
    for (int unread = 1; ::ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0;) {
      std::this_thread::yield();
    }
  }
  ::close(descriptor);
}

TEST(GzipHeader, comes_through_a_pipe_in_any_two_pieces) {
  const TemporaryFolder folder;
  const std::string file = header(kChecksum) + behind_header(test::frame("record"));
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (std::size_t place = 0; place <= file.size(); ++place) {
    std::thread writer([&] { write_to_pipe(pipe, split_at(file, place)); });
    EXPECT_EQ(count_records(pipe), 1U) << "split at byte " << place;
    writer.join();
  }
}

}  // namespace
}  // namespace infeed::detail
