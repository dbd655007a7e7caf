#include <limits>
#include <nlohmann/json.hpp>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"
#include "tools/convert/inputs/npy_bytes.h"
#include "tools/folder_content.h"

/// Types, shapes and headers of NumPy's .npy files.
namespace infeed::test {
namespace {

class NpyInput : public ConversionTest {};

/// They became integers that no column of bools takes.
TEST_F(NpyInput, ABoolIsNoOtherNumber) {
  expect_failure({write("b.npy", npy("|b1", "(4,)", std::string("\1\0\7\1", 4)))},
                 {"a bool of row 2 has the byte 7", "damaged"});
}

TEST_F(NpyInput, HalvesAndBigEndianNumbers) {
  // 1, -2, the smallest half, infinity
  const std::string halves =
      write("h.npy", npy("<f2", "(2, 2)", std::string("\x00\x3c\x00\xc0\x01\x00\x00\x7c", 8)));
  const std::string shorts = write("i.npy", npy(">i2", "(2,)", std::string("\x01\x02\xff\xfe", 4)));
  const std::string doubles =
      write("d.npy", npy(">f8", "(2,)", std::string("\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16)));
  const ProgramResult result = convert({halves, shorts, doubles});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("array 'h': float16 is widened to float32"),
                                HasSubstr("array 'd': float64 is narrowed to float32")));
  EXPECT_THAT(examples(),
              ElementsAre("d=[1f] h=[1f, -2f] i=[258]", "d=[-2f] h=[5.96046e-08f, inff] i=[-2]"));
}

TEST_F(NpyInput, NumbersBeyondFloat32AreRefusedAsOfText) {
  std::string doubles;
  for (const double value : {0.5, 1e39, -1e300, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    doubles.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  const std::string file = write("big.npy", npy("<f8", "(5,)", doubles));
  expect_failure({file}, {"array 'big': row 1 has 1e+39, which is beyond float32 (3.4e38)",
                          "big.npy", "--quarantine-max"});
  ASSERT_EQ(convert({file, "--quarantine-max", "2"}).status, 0);
  EXPECT_THAT(examples(), ElementsAre("big=[0.5f]", "big=[inff]", "big=[nanf]"));
}

TEST_F(NpyInput, LabelsInAColumnOfTheirOwnAreNumbers) {
  const std::string labels = write("label.npy", npy("|u1", "(3, 1)", std::string("\3\0\377", 3)));
  const std::string pixels = write("image.npy", npy("|u1", "(3, 1, 2)", "aabbcc"));
  ASSERT_EQ(convert({labels, pixels}).status, 0);
  EXPECT_THAT(examples(), ElementsAre("image=['aa'] label=[3]", "image=['bb'] label=[0]",
                                      "image=['cc'] label=[255]"));
}

TEST_F(NpyInput, ShapesAreKeptInTheManifest) {
  const std::string images = write("image.npy", npy("|u1", "(4, 3, 2, 1)", std::string(24, 'p')));
  const std::string labels = write("label.npy", npy("|u1", "(4,)", "abcd"));
  ASSERT_EQ(convert({images, labels, "--rename", "image=pixels"}).status, 0);
  const auto manifest = nlohmann::json::parse(read_whole(folder_.file("out/data.manifest.json")));
  EXPECT_EQ(manifest.at("columns").at(1).at("name"), "pixels");
  EXPECT_EQ(manifest.at("columns").at(1).at("shape"), nlohmann::json({3, 2, 1}));
  EXPECT_FALSE(manifest.at("columns").at(0).contains("shape")) << "a single value has none";
  EXPECT_THAT(run_infeed({"inspect", folder_.file("out")}).out, HasSubstr("; shape 3x2x1"));
}

TEST_F(NpyInput, HeadersThatAreDamagedAreNamed) {
  const std::string whole = npy("<i2", "(2,)", "abcd");
  const auto without = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return write("x.npy", text.replace(text.find(from), from.size(), to));
  };
  expect_failure({without("'descr'", "'de\1cr'")}, {"array 'x'", "no 'descr'", "{'de\\x01cr'"});
  expect_failure({without("'<i2'", "'<i2 ")}, {"'<i2 , '"});
  expect_failure({without("'<i2'", "<i2  ")}, {"no whole type of the elements"});
  expect_failure({without("(2,)", "(2, ")}, {"no whole shape", "damaged"});
  expect_failure({without("'<i2'", "[('a', '<i2')]")}, {"structured array", "savez"});
  expect_failure({write("x.npy", whole.substr(0, 60))}, {"ends behind the 60 bytes", "is cut"});
}

}  // namespace
}  // namespace infeed::test
