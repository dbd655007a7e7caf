#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include <infeed/records/idx.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using namespace std::string_literals;

const std::string kTwoByThree = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcdef";

TEST(Idx, reads_plain_and_compressed) {
  const TemporaryFolder folder;
  for (const std::string& bytes : {kTwoByThree, test::gzip(kTwoByThree), test::zlib(kTwoByThree)}) {
    const IdxArray array =
        read_idx(folder.write("x", bytes), {.type = IdxType::uint8, .rank = 2, .rows = 2});
    EXPECT_THAT(array.shape, ElementsAre(2, 3));
    EXPECT_EQ(array.rows(), 2U);
    EXPECT_THAT(array.row(1), ElementsAre('d', 'e', 'f'));
  }
}

TEST(Idx, wide_elements_come_in_native_order) {
  const TemporaryFolder folder;
  const IdxArray array =
      read_idx(folder.write("x", "\0\0\x0c\x01\0\0\0\x02\0\0\0\x01\xff\xff\xff\xfe"s));
  std::array<std::int32_t, 2> values{};
  ASSERT_EQ(array.bytes.size(), sizeof(values));
  std::memcpy(values.data(), array.bytes.data(), sizeof(values));
  EXPECT_THAT(values, ElementsAre(1, -2));
}

TEST(Idx, elements_of_every_type) {
  const TemporaryFolder folder;
  const std::string element = "\1\2\3\4\5\6\7\x08";
  for (const auto& [type, name, bytes] : std::vector<std::tuple<IdxType, std::string, std::size_t>>{
           {IdxType::uint8, "uint8", 1},
           {IdxType::int8, "int8", 1},
           {IdxType::int16, "int16", 2},
           {IdxType::int32, "int32", 4},
           {IdxType::float32, "float32", 4},
           {IdxType::float64, "float64", 8}}) {
    EXPECT_EQ(to_string(type), name);
    EXPECT_EQ(size_bytes(type), bytes) << name;
    std::string file = "\0\0?\x01\0\0\0\x02"s;
    file[2] = static_cast<char>(type);
    std::string stored = element.substr(0, bytes);
    const IdxArray array = read_idx(folder.write("x", file + stored + stored));
    EXPECT_EQ(array.type, type) << name;
    std::reverse(stored.begin(), stored.end());  // to little-endian
    EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), stored + stored) << name;
  }
  for (const char type : {'\x07', '\x0a', '\x0f'}) {
    std::string file = "\0\0?\x01\0\0\0\0"s;
    file[2] = type;
    EXPECT_THAT(error_of([&] { read_idx(folder.write("x", file)); }).message(),
                HasSubstr("this is no IDX file"));
  }
}

TEST(Idx, an_array_without_dimensions_has_one_element) {
  const TemporaryFolder folder;
  const IdxArray array = read_idx(folder.write("x", "\0\0\x08\0a"s));
  EXPECT_THAT(array.shape, IsEmpty());
  EXPECT_THAT(array.row(0), ElementsAre('a'));
}

TEST(Idx, an_array_without_rows) {
  const TemporaryFolder folder;
  const IdxArray array = read_idx(folder.write("x", "\0\0\x08\x02\0\0\0\0\xff\xff\xff\xff"s));
  EXPECT_EQ(array.rows(), 0U);
  EXPECT_EQ(array.row_bytes(), 0U);
}

TEST(Idx, errors_name_the_file_and_say_what_was_expected) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& bytes, IdxExpectation expected = {}) {
    const auto file = folder.write("x", bytes);
    const Error error = error_of([&] { read_idx(file, expected); });
    EXPECT_EQ(error.file(), file);
    return error.message();
  };
  EXPECT_EQ(message("\x89PNG and so on"),
            "this is no IDX file: it begins with '89 50 4e 47', but 00 00, a type (08, 09, 0b to "
            "0e) and the number of dimensions are expected");
  EXPECT_THAT(message(""), HasSubstr("this is no IDX file: it begins with '', but"));
  EXPECT_THAT(message("\0\0\x08"s), HasSubstr("it begins with '00 00 08', but"));
  EXPECT_THAT(message("\0\1\x08\1"s), HasSubstr("it begins with '00 01 08 01', but"));
  EXPECT_THAT(message(kTwoByThree.substr(0, 10)), HasSubstr("cut inside its 2 dimensions"));
  for (std::size_t size = 12; size < kTwoByThree.size(); ++size) {
    EXPECT_THAT(message(kTwoByThree.substr(0, size)),
                HasSubstr(std::to_string(size - 12) + " of the 6 bytes of an array [2, 3]"));
  }
  EXPECT_EQ(message(kTwoByThree + "g"), "there are bytes behind the 6 bytes of the array [2, 3]");
  EXPECT_THAT(message(kTwoByThree, {.type = IdxType::float32}),
              HasSubstr("the elements are uint8, but float32 is expected"));
  EXPECT_THAT(message(kTwoByThree, {.rank = 3}),
              HasSubstr("has 2 dimensions [2, 3], but 3 are expected"));
  EXPECT_THAT(message(kTwoByThree, {.rows = 60'000}),
              HasSubstr("has 2 rows, but 60000 are expected"));
  const std::string compressed = test::gzip(kTwoByThree);
  EXPECT_THAT(message(compressed.substr(0, compressed.size() - 3)),
              HasSubstr("the file ends inside it"));
  // A header that claims 2^128 bytes allocates no more than the bytes that come.
  EXPECT_THAT(message("\0\0\x08\x04"s + std::string(16, '\xff') + "abc"),
              HasSubstr("the file is cut: 3 of the"));
  EXPECT_EQ(error_of([&] { read_idx(folder.file("nothing")); }).code(), ErrorCode::not_found);
}

TEST(Idx, fashion_mnist) {
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  ASSERT_TRUE(std::filesystem::exists(folder)) << "install the package dataset-fashion-mnist";
  const IdxArray images = read_idx(folder + "train-images-idx3-ubyte.gz",
                                   {.type = IdxType::uint8, .rank = 3, .rows = 60'000});
  EXPECT_EQ(images.row_bytes(), 784U);
  const IdxArray labels = read_idx(folder + "train-labels-idx1-ubyte.gz",
                                   {.type = IdxType::uint8, .rank = 1, .rows = images.rows()});
  EXPECT_EQ(labels.bytes[0], 9);  // an ankle boot
}

}  // namespace
}  // namespace infeed
