#include "infeed/records/detail/zip_file.h"

#include <fmt/format.h>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "records/arrays/npy_bytes.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::FilePart;
using detail::ZipFile;

/// Places in the entry of the directory, and in the record at the end.
constexpr std::size_t kFlagsAt = 8;
constexpr std::size_t kMethodAt = 10;
constexpr std::size_t kCrcAt = 16;
constexpr std::size_t kPackedBytesAt = 20;
constexpr std::size_t kBytesAt = 24;
constexpr std::size_t kNameBytesAt = 28;
constexpr std::size_t kExtraBytesAt = 30;
constexpr std::size_t kCommentBytesAt = 32;
constexpr std::size_t kHeaderAt = 42;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kEndEntriesAt = 10;
constexpr std::size_t kEndBytesAt = 12;
constexpr std::size_t kEndBeginAt = 16;
constexpr std::size_t kEndCommentAt = 20;

class ZipFiles : public ::testing::Test {
 protected:
  /// A zip file with one member "a" that is changed in the directory (or at the end).
  struct Changed {
    std::string bytes;

    std::size_t entry() const { return bytes.rfind("PK\1\2"); }
    std::size_t end() const { return bytes.rfind("PK\5\6"); }
    Changed& put(std::size_t at, std::uint64_t value, int size) {
      bytes.replace(at, static_cast<std::size_t>(size), little_number(value, size));
      return *this;
    }
    Changed& put_entry(std::size_t at, std::uint64_t value, int size) {
      return put(entry() + at, value, size);
    }
    Changed& put_end(std::size_t at, std::uint64_t value, int size) {
      return put(end() + at, value, size);
    }
    Changed& add_extra(const std::string& extra) {
      bytes.insert(entry() + kEntryBytes + 1, extra);
      put_entry(kExtraBytesAt, extra.size(), 2);
      return put_end(kEndBytesAt, kEntryBytes + 1 + extra.size(), 4);
    }
  };

  static Changed stored(const std::string& content = "content") {
    return {zip_of({{"a", content}})};
  }
  static Changed deflated(const std::string& content = "content") {
    return {zip_of({{"a", content}}, true)};
  }
  ZipFile open(const std::string& bytes) const {
    return ZipFile(std::make_shared<SeekableFile>(folder_.write("x.zip", bytes)));
  }
  /// Returns the reason why a file is refused, which is at this place.
  std::string refusal(const std::string& bytes, std::uint64_t offset) const {
    const Error error = error_of([&] { open(bytes); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.file(), folder_.file("x.zip"));
    EXPECT_EQ(error.offset(), offset);
    const std::string front = "this is no zip file, or it is cut or damaged: ";
    EXPECT_EQ(error.message().substr(0, front.size()), front);
    return error.message().substr(front.size());
  }
  /// Returns why the only member can't be opened.
  Error member_error(const std::string& bytes) const {
    const ZipFile zip = open(bytes);
    return error_of([&] { zip.open(zip.members().at(0)); });
  }
  static std::string content_of(const FilePart& part) {
    std::string content(part.bytes, '\0');
    part.file->read_exactly(part.begin, content);
    return content;
  }

  const TemporaryFolder folder_;
};

TEST_F(ZipFiles, GiveTheirMembers) {
  std::mt19937_64 random(1);
  // Longer than what is read at once.
  const std::string longer = random_bytes(random, 1'500'000) + std::string(1'500'000, 'x');
  for (const bool is_deflated : {false, true}) {
    for (const bool has_zip64 : {false, true}) {
      const ZipFile zip = open(zip_of({{"a", "content"}, {"d/", ""}, {"d/b", longer}, {"c", ""}},
                                      is_deflated, has_zip64));
      ASSERT_EQ(zip.members().size(), 3U) << "folders are left out";
      const std::vector<std::pair<std::string, std::string>> wanted = {
          {"a", "content"}, {"d/b", longer}, {"c", ""}};
      for (std::size_t i = 0; i < 3; ++i) {
        const ZipFile::Member& member = zip.members()[i];
        const auto& [name, content] = wanted[i];
        EXPECT_EQ(member.name, name);
        EXPECT_EQ(member.bytes, content.size());
        EXPECT_EQ(member.method, is_deflated ? 8 : 0);
        EXPECT_FALSE(member.is_encrypted);
        EXPECT_TRUE(content_of(zip.open(member)) == content) << name;
        EXPECT_TRUE(content_of(zip.open(member, ZipFile::Check::nothing)) == content) << name;
        EXPECT_TRUE(zip.read_front(member, 4'000'000) == content) << name;
        EXPECT_EQ(zip.read_front(member, 3), content.substr(0, 3));
      }
      EXPECT_TRUE(zip.read_front(zip.members()[1], 2'000'000) == longer.substr(0, 2'000'000));
    }
  }
}

TEST_F(ZipFiles, AStoredMemberLiesInTheFile) {
  const FilePart part =
      open(stored().bytes)
          .open({.name = "a", .crc = 0, .packed_bytes = 7, .bytes = 7, .header = 0},
                ZipFile::Check::nothing);
  EXPECT_EQ(part.begin, 31U);
  EXPECT_EQ(part.bytes, 7U);
  EXPECT_EQ(part.file->name(), folder_.file("x.zip"));
  const ZipFile packed = open(deflated("a longer content").bytes);
  const FilePart copy = packed.open(packed.members()[0]);
  EXPECT_EQ(copy.begin, 0U);
  EXPECT_EQ(copy.bytes, 16U);
  EXPECT_EQ(copy.file->size_bytes(), 16U);
  EXPECT_EQ(copy.file->name(), folder_.file("x.zip")) << "whose errors are the file's";
}

TEST_F(ZipFiles, MayEndWithAComment) {
  for (const std::size_t size : {1, 65'535}) {
    Changed zip = stored();
    zip.put_end(kEndCommentAt, size, 2);
    EXPECT_EQ(open(zip.bytes + std::string(size, 'c')).members().size(), 1U) << size;
  }
  const std::string apart = "its directory does not stand at its end";
  Changed zip = stored();
  zip.put_end(kEndCommentAt, 5, 2);
  for (const std::size_t size : {4, 6}) {
    EXPECT_EQ(refusal(zip.bytes + std::string(size, 'c'), zip.bytes.size() + size), apart);
  }
  EXPECT_EQ(refusal(std::string(22, 'x'), 22), apart);
  EXPECT_EQ(refusal(std::string(21, 'x'), 21), "it is too short");
}

TEST_F(ZipFiles, MayHoldNothing) {
  const std::string none = zip_of({});
  ASSERT_EQ(none.size(), 22U);
  const auto with_comment = [&none](std::size_t size) {
    return none.substr(0, kEndCommentAt) + little_number(size, 2) + std::string(size, 'c');
  };
  for (const std::size_t size : {0, 1, 7, 8}) {
    const ZipFile zip = open(with_comment(size));
    EXPECT_TRUE(zip.members().empty()) << size;
    const ZipFile::Member made_up{.name = "a"};
    EXPECT_EQ(
        error_of([&] { zip.open(made_up); }).message(),
        fmt::format("member 'a' of 0 bytes is damaged or cut: {}",
                    size < 8 ? "its header lies behind the end of the file" : "it has no header"));
  }
  EXPECT_EQ(refusal("PK\6\7" + std::string(16, '\0') + none, 20), "its ZIP64 end lies elsewhere");
}

TEST_F(ZipFiles, TheirDirectoryLiesBeforeItsEnd) {
  const std::string behind = "its directory reaches behind its end";
  const std::size_t end = stored().end();
  const std::size_t begin = stored().entry();
  EXPECT_EQ(refusal(stored().put_end(kEndBeginAt, end + 1, 4).bytes, end), behind);
  EXPECT_EQ(refusal(stored().put_end(kEndBeginAt, begin + 1, 4).bytes, end), behind);
  EXPECT_EQ(refusal(stored().put_end(kEndBytesAt, end - begin + 1, 4).bytes, end), behind);
  EXPECT_EQ(refusal(stored().put_end(kEndEntriesAt, 2, 2).bytes, end),
            "a directory of 2 members in 47 bytes makes no sense");
  EXPECT_EQ(refusal(stored().put_end(kEndBeginAt, begin - 1, 4).bytes, begin - 1),
            "member 0 of 1 is not in its directory");
  for (const std::size_t at : {kNameBytesAt, kExtraBytesAt, kCommentBytesAt}) {
    EXPECT_EQ(refusal(stored().put_entry(at, at == kNameBytesAt ? 2 : 1, 2).bytes, begin),
              "member 0 of 1 is cut");
  }
  Changed two{zip_of({{"a", "x"}, {"b", "y"}})};
  const std::size_t second = two.entry();
  EXPECT_EQ(refusal(two.put(second, 0, 1).bytes, second), "member 1 of 2 is not in its directory");
}

TEST_F(ZipFiles, EntriesMayHaveCommentsAndNoName) {
  Changed zip{zip_of({{"b", "y"}, {"", "x"}})};
  const std::size_t first = zip.bytes.find("PK\1\2");
  zip.bytes.insert(first + kEntryBytes + 1, "rem");
  zip.put(first + kCommentBytesAt, 3, 2).put_end(kEndBytesAt, 2 * kEntryBytes + 4, 4);
  const ZipFile opened = open(zip.bytes);
  ASSERT_EQ(opened.members().size(), 2U);
  EXPECT_EQ(opened.members()[0].name, "b");
  EXPECT_EQ(opened.members()[1].name, "");
  EXPECT_EQ(content_of(opened.open(opened.members()[1])), "x");
}

TEST_F(ZipFiles, TheirDirectoryMayHaveAnotherOrder) {
  std::string bytes = zip_of({{"a", "x"}, {"b", "y"}});
  const std::size_t first = bytes.find("PK\1\2");
  const std::string entry = bytes.substr(first, kEntryBytes + 1);
  bytes.erase(first, entry.size()).insert(first + entry.size(), entry);
  const ZipFile zip = open(bytes);
  ASSERT_EQ(zip.members().size(), 2U);
  EXPECT_EQ(zip.members()[0].name, "b");
  EXPECT_EQ(content_of(zip.open(zip.members()[0])), "y");
  EXPECT_EQ(content_of(zip.open(zip.members()[1])), "x");
}

TEST_F(ZipFiles, TheirZip64EndLiesInThem) {
  const Changed good{zip_of({{"a", "content"}}, false, true)};
  const std::size_t end = good.end();
  const std::size_t place = end - 20 + 8;  // in the locator
  for (const std::uint64_t elsewhere : {end + 1, end - 55}) {
    EXPECT_EQ(refusal(Changed(good).put(place, elsewhere, 8).bytes, end),
              "its ZIP64 end lies elsewhere");
  }
  EXPECT_EQ(refusal(Changed(good).put(place, end - 56, 8).bytes, end - 56), "no ZIP64 end");
  EXPECT_EQ(refusal(Changed(good).put(end - 76, 0, 1).bytes, end - 76), "no ZIP64 end");
  EXPECT_EQ(open(good.bytes).members().at(0).bytes, 7U);
}

TEST_F(ZipFiles, SizesMayStandInTheExtraFields) {
  const std::string other = little_number(0x5455, 2) + little_number(9, 2) + "the other";
  const auto zip64 = [](const std::string& values) {
    return little_number(1, 2) + little_number(values.size(), 2) + values;
  };
  const std::uint64_t elsewhere = 0xFFFFFFFF;
  const auto member_of = [&](Changed& zip) { return open(zip.bytes).members().at(0); };
  Changed all = stored();
  all.put_entry(kBytesAt, elsewhere, 4).put_entry(kPackedBytesAt, elsewhere, 4);
  all.put_entry(kHeaderAt, elsewhere, 4);
  all.add_extra(other + zip64(little_number(5, 8) + little_number(6, 8) + little_number(9, 8)));
  EXPECT_EQ(member_of(all).bytes, 5U);
  EXPECT_EQ(member_of(all).packed_bytes, 6U);
  EXPECT_EQ(member_of(all).header, 9U);
  Changed one = stored();
  one.put_entry(kPackedBytesAt, elsewhere, 4).add_extra(zip64(little_number(6, 8)) + other);
  EXPECT_EQ(member_of(one).bytes, 7U);
  EXPECT_EQ(member_of(one).packed_bytes, 6U);
  EXPECT_EQ(member_of(one).header, 0U);
  Changed cut = stored();
  cut.put_entry(kBytesAt, elsewhere, 4).add_extra(zip64(little_number(6, 7)));
  EXPECT_EQ(member_of(cut).bytes, elsewhere);
  Changed short_extra = stored();
  EXPECT_EQ(member_of(short_extra.add_extra("abc")).bytes, 7U);
}

TEST_F(ZipFiles, MembersOfUnknownMethodsAreRefused) {
  const std::string advice =
      "; only stored and deflated members can be read: write the file with numpy.savez or "
      "savez_compressed";
  for (const auto& [bytes, what] :
       {std::pair(stored().put_entry(kFlagsAt, 1, 2).bytes, "encrypted"),
        std::pair(stored().put_entry(kMethodAt, 9, 2).bytes, "compressed by method 9"),
        std::pair(stored().put_entry(kMethodAt, 1, 2).bytes, "compressed by method 1")}) {
    const Error error = member_error(bytes);
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), fmt::format("member 'a' is {}{}", what, advice));
    EXPECT_EQ(error.file(), folder_.file("x.zip"));
  }
  EXPECT_FALSE(open(stored().put_entry(kFlagsAt, 2, 2).bytes).members().at(0).is_encrypted);
}

/// The name and the extra fields before a member's content are those of its own header.
TEST_F(ZipFiles, ContentLiesBehindItsOwnHeader) {
  Changed zip = stored();
  zip.bytes.insert(31, "ext");
  zip.put(28, 3, 2).put_end(kEndBeginAt, zip.entry(), 4);
  const ZipFile extended = open(zip.bytes);
  const FilePart part = extended.open(extended.members().at(0));
  EXPECT_EQ(part.begin, 34U);
  EXPECT_EQ(content_of(part), "content");
  const std::size_t size = stored("").bytes.size();
  const ZipFile last = open(stored("").put(26, size - 30, 2).bytes);
  EXPECT_EQ(content_of(last.open(last.members().at(0))), "");
  EXPECT_EQ(
      member_error(stored("").put(26, size - 29, 2).bytes).message(),
      "member 'a' of 0 bytes is damaged or cut: its 0 bytes in the file reach behind its end");
}

/// The last bytes may come out when all of the compressed ones have gone in.
TEST_F(ZipFiles, MembersMayEndWhereAStepEnds) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 20;
  for (const std::size_t size : {kStepBytes - 1, kStepBytes, kStepBytes + 1, kStepBytes + 4000}) {
    const std::string content(size, 'x');
    for (const bool is_deflated : {false, true}) {
      const ZipFile zip = open(zip_of({{"a", content}}, is_deflated));
      EXPECT_TRUE(content_of(zip.open(zip.members().at(0))) == content) << size;
      EXPECT_TRUE(zip.read_front(zip.members().at(0), size + 1) == content) << size;
    }
  }
}

TEST_F(ZipFiles, MembersThatAreDamagedSaySo) {
  const auto message = [](std::uint64_t bytes, const std::string& reason) {
    return fmt::format("member 'a' of {} bytes is damaged or cut: {}", bytes, reason);
  };
  const auto said = [&](const Changed& zip) { return member_error(zip.bytes).message(); };
  const std::size_t size = stored().bytes.size();
  EXPECT_EQ(said(stored().put(0, 0, 1)), message(7, "it has no header"));
  const Error behind = member_error(stored().put_entry(kHeaderAt, size - 29, 4).bytes);
  EXPECT_EQ(behind.message(), message(7, "its header lies behind the end of the file"));
  EXPECT_EQ(behind.code(), ErrorCode::data_loss);
  EXPECT_EQ(behind.offset(), size - 29);
  EXPECT_EQ(said(stored().put_entry(kHeaderAt, size - 30, 4)), message(7, "it has no header"));
  EXPECT_EQ(said(stored().put_entry(kPackedBytesAt, size - 30, 4)),
            message(7, fmt::format("its {} bytes in the file reach behind its end", size - 30)));
  EXPECT_EQ(said(stored().put_entry(kPackedBytesAt, size - 31, 4)),
            message(7, fmt::format("it is stored in {} bytes", size - 31)));
  EXPECT_EQ(said(stored().put_entry(kBytesAt, 6, 4)), message(6, "it is stored in 7 bytes"));
  EXPECT_EQ(said(stored().put_entry(kCrcAt, 0, 4)),
            message(7, "its CRC-32 does not match its contents"));
  EXPECT_EQ(said(deflated().put_entry(kCrcAt, 0, 4)),
            message(7, "its CRC-32 does not match its contents"));
  EXPECT_EQ(said(deflated().put_entry(kBytesAt, 6, 4)), message(6, "it goes on behind them"));
  EXPECT_EQ(said(deflated().put_entry(kBytesAt, 8, 4)), message(8, "it ends after 7"));
  const std::size_t packed = raw_deflate("content").size();
  EXPECT_THAT(said(deflated().put_entry(kPackedBytesAt, packed - 1, 4)),
              HasSubstr("its compressed bytes make no sense behind "));
  EXPECT_EQ(said(deflated().put(31, 7, 1)),  // a kind of block that doesn't exist
            message(7, "its compressed bytes make no sense behind 0"));
}

TEST_F(ZipFiles, AFrontIsGivenAsFarAsItIsThere) {
  const Changed zip = deflated().put_entry(kBytesAt, 20, 4);
  const ZipFile longer = open(zip.bytes);
  const ZipFile::Member& member = longer.members().at(0);
  EXPECT_EQ(longer.read_front(member, 7), "content");
  EXPECT_EQ(error_of([&] { (void)longer.read_front(member, 8); }).message(),
            "member 'a' of 20 bytes is damaged or cut: it ends after 7");
}

TEST_F(ZipFiles, ClaimsBeyondDeflateAreRefused) {
  const std::size_t packed = raw_deflate("content").size();
  const std::uint64_t most = 1032 * (packed + 1) - 1;
  EXPECT_EQ(open(deflated().put_entry(kBytesAt, most, 4).bytes).members().at(0).bytes, most);
  const Error error = error_of([&] { open(deflated().put_entry(kBytesAt, most + 1, 4).bytes); });
  EXPECT_EQ(
      error.message(),
      fmt::format("member 'a' of {} bytes is damaged or cut: {} compressed bytes can't become "
                  "as many",
                  most + 1, packed));
}

}  // namespace
}  // namespace infeed::test
