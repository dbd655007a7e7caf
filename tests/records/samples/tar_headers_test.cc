#include "samples/tar_headers.h"

#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "records/samples/tar_bytes.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::TarHeaders;
using Kind = TarHeaders::Next::Kind;

/// A header's block, whose checksum is made anew behind each change.
class TarBlock {
 public:
  explicit TarBlock(const std::string& name, const std::string& content = "", char kind = '0',
                    const std::string& target = "")
      : bytes_(tar_member(name, content, kind, target).substr(0, 512)) {}

  TarBlock& put(std::size_t at, const std::string& text) {
    bytes_.replace(at, text.size(), text);
    bytes_.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char c : bytes_) sum += static_cast<unsigned char>(c);
    bytes_.replace(148, 6, fmt::format("{:06o}", sum));
    bytes_[154] = '\0';
    return *this;
  }
  TarBlock& put_size(const std::string& field) { return put(124, field); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

TarHeaders::Next next_of(const std::string& block) {
  TarHeaders headers;
  return headers.take(block);
}

/// Returns the header behind a text of a kind.
TarHeaders::Next next_behind(char kind, const std::string& text, const std::string& block) {
  TarHeaders headers;
  const TarHeaders::Next first = headers.take(TarBlock("text", text, kind).bytes());
  EXPECT_EQ(first.kind, Kind::text);
  EXPECT_EQ(first.bytes, text.size());
  headers.take_text(text);
  const TarHeaders::Next second = headers.take(block);
  EXPECT_EQ(headers.take(TarBlock("own", "own").bytes()).name, "own") << "texts are forgotten";
  return second;
}

std::string refusal_of(const std::string& block) {
  const Error error = error_of([&] { next_of(block); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  return error.message();
}

TEST(TarBlocks, HaveASumOverAllTheirBytes) {
  const std::string block = TarBlock("name.txt", "content").bytes();
  EXPECT_TRUE(detail::has_tar_sum(block));
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::string changed = block;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(detail::has_tar_sum(changed), i == 155) << i << ": only the sum's last byte is free";
  }
  const std::string zeros(512, '\0');
  EXPECT_FALSE(detail::has_tar_sum(zeros));
  EXPECT_TRUE(detail::is_tar_end(zeros));
  for (const std::size_t i : {0, 255, 511}) {
    std::string changed = zeros;
    changed[i] = '\1';
    EXPECT_FALSE(detail::is_tar_end(changed)) << i;
  }
}

/// Old Suns added the bytes up as signed ones: each byte over 127 counts 256 less.
TEST(TarBlocks, MayHaveASumOfSignedBytes) {
  std::string block = TarBlock("caf\xe9 \xff.txt", "content").bytes();
  unsigned sum = 0;
  ASSERT_EQ(std::sscanf(block.c_str() + 148, "%o", &sum), 1);
  for (const unsigned less : {0U, 256U, 512U, 768U}) {
    block.replace(148, 6, fmt::format("{:06o}", sum - less));
    EXPECT_EQ(detail::has_tar_sum(block), less == 0 || less == 512) << less;
  }
}

TEST(TarBlocks, WithoutASumSayWhatTheyAre) {
  const std::string good = TarBlock("a", "x").bytes();
  const std::string bad = "A" + good.substr(1);
  EXPECT_EQ(refusal_of(bad), "this is no tar file: its first 512 bytes have no valid checksum");
  TarHeaders headers;
  EXPECT_EQ(headers.take(good).name, "a");
  EXPECT_EQ(error_of([&] { headers.take(bad); }).message(),
            "a member's header is damaged: its checksum does not match");
}

struct KindOfHeader {
  char written;
  Kind kind;
  std::uint64_t bytes;
};

TEST(TarHeaders, AreOfManyKinds) {
  for (const auto& [written, kind, bytes] : std::vector<KindOfHeader>{{'0', Kind::member, 7},
                                                                      {'\0', Kind::member, 7},
                                                                      {'7', Kind::member, 7},
                                                                      {'1', Kind::link, 0},
                                                                      {'2', Kind::link, 0},
                                                                      {'3', Kind::no_file, 0},
                                                                      {'4', Kind::no_file, 0},
                                                                      {'6', Kind::no_file, 0},
                                                                      {'?', Kind::no_file, 7},
                                                                      {'5', Kind::passed_over, 0},
                                                                      {'V', Kind::passed_over, 7},
                                                                      {'g', Kind::passed_over, 7},
                                                                      {'x', Kind::text, 7},
                                                                      {'X', Kind::text, 7},
                                                                      {'L', Kind::text, 7},
                                                                      {'K', Kind::text, 7}}) {
    const TarHeaders::Next next = next_of(TarBlock("name", "content", written, "to").bytes());
    EXPECT_EQ(next.kind, kind) << written;
    EXPECT_EQ(next.bytes, bytes) << written;
    const bool is_named = kind == Kind::member || kind == Kind::link || kind == Kind::no_file;
    EXPECT_EQ(next.name, is_named ? "name" : "") << written;
    EXPECT_EQ(next.target, kind == Kind::link ? "to" : "") << written;
  }
  // The oldest files mark a folder by its name.
  EXPECT_EQ(next_of(TarBlock("old/", "content").bytes()).kind, Kind::passed_over);
  EXPECT_EQ(next_of(TarBlock("old/", "content").bytes()).bytes, 7U);
  EXPECT_EQ(refusal_of(TarBlock("a", "x", 'M').bytes()),
            "the member 'a' goes on from another volume; put the volumes together first");
}

std::string base_256(std::uint64_t value, const std::string& front = std::string("\x80\0\0\0", 4)) {
  std::string field = front;
  for (int shift = 56; shift >= 0; shift -= 8) field += static_cast<char>(value >> shift);
  return field;
}

TEST(TarHeaders, HaveSizesOfManyForms) {
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [field, bytes] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"00000000017", 15},
           {"77777777777", 8'589'934'591},
           {"777777777777", 68'719'476'735},
           {std::string("  17 \0 9", 8), 15},
           {std::string(12, ' '), 0},
           {std::string(12, '\0'), 0},
           {base_256(5), 5},
           {base_256(std::uint64_t{1} << 40), std::uint64_t{1} << 40},
           {base_256(most), most}}) {
    EXPECT_EQ(next_of(TarBlock("a").put_size(field).bytes()).bytes, bytes) << field;
  }
  const std::string no_number = "a member's size is no number";
  for (const std::string& field :
       {std::string("00000000018"), std::string("0000000001x"), std::string("-0000000001"),
        base_256(0, std::string("\x80\0\0\1", 4)), base_256(0, std::string("\x80\1\0\0", 4)),
        base_256(0, "\xff\xff\xff\xff")}) {
    EXPECT_EQ(refusal_of(TarBlock("a").put_size(field).bytes()), no_number) << field;
  }
  EXPECT_EQ(refusal_of(TarBlock("a").put_size(base_256(most + 1)).bytes()),
            "a member's size makes no sense");
}

TEST(TarHeaders, HaveNamesOfTwoParts) {
  const std::string name(100, 'n');
  const std::string prefix(155, 'p');
  EXPECT_EQ(next_of(TarBlock(name).bytes()).name, name);
  EXPECT_EQ(next_of(TarBlock(name).put(345, prefix).bytes()).name, prefix + "/" + name);
  EXPECT_EQ(next_of(TarBlock("n").put(345, "a/b").bytes()).name, "a/b/n");
  // GNU and the oldest files have other fields in the prefix's place.
  EXPECT_EQ(next_of(TarBlock("n").put(345, "a/b").put(262, " ").bytes()).name, "n");
  EXPECT_EQ(next_of(TarBlock("n").put(345, "a/b").put(257, "USTAR").bytes()).name, "n");
  EXPECT_EQ(next_of(TarBlock("./n").bytes()).name, "n");
  EXPECT_EQ(next_of(TarBlock("n").put(345, "./a").bytes()).name, "a/n");
  EXPECT_EQ(next_of(TarBlock("l", "", '2', std::string(100, 't')).bytes()).target,
            std::string(100, 't'));
}

TEST(TarHeaders, AreDescribedByTheTextBefore) {
  const std::string block = TarBlock("short", "content", '0').bytes();
  EXPECT_EQ(next_behind('L', std::string("./long\0\0", 8), block).name, "long");
  EXPECT_EQ(
      next_behind('K', std::string("far\0", 4), TarBlock("l", "", '1', "near").bytes()).target,
      "far");
  for (const char kind : {'x', 'X'}) {
    const TarHeaders::Next next =
        next_behind(kind, "13 path=long\n11 size=42\n8 x=y=z\n4 =\n", block);
    EXPECT_EQ(next.name, "long");
    EXPECT_EQ(next.bytes, 42U);
    EXPECT_EQ(next_behind(kind, "17 linkpath=a=b\n\n", TarBlock("l", "", '2').bytes()).target,
              "a=b\n");
  }
  const std::uint64_t most = std::uint64_t{1} << 20;
  EXPECT_EQ(next_of(TarBlock("t", "", 'L').put_size(base_256(most)).bytes()).bytes, most);
  for (const char kind : {'x', 'L', 'K'}) {
    EXPECT_EQ(refusal_of(TarBlock("t", "", kind).put_size(base_256(most + 1)).bytes()),
              "a name of 1048577 bytes makes no sense");
  }
}

TEST(TarHeaders, AreNotDescribedByTextThatIsDamaged) {
  const auto refused = [](const std::string& text) {
    TarHeaders headers;
    headers.take(TarBlock("pax", text, 'x').bytes());
    return error_of([&] { headers.take_text(text); }).message();
  };
  for (const std::string text :
       {"x", "11 path=x\n", "9 path:x\n", "3 \n", "2 ", "1", "-10 path=x\n", "10 path=x\n3 \n"}) {
    EXPECT_EQ(refused(text), "a pax header is damaged: lines like '20 path=name' are expected")
        << text;
  }
  for (const std::string text : {"10 size=x\n", "8 size=\n", "11 size=1x\n", "11 size=-1\n"}) {
    EXPECT_EQ(refused(text), "a pax size is no number") << text;
  }
}

TEST(TarHeaders, OfSparseMembersAreRefused) {
  const auto why = [](const std::string& name) {
    return "the member '" + name +
           "' is sparse: its holes are left out, so its bytes aren't its content; pack the tar "
           "file anew without --sparse (GNU tar), or with --no-read-sparse (bsdtar, macOS)";
  };
  EXPECT_EQ(refusal_of(TarBlock("a", "x", 'S').bytes()), why("a"));
  for (const auto& [text, name] :
       std::vector<std::pair<std::string, std::string>>{{"22 GNU.sparse.major=1\n", "a"},
                                                        {"21 GNU.sparse.name=b\n", "b"},
                                                        {"22 SUN.holesdata= 0 9\n", "a"}}) {
    TarHeaders headers;
    headers.take(TarBlock("pax", text, 'x').bytes());
    headers.take_text(text);
    EXPECT_EQ(error_of([&] { headers.take(TarBlock("a", "x").bytes()); }).message(), why(name));
  }
}

}  // namespace
}  // namespace infeed::test
