#include "infeed/records/tar.h"

#include <chrono>
#include <gmock/gmock.h>

#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Tar : public ::testing::Test {
 protected:
  /// Shows "key: ext=content ..." for a sample, "! message" for an error.
  static std::vector<std::string> read_all(TarSampleReader reader) {
    std::vector<std::string> texts;
    TarSample sample;
    while (texts.size() < 100) {
      try {
        if (!reader.read(sample)) break;
        texts.push_back(sample.key + ":");
        for (const TarField& field : sample.fields) {
          texts.back() += fmt::format(" {}={}", field.extension, field.content.bytes());
        }
      } catch (const Error& error) {
        texts.push_back("! " + error.message());
      }
    }
    return texts;
  }
  std::vector<std::string> read_bytes(const std::string& bytes, TarOptions options = {}) const {
    const std::string file = folder_.write("t.tar", bytes);
    std::vector<std::string> texts = read_all(TarSampleReader(file, options));
    EXPECT_EQ(skipped(file, options), texts.size()) << "skipping counts what reading gives";
    return texts;
  }
  static std::size_t skipped(const std::string& file, const TarOptions& options) {
    TarSampleReader reader(file, options);
    for (std::size_t count = 0;; ++count) {
      try {
        if (!reader.skip()) return count;
      } catch (const Error&) {
      }
    }
  }

  const TemporaryFolder folder_;
};

/// Each name was compared with all before it: 11 s.
TEST_F(Tar, ManyMembersOfOneSampleCostNoMore) {
  std::string bytes;
  for (int i = 0; i < 60'000; ++i) bytes += tar_member(fmt::format("a.{:050}", i), "");
  bytes += std::string(1024, '\0');
  const std::string file = folder_.write("t.tar", bytes);
  const auto begin = std::chrono::steady_clock::now();
  TarSampleReader reader(file, {});
  TarSample sample;
  ASSERT_TRUE(reader.read(sample));
  EXPECT_EQ(sample.fields.size(), 60'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST_F(Tar, GroupsMembersAsWebDatasetDoes) {
  EXPECT_THAT(
      read_bytes(tar_of({{"./a/1.jpg", "J"},
                         {"a/1.seg.png", "P"},
                         {"a/2.jpg", ""},
                         {"b.x/1", "no dot"},
                         {"a/1.jpg", "again"}})),
      ElementsAre("a/1: jpg=J seg.png=P", "a/2: jpg=", "b.x/1: content=no dot", "a/1: jpg=again"));
  EXPECT_TRUE(read_bytes(tar_end()).empty());
}

TEST_F(Tar, FieldsKnowTheirPlaces) {
  const std::string file = folder_.write("t.tar", tar_of({{"1.a", "xy"}, {"1.b", "z"}}));
  TarSampleReader reader(file);
  TarSample sample;
  ASSERT_TRUE(reader.read(sample));
  ASSERT_NE(sample.find("b"), nullptr);
  EXPECT_EQ(sample.find("b")->offset(), 1536);
  EXPECT_EQ(sample.find("b")->file(), file);
  EXPECT_EQ(sample.find("c"), nullptr);
}

TEST_F(Tar, LongNamesFoldersAndLinks) {
  const std::string long_name = std::string(150, 'n') + ".txt";
  const std::string pax = fmt::format("path={}\n", long_name);
  const std::string bytes = tar_member("folder/", "", '5') + tar_member("link.a", "", '2') +
                            tar_member("././@LongLink", long_name + std::string(1, '\0'), 'L') +
                            tar_member("n", "gnu") +
                            tar_member("pax", fmt::format("{} {}", pax.size() + 4, pax), 'x') +
                            tar_member("n", "pax") + tar_member("1.a", "last") + tar_end();
  const std::string key(150, 'n');
  EXPECT_THAT(read_bytes(bytes), ElementsAre(HasSubstr("comes twice"), "1: a=last"));
  const SeekableFile file(folder_.write("t.tar", bytes));
  std::vector<std::string> names;
  for (const TarMember& member : list_tar(file)) names.push_back(member.name);
  EXPECT_THAT(names, ElementsAre(long_name, long_name, "1.a"));
}

TEST_F(Tar, WhatCostsOneSample) {
  EXPECT_THAT(read_bytes(tar_of({{"1.a", "x"}, {"1.a", "y"}, {"1.b", "z"}, {"2.a", "fine"}})),
              ElementsAre("! the member '1.a' comes twice in one sample", "2: a=fine"));
  EXPECT_THAT(
      read_bytes(tar_of({{"1.a", "1234"}, {"2.a", "123"}}), {.member_bytes_max = 3}),
      ElementsAre("! the member '1.a' has 4 bytes, more than 3; member_bytes_max is the limit",
                  "2: a=123"));
}

TEST_F(Tar, WhatCostsTheFile) {
  const std::string whole = tar_of({{"1.a", std::string(600, 'x')}, {"2.a", "y"}, {"3.a", "z"}});
  const std::string first = "1: a=" + std::string(600, 'x');
  EXPECT_THAT(read_bytes(""), ElementsAre("! the file is empty, which no tar file is"));
  EXPECT_THAT(read_bytes(std::string(600, 'x')), ElementsAre(HasSubstr("this is no tar file")));
  EXPECT_THAT(
      read_bytes(whole.substr(0, 700)),
      ElementsAre("! the tar file is cut: a member of 600 bytes begins here, and 188 are left"));
  EXPECT_THAT(read_bytes(whole.substr(0, whole.size() - 1024)),
              ElementsAre(first, "2: a=y", HasSubstr("ends without its end mark")));
  std::string damaged = whole;
  damaged[512 + 1024 + 3] ^= 1;
  EXPECT_THAT(read_bytes(damaged), ElementsAre(HasSubstr("its checksum does not match")))
      << "more of the sample may have stood there";
  EXPECT_THAT(read_bytes(tar_member("s", "x", 'S') + tar_end()),
              ElementsAre(HasSubstr("a sparse member")));
  const std::string file = folder_.write("t.tar", whole.substr(0, 700));
  const Error error = error_of([&] { list_tar(SeekableFile(file)); });
  EXPECT_EQ(error.message(),
            "the tar file is cut: a member of 600 bytes begins here, and 188 are left");
  EXPECT_EQ(error.file(), file);
}

}  // namespace
}  // namespace infeed::test
