#include "io/byte_source.h"

#include <array>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <infeed/records/byte_stream.h>

#include "records/codec/skippable.h"
#include "records/filled_pipe.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

TEST(RecogniseCompression, LooksAtTheFirstBytes) {
  using namespace std::string_view_literals;
  for (const auto& [front, compression] : std::vector<std::pair<std::string_view, Compression>>{
           {""sv, Compression::none},
           {"\x1f\x8b\x08"sv, Compression::gzip},
           {"\x1f\x8b"sv, Compression::none},
           {"\x1f\x8b\x07"sv, Compression::none},
           {"\x1f\x8c\x08"sv, Compression::none},
           {"\x1e\x8b\x08"sv, Compression::none},
           {"\x04\x22\x4d\x18"sv, Compression::lz4},
           {"\x04\x22\x4d"sv, Compression::none},
           {"\x28\xb5\x2f\xfd"sv, Compression::zstd},
           {"\x28\xb5\x2f"sv, Compression::none},
           {"\x78\x9c"sv, Compression::zlib},
           {"\x08\x1d"sv, Compression::zlib},  // a window of 256 bytes
           {"\x78"sv, Compression::none},
           {"\x78\x9d"sv, Compression::none},  // its sum is wrong
           {"\x79\x9c"sv, Compression::none},
           {"\x88\x1c"sv, Compression::none},              // a window of 64 KiB
           {"\x78\xbb"sv, Compression::none},              // a dictionary
           {"\x78\x9c\x07"sv, Compression::none},          // an unknown kind of block
           {"\x78\x9c\x4b\x04\x02"sv, Compression::zlib},  // a byte, and a copy of it
           {"\x78\x9c\x4b\x04\x12"sv, Compression::none},  // a copy of bytes before the first
       }) {
    EXPECT_EQ(recognise_compression(front), compression) << testing::PrintToString(front);
  }
}

TEST(RecogniseCompression, LooksBehindSkippableFrames) {
  const auto front = [](const std::string& behind, std::size_t skipped_bytes, int variant = 0) {
    const std::string frame = test::skippable_frame(
        std::string(skipped_bytes, 's'), 0x184d2a50U + static_cast<std::uint32_t>(variant));
    return (frame + behind).substr(0, kCompressionPrefixBytes);
  };
  const std::string lz4 = "\x04\x22\x4d\x18";
  for (const int variant : {0, 1, 14, 15}) {
    EXPECT_EQ(recognise_compression(front(lz4, 3, variant)), Compression::lz4) << variant;
  }
  EXPECT_NE(recognise_compression(front(lz4, 3, 16)), Compression::lz4);
  EXPECT_EQ(recognise_compression(front(lz4, 0)), Compression::lz4);
  EXPECT_EQ(recognise_compression(front(lz4, 20)), Compression::lz4);
  // Who can't see what follows takes it for zstd, whose writers begin so.
  EXPECT_EQ(recognise_compression(front(lz4, 24)), Compression::zstd);
  EXPECT_EQ(recognise_compression(front("other", 3)), Compression::zstd);
}

TEST(RecogniseCompression, KnowsARecordByTheChecksumOfItsLength) {
  const std::string length = test::little(std::uint64_t{0x088b1f});  // begins like gzip
  std::string header = length + test::little(mask_crc32c(crc32c(length)));
  EXPECT_EQ(recognise_compression(header), Compression::none);
  EXPECT_EQ(recognise_compression(header + "payload"), Compression::none);
  EXPECT_EQ(recognise_compression(header.substr(0, 11)), Compression::gzip);
  header[11] = static_cast<char>(header[11] ^ 1);
  EXPECT_EQ(recognise_compression(header), Compression::gzip);
}

TEST(DataCompression, IsNeverZlib) {
  EXPECT_EQ(recognise_data_compression("\x78\x9c"), Compression::none);
  EXPECT_EQ(recognise_data_compression("\x1f\x8b\x08"), Compression::gzip);
  const TemporaryFolder folder;
  const std::string packed = test::zlib("text");
  const std::string file = folder.write("text", packed);
  std::string bytes(100, '\0');
  OpenedSource opened = open_data_source(file, {});
  EXPECT_EQ(opened.compression, Compression::none);
  bytes.resize(opened.source->read(bytes));
  EXPECT_EQ(bytes, packed);
  bytes.resize(100);
  opened = open_data_source(file, {.compression = Compression::zlib});
  EXPECT_EQ(opened.compression, Compression::zlib);
  bytes.resize(opened.source->read(bytes));
  EXPECT_EQ(bytes, "text");
}

TEST(Compression, IsToldByItsName) {
  EXPECT_EQ(to_string(Compression::automatic), "automatic");
  EXPECT_EQ(to_string(Compression::none), "plain");
  EXPECT_EQ(to_string(Compression::gzip), "gzip");
  EXPECT_EQ(to_string(Compression::zlib), "zlib");
  EXPECT_EQ(to_string(Compression::lz4), "lz4");
  EXPECT_EQ(to_string(Compression::zstd), "zstd");
}

TEST(PlainFileBytes, AreThoseOfAFileThatIsReadAsItIs) {
  const TemporaryFolder folder;
  const auto bytes_in = [&](const std::string& bytes, Compression compression) {
    return plain_file_bytes(folder.write("file", bytes), compression);
  };
  EXPECT_EQ(bytes_in("text", Compression::automatic), 4U);
  EXPECT_EQ(bytes_in("", Compression::automatic), 0U);
  EXPECT_EQ(bytes_in("text", Compression::none), 4U);
  EXPECT_EQ(bytes_in("text", Compression::gzip), std::nullopt);
  const std::string packed = test::gzip("text");
  EXPECT_EQ(bytes_in(packed, Compression::automatic), std::nullopt);
  EXPECT_EQ(bytes_in(packed, Compression::none), packed.size());
  const std::string looks_packed = test::zlib("text");
  EXPECT_EQ(bytes_in(looks_packed, Compression::automatic), looks_packed.size());
  EXPECT_EQ(plain_file_bytes(folder.file("missing"), Compression::none), std::nullopt);
  EXPECT_EQ(plain_file_bytes(folder.path().string(), Compression::none), std::nullopt);
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const File opened(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "opened");
  ASSERT_GE(::inotify_add_watch(opened.descriptor(), folder.file("pipe").c_str(), IN_OPEN), 0);
  EXPECT_EQ(plain_file_bytes(folder.file("pipe"), Compression::automatic), std::nullopt);
  std::array<char, 1000> events{};
  EXPECT_LT(::read(opened.descriptor(), events.data(), events.size()), 0) << "nobody opened it";
}

TEST(PlainSource, OfAFileCanBeReadAtAnyPlace) {
  const TemporaryFolder folder;
  const OpenedSource opened = open_source(folder.write("file", "0123456789"), {});
  EXPECT_EQ(opened.compression, Compression::none);
  EXPECT_EQ(opened.file_bytes, 10U);
  EXPECT_EQ(opened.front, "0123456789");
  EXPECT_EQ(opened.source->size_bytes(), 10U);
  EXPECT_TRUE(opened.source->is_seekable());
  std::string into(6, '\0');
  EXPECT_EQ(opened.source->read(into), 6U);
  EXPECT_EQ(opened.source->read(into), 4U);
  EXPECT_EQ(into.substr(0, 4), "6789");
  EXPECT_EQ(opened.source->read(into), 0U);
  opened.source->seek(3);
  EXPECT_EQ(opened.source->read({}), 0U);
  EXPECT_EQ(opened.source->read(into), 6U);
  EXPECT_EQ(into, "345678");
}

TEST(BlockBytes, AreNoMoreThanTheFileNeeds) {
  const TemporaryFolder folder;
  const auto block_bytes = [&](std::size_t file_bytes, std::size_t bytes_max) {
    const std::string name = folder.write("file", std::string(file_bytes, 'x'));
    return block_bytes_for(*open_source(name, {}).source, bytes_max);
  };
  EXPECT_EQ(block_bytes(10, 1 << 20), 4096U);
  EXPECT_EQ(block_bytes(10, 100), 100U);
  EXPECT_EQ(block_bytes(5000, 1 << 20), 5000U);
  EXPECT_EQ(block_bytes(5000, 4500), 4500U);
  EXPECT_EQ(block_bytes_for(*open_source("/dev/null", {}).source, 1 << 20), 1U << 20);
}

TEST(PlainSource, OfAPipeGivesTheBytesThatWereLookedAt) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::size_t size : {0, 1, 31, 32, 33, 1000}) {
    for (const std::size_t step : {1, 5, 100}) {
      std::mt19937_64 random(size);
      // A first byte that no format begins with.
      const std::string text =
          (std::string(1, 't') + test::random_bytes(random, size)).substr(0, size);
      std::jthread writer([&] { File::open(pipe, O_WRONLY).write(text); });
      const OpenedSource opened = open_source(pipe, {});
      EXPECT_EQ(opened.compression, Compression::none);
      EXPECT_EQ(opened.file_bytes, std::nullopt);
      EXPECT_FALSE(opened.source->is_seekable());
      std::string all;
      std::string into(step, '\0');
      while (const std::size_t got = opened.source->read(into)) all.append(into, 0, got);
      EXPECT_EQ(all, text) << size << " bytes in steps of " << step;
    }
  }
}

/// Text that begins as zlib may was opened a second time, behind the bytes that were looked at.
TEST(PlainSource, OfAPipeThatLooksLikeZlibGivesAllBytes) {
  const TemporaryFolder folder;
  const std::string text = "X\tbxjegbjccjjxfnsiearbs gsof ywt\n" + std::string(100, '1');
  ASSERT_EQ(recognise_compression(text.substr(0, kCompressionPrefixBytes)), Compression::zlib);
  const test::FilledPipe pipe(folder, "pipe", text);
  const OpenedSource opened = open_data_source(pipe.name(), {});
  EXPECT_EQ(opened.compression, Compression::none);
  std::string all;
  std::string into(50, '\0');
  while (const std::size_t got = opened.source->read(into)) all.append(into, 0, got);
  EXPECT_EQ(all, text);
}

TEST(RequireEnd, SaysWhereAFileEndsThatBecameShorter) {
  require_end(6, 6);
  require_end(7, 6);
  try {
    require_end(5, 6);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const StreamDamage& damage) {
    EXPECT_EQ(damage.message,
              "the file became shorter while it was read: nothing is left at 5 of the 6 bytes that "
              "it had");
    EXPECT_EQ(damage.resumes_at, std::nullopt);
  }
}

TEST(ByteStream, FillsTheRoomAcrossTheStepsOfItsSource) {
  const TemporaryFolder folder;
  const std::string file = folder.write("x.gz", test::gzip("01234") + test::gzip("56789"));
  ByteStream stream(file);
  EXPECT_EQ(stream.file(), file);
  std::string into(8, '\0');
  EXPECT_EQ(stream.read(into), 8U);
  EXPECT_EQ(into, "01234567");
  EXPECT_EQ(stream.read(into), 2U);
  EXPECT_EQ(into.substr(0, 2), "89");
  EXPECT_EQ(stream.read(into), 0U);
  ByteStream plain(file, Compression::none);
  EXPECT_EQ(plain.read(into), 8U);
  EXPECT_EQ(into, read_whole(file).substr(0, 8));
}

TEST(ByteStream, NamesItsFileWhereItIsDamaged) {
  const TemporaryFolder folder;
  const std::string packed = test::gzip("text");
  ByteStream stream(folder.write("x.gz", packed.substr(0, packed.size() - 1)));
  std::string into(100, '\0');
  const Error error = error_of([&] { stream.read(into); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), folder.file("x.gz"));
}

}  // namespace
}  // namespace infeed::detail
