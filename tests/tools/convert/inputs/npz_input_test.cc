#include <filesystem>
#include <fmt/format.h>
#include <random>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"
#include "tools/convert/inputs/npy_bytes.h"
#include "tools/folder_content.h"

/// NumPy's .npz files, written by Python's zipfile as NumPy writes them.
namespace infeed::test {
namespace {

class NpzInput : public ConversionTest {
 protected:
  void SetUp() override {
    write("x.npy", npy("<i4", "(3,)", std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12)));
    write("image.npy", npy("|u1", "(3, 2)", "aabbcc"));
    write("test.npy", npy("<i2", "(1,)", std::string("\1\0", 2)));
  }
  /// Writes like numpy.savez: each member with a ZIP64 local header.
  std::string zip(const std::string& method, const std::string& members) const {
    const std::string script = fmt::format(
        "import zipfile\n"
        "with zipfile.ZipFile('d.npz', 'w', zipfile.ZIP_{}, True) as z:\n"
        "  for name in '{}'.split():\n"
        "    with z.open(name, 'w', force_zip64=True) as out: out.write(open(name, 'rb').read())\n",
        method, members);
    write("zip.py", script);
    shell("python3 zip.py");
    return folder_.file("d.npz");
  }
  /// Returns the words that convert the archive.
  std::vector<std::string> archive(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), folder_.file("d.npz"));
    return more;
  }
  std::vector<std::string> converted(const std::vector<std::string>& more = {}) const {
    return ConversionTest::converted(archive(more));
  }
  void expect_failure(std::vector<std::string> texts,
                      const std::vector<std::string>& more = {}) const {
    texts.push_back(folder_.file("d.npz"));
    ConversionTest::expect_failure(archive(more), texts);
  }
};

TEST_F(NpzInput, StoredAndDeflatedMembersAreColumns) {
  for (const char* const method : {"STORED", "DEFLATED"}) {
    zip(method, "x.npy image.npy");
    EXPECT_THAT(converted(),
                ElementsAre("image=['aa'] x=[1]", "image=['bb'] x=[2]", "image=['cc'] x=[3]"))
        << method;
  }
}

TEST_F(NpzInput, LargeDeflatedMember) {
  std::string numbers;
  for (int i = 0; i < 500'000; ++i) numbers += std::string("\7\0\0", 3) + static_cast<char>(i % 5);
  write("x.npy", npy("<i4", "(500000,)", numbers));
  zip("DEFLATED", "x.npy");
  const auto texts = converted();
  ASSERT_EQ(texts.size(), 500'000);
  EXPECT_EQ(texts[499'998], "x=[50331655]");
}

TEST_F(NpzInput, ColumnsThatBelongTogetherAreChosen) {
  zip("STORED", "x.npy test.npy image.npy");
  expect_failure({"array 'test' has 1 rows, but 'x' has 3", "--columns"});
  EXPECT_THAT(converted({"--columns", "test", "--rename", "test=y"}), ElementsAre("y=[1]"));
  EXPECT_THAT(converted({"--columns", "x"}), ElementsAre("x=[1]", "x=[2]", "x=[3]"));
  expect_failure({"there is no array 'z'"}, {"--columns", "z"});
}

/// Each compressed member has an open file; 20,000 took all descriptors.
TEST_F(NpzInput, HasSoManyArrays) {
  std::string members = "x0.npy";
  for (int i = 0; i <= 900; ++i) {
    const std::string name = fmt::format("x{}.npy", i);
    std::filesystem::copy_file(folder_.file("x.npy"), folder_.file(name));
    if (i > 0) members += " " + name;
  }
  zip("DEFLATED", members);
  expect_failure({"there are more than 900 arrays, which is the limit", "--columns"});
  EXPECT_THAT(converted({"--columns", "x900"}), ElementsAre("x900=[1]", "x900=[2]", "x900=[3]"));
}

TEST_F(NpzInput, WhatIsNoNpzFile) {
  write("d.npz", "PK no zip");
  expect_failure({"no zip file, or it is cut"});
  write("d.npz", "");
  expect_failure({"no zip file, or it is cut"});
  zip("BZIP2", "x.npy");
  expect_failure({"member 'x.npy' is compressed by method 12", "savez"});
  write("notes.txt", "hello");
  zip("STORED", "notes.txt");
  expect_failure({"its member 'notes.txt' is no array"});
  zip("STORED", "");
  expect_failure({"no arrays"});
  write("x.npy", "no array");
  zip("DEFLATED", "x.npy");
  expect_failure({"array 'x'", "no NPY file"});
  const std::string whole = read_whole(folder_.file("d.npz"));
  write("d.npz", whole.substr(0, whole.size() - 1));
  expect_failure({"no zip file, or it is cut"});
}

TEST_F(NpzInput, EveryChangeOfAnArrayIsFound) {
  for (const char* const method : {"STORED", "DEFLATED"}) {
    const std::string whole = read_whole(zip(method, "x.npy"));
    const std::size_t array_begin = 30 + 5 + 20;  // local header, name, ZIP64 field
    const std::size_t array_end = whole.rfind("PK\1\2");
    std::mt19937 random(3);
    for (int i = 0; i < 25; ++i) {
      std::string damaged = whole;
      const std::size_t at = array_begin + random() % (array_end - array_begin);
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      write("d.npz", damaged);
      const ProgramResult result = convert(archive());
      EXPECT_EQ(result.status, 1) << method << " " << at;
      EXPECT_THAT(result.err, HasSubstr("is damaged")) << method << " " << at;
    }
    // Anywhere else the byte may be a time or a comment; the program ends in order.
    for (int i = 0; i < 50; ++i) {
      std::string damaged = whole;
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      write("d.npz", damaged.substr(0, damaged.size() - random() % 3));
      EXPECT_LE(convert(archive()).status, 1);
    }
  }
}

TEST_F(NpzInput, WhatTheDirectoryClaimsIsNotBelieved) {
  const std::string long_text = npy("|S1", "(100000,)", std::string(100'000, 'a'));
  write("x.npy", long_text);
  const std::string whole = read_whole(zip("DEFLATED", "x.npy"));
  const std::size_t entry = whole.rfind("PK\1\2");
  const auto claim = [&](std::size_t at, const std::string& bytes) {
    std::string lying = whole;
    write("d.npz", lying.replace(entry + at, bytes.size(), bytes));
  };
  claim(24, std::string("\1\0\0\0", 4));
  expect_failure({"member 'x.npy' of 1 bytes is damaged", "goes on behind them"});
  claim(24, std::string("\xf0\xff\xff\xff", 4));
  expect_failure({"member 'x.npy' of 4294967280 bytes is damaged", "can't become as many"});
  claim(24, std::string("\xf0\x49\2\0", 4));
  expect_failure({"member 'x.npy' of 150000 bytes is damaged",
                  fmt::format("ends after {}", long_text.size())});
  claim(16, "what");
  expect_failure({"member 'x.npy'", "is damaged", "CRC"});
  claim(8, "\1");
  expect_failure({"member 'x.npy' is encrypted", "savez"});
}

}  // namespace
}  // namespace infeed::test
