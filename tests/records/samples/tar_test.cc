#include "infeed/records/tar.h"

#include <chrono>

#include "cpu_time.h"
#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

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
  const auto begin = test::process_cpu_time();
  TarSampleReader reader(file, {});
  TarSample sample;
  ASSERT_TRUE(reader.read(sample));
  EXPECT_EQ(sample.fields.size(), 60'000U);
  EXPECT_LT(test::process_cpu_time() - begin, std::chrono::seconds(3));
}

TEST_F(Tar, GroupsMembersAsWebDatasetDoes) {
  EXPECT_THAT(read_bytes(tar_of({{"./a/1.jpg", "J"},
                                 {"a/1.seg.PNG", "P"},
                                 {"a/2.jpg", ""},
                                 {"b.x/1", "no dot"},
                                 {"b.x/1.JPG", "big"}})),
              ElementsAre("a/1: jpg=J seg.png=P", "a/2: jpg=", "b.x/1: jpg=big"));
  EXPECT_TRUE(read_bytes(tar_end()).empty());
}

TEST_F(Tar, ExtensionsAreTheSameInAnyCase) {
  const std::string file = folder_.write(
      "t.tar", tar_of({{"1.PNG", "x"}, {"2.png", "y"}, {"3.png", "z"}, {"3.Png", ""}}));
  TarSampleReader reader(file);
  TarSample sample;
  for (const std::string content : {"x", "y"}) {
    ASSERT_TRUE(reader.read(sample));
    ASSERT_NE(sample.find("Png"), nullptr);
    EXPECT_EQ(sample.find("png")->bytes(), content);
    EXPECT_EQ(sample.find("pn"), nullptr);
  }
  EXPECT_EQ(error_of([&] { reader.read(sample); }).message(),
            "the member '3.Png' comes twice in one sample");
}

TEST_F(Tar, WhatIsNoFieldIsLeftOutAndListed) {
  const std::string file = folder_.write(
      "t.tar", tar_member("train/", "", '5') + tar_member("train/._0.png", "resource fork") +
                   tar_member("train/0.png", "P") + tar_member("train/._0.cls", "fork") +
                   tar_member("train/0.cls", "3") + tar_member("train/.DS_Store", "views") +
                   tar_member(".cache/0.png", "c") + tar_member("README", "text") +
                   tar_member("train/dot.", "") + tar_member("train/1.png", "Q") +
                   tar_member("train/pipe.png", "", '6') + tar_member("old/", "") + tar_end());
  TarSampleReader reader(file);
  TarSample sample;
  ASSERT_TRUE(reader.read(sample));
  EXPECT_EQ(sample.key, "train/0");
  EXPECT_EQ(sample.fields.size(), 2U);
  ASSERT_TRUE(reader.read(sample));
  EXPECT_EQ(sample.find("png")->bytes(), "Q");
  EXPECT_FALSE(reader.read(sample));
  const auto expect_omissions = [](const Omissions& left_out) {
    EXPECT_EQ(left_out[LeftOut::hidden].count, 4U);
    EXPECT_THAT(left_out[LeftOut::hidden].first,
                ElementsAre("train/._0.png", "train/._0.cls", "train/.DS_Store"));
    EXPECT_THAT(left_out[LeftOut::other_name].first, ElementsAre("README", "train/dot."));
    EXPECT_THAT(left_out[LeftOut::no_file].first, ElementsAre("train/pipe.png"));
  };
  expect_omissions(reader.left_out());
  const TarList list = list_tar(SeekableFile(file));
  expect_omissions(list.left_out);
  ASSERT_EQ(list.samples.size(), 2U);
  EXPECT_EQ(list.samples[0].members[1].name, "train/0.cls");
  EXPECT_EQ(skipped(file, {}), 2U);
}

TEST_F(Tar, MembersOfOneSampleThatStandApart) {
  const std::string said =
      "the member 'a.CLS' belongs to the sample 'a', whose member 'a.jpg' stands apart at offset "
      "512: each would be half a sample; pack the tar file anew in the order of names (GNU tar: "
      "--sort=name)";
  const std::string bytes =
      tar_of({{"a.jpg", "1"}, {"b.jpg", "2"}, {"a.CLS", "3"}, {"a.txt", "4"}, {"c.jpg", "5"}});
  EXPECT_THAT(read_bytes(bytes), ElementsAre("a: jpg=1", "b: jpg=2", "! " + said, "c: jpg=5"));
  const SeekableFile file(folder_.file("t.tar"));
  const Error error = error_of([&] { list_tar(file); });
  EXPECT_EQ(error.message(), said);
  EXPECT_EQ(error.offset(), 5 * 512U);
}

TEST_F(Tar, ArchivesOneBehindTheOther) {
  const std::string first = tar_of({{"0.a", "0"}, {"1.a", "1"}});
  // The keys of another archive are its own, as if it were another file.
  const std::string second = tar_of({{"1.b", "2"}, {"0.a", "3"}});
  const std::vector<std::string> all{"0: a=0", "1: a=1", "1: b=2", "0: a=3"};
  EXPECT_EQ(read_bytes(first + std::string(9216, '\0') + second), all);
  EXPECT_EQ(read_bytes(first + second + std::string(100, '\0')), all);
  EXPECT_EQ(list_tar(SeekableFile(folder_.file("t.tar"))).samples.size(), 4U);
  for (const std::string& rest : {std::string("\n"), std::string(600, 'x')}) {
    const std::vector<std::string> texts = read_bytes(first + rest);
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_THAT(texts[2], HasSubstr("behind the tar file's end stand bytes that are no tar file"));
    const SeekableFile file(folder_.file("t.tar"));
    EXPECT_EQ(error_of([&] { list_tar(file); }).offset(), first.size());
  }
}

TEST_F(Tar, LinksAreRefusedWithTheirTarget) {
  const std::string target = std::string(150, 't') + ".txt";
  EXPECT_THAT(
      read_bytes(tar_member("0.txt", "text") + tar_member("1.txt", "", '2', "0.txt") +
                 tar_member("1.cls", "1") + tar_pax({{"linkpath", target}}) +
                 tar_member("2.txt", "", '1', "cut") + tar_member("L", target + "2", 'K') +
                 tar_member("3.txt", "", '2', "cut") + tar_member("latest", "", '2', "0.txt") +
                 tar_member("4.txt", "last") + tar_end()),
      ElementsAre("0: txt=text",
                  "! the member '1.txt' is a link to '0.txt', without content of its own; pack the "
                  "tar file anew with the files that links lead to (GNU tar: --dereference "
                  "--hard-dereference)",
                  HasSubstr("'2.txt' is a link to '" + target + "',"),
                  HasSubstr("'3.txt' is a link to '" + target + "2',"), "4: txt=last"));
  const SeekableFile file(folder_.file("t.tar"));
  EXPECT_THAT(error_of([&] { list_tar(file); }).message(), HasSubstr("'1.txt' is a link"));
}

TEST_F(Tar, SparseMembersAreRefusedInEachForm) {
  const std::vector<std::pair<std::string, std::string>> forms[] = {
      {{"GNU.sparse.size", "9"}, {"GNU.sparse.numblocks", "1"}, {"GNU.sparse.offset", "0"}},
      {{"GNU.sparse.name", "1.bin"}, {"GNU.sparse.map", "0,1"}},
      {{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", "1.bin"}},
      {{"SUN.holesdata", " 0 9"}}};
  for (const auto& form : forms) {
    const std::string header =
        form.size() == 3 && form[0].second == "1" ? "GNUSparseFile.7/1.bin" : "1.bin";
    EXPECT_THAT(read_bytes(tar_of({{"0.bin", "0"}}).substr(0, 1024) + tar_pax(form) +
                           tar_member(header, "x") + tar_end()),
                ElementsAre(HasSubstr("the member '1.bin' is sparse: its holes are left out")));
  }
}

TEST_F(Tar, NamesAreSplitAtTheFirstDotOfTheirLastPart) {
  const auto split = [](std::string_view name) {
    const TarName parts = split_tar_name(name);
    return fmt::format("{}|{}", parts.key, parts.extension);
  };
  EXPECT_EQ(split("a/b.c.D"), "a/b|c.d");
  EXPECT_EQ(split("a.b/c"), "a.b/c|");
  EXPECT_EQ(split("a.b/c."), "a.b/c|");
  EXPECT_EQ(split("a/.b"), "a/|b");
  EXPECT_EQ(split(""), "|");
  EXPECT_EQ(split("x.@AZ[`az{"), "x|@az[`az{");
}

TEST_F(Tar, PartsOfAPathMayLeadUpwards) {
  EXPECT_THAT(read_bytes(tar_of({{"a/../b.txt", "1"}, {"./c/./d.txt", "2"}, {"a/.e/f.txt", "3"}})),
              ElementsAre("a/../b: txt=1", "c/./d: txt=2"));
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
  EXPECT_EQ(sample.find("bb"), nullptr);
  EXPECT_EQ(sample.find(""), nullptr);
  EXPECT_EQ(sample.find("a")->number(), 0U);
  EXPECT_FALSE(reader.skip());
}

TEST_F(Tar, LongNamesAndFolders) {
  const std::string long_name = std::string(150, 'n') + ".txt";
  const std::string bytes = tar_member("folder/", "", '5') +
                            tar_member("././@LongLink", long_name + std::string(1, '\0'), 'L') +
                            tar_member("n", "gnu") + tar_pax({{"path", long_name + "2"}}) +
                            tar_member("n", "pax") + tar_member("1.a", "last") + tar_end();
  const std::string key(150, 'n');
  EXPECT_THAT(read_bytes(bytes), ElementsAre(key + ": txt=gnu txt2=pax", "1: a=last"));
  const SeekableFile file(folder_.write("t.tar", bytes));
  std::vector<std::string> names;
  for (const TarSampleMembers& sample : list_tar(file).samples) {
    for (const TarMember& member : sample.members) names.push_back(member.name);
  }
  EXPECT_THAT(names, ElementsAre(long_name, long_name + "2", "1.a"));
}

TEST_F(Tar, WhatCostsOneSample) {
  EXPECT_THAT(read_bytes(tar_of({{"1.a", "x"}, {"1.a", "y"}, {"1.b", "z"}, {"2.a", "fine"}})),
              ElementsAre("! the member '1.a' comes twice in one sample", "2: a=fine"));
  EXPECT_THAT(
      read_bytes(tar_of({{"1.a", "1234"}, {"2.a", "123"}}), {.member_bytes_max = 3}),
      ElementsAre("! the member '1.a' has 4 bytes, more than 3; member_bytes_max is the limit",
                  "2: a=123"));
  const Error error = error_of([&] {
    TarSample sample;
    TarSampleReader(folder_.file("t.tar"), {.member_bytes_max = 3}).read(sample);
  });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.offset(), 512U);
  EXPECT_EQ(error.file(), folder_.file("t.tar"));
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
  EXPECT_THAT(read_bytes(whole.substr(0, 512 + 600)),
              ElementsAre(HasSubstr("ends without its end mark")))
      << "the last block isn't filled up";
  EXPECT_THAT(read_bytes(whole.substr(0, 512 + 599)),
              ElementsAre("! the tar file is cut: a member of 600 bytes begins here, and 599 are "
                          "left"));
  const std::string text_cut = tar_pax({{"path", "long"}}).substr(0, 512 + 5);
  EXPECT_THAT(
      read_bytes(text_cut),
      ElementsAre("! the tar file is cut: a member of 13 bytes begins here, and 5 are left"));
  std::string damaged = whole;
  damaged[512 + 1024 + 3] ^= 1;
  EXPECT_THAT(read_bytes(damaged), ElementsAre(HasSubstr("its checksum does not match")))
      << "more of the sample may have stood there";
  EXPECT_THAT(read_bytes(tar_member("s", "x", 'S') + tar_end()),
              ElementsAre(HasSubstr("the member 's' is sparse")));
  EXPECT_THAT(read_bytes(tar_member("pax", "9 path:x\n", 'x') + tar_member("1.a", "") + tar_end()),
              ElementsAre(HasSubstr("a pax header is damaged")));
  EXPECT_THAT(read_bytes(tar_member("1.a", "x", 'M') + tar_end()),
              ElementsAre(HasSubstr("the member '1.a' goes on from another volume")));
  const std::string file = folder_.write("t.tar", whole.substr(0, 700));
  const Error error = error_of([&] { list_tar(SeekableFile(file)); });
  EXPECT_EQ(error.message(),
            "the tar file is cut: a member of 600 bytes begins here, and 188 are left");
  EXPECT_EQ(error.file(), file);
}

}  // namespace
}  // namespace infeed::test
