#include "infeed/records/npy.h"

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "records/arrays/npy_bytes.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class Npy : public ::testing::Test {
 protected:
  NpyArray open(const std::string& bytes) const {
    return open_npy(folder_.write("x.npy", bytes), "x");
  }
  std::string refusal(const std::string& bytes) const {
    const Error error = error_of([&] { open(bytes); });
    EXPECT_THAT(error.message(), HasSubstr("array 'x': "));
    EXPECT_EQ(error.file(), folder_.file("x.npy"));
    return error.message();
  }
  std::string refusal_of_shape(const std::string& shape, const std::string& type = "<i4") const {
    return refusal(npy_of(type, shape, ""));
  }
  template <class T>
  static std::vector<T> values(const NpyArray& array, std::int64_t first, std::int64_t rows,
                               ArrayMemory memory = ArrayMemory::mapped) {
    const Column column = array.read(first, rows, memory);
    const auto values = column.values<T>();
    return {values.begin(), values.end()};
  }
  template <class T>
  void expect_read_back(const std::string& type, const std::vector<T>& numbers) const {
    const NpyArray array =
        open(npy_of(type, fmt::format("({},)", numbers.size()), bytes_of(numbers)));
    EXPECT_EQ(array.layout().dtype, dtype_of<T>()) << type;
    for (const ArrayMemory memory : {ArrayMemory::mapped, ArrayMemory::copied}) {
      EXPECT_EQ(values<T>(array, 1, 2, memory), (std::vector<T>{numbers[1], numbers[2]})) << type;
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(Npy, EveryType) {
  expect_read_back<std::int8_t>("|i1", {1, -2, 3});
  expect_read_back<std::int16_t>("<i2", {1, -2, 300});
  expect_read_back<std::int32_t>("<i4", {1, -2, 1 << 30});
  expect_read_back<std::int64_t>("<i8", {1, -2, std::int64_t{1} << 60});
  expect_read_back<std::uint8_t>("|u1", {1, 2, 255});
  expect_read_back<std::uint16_t>("=u2", {1, 2, 65535});
  expect_read_back<std::uint32_t>("<u4", {1, 2, ~0U});
  expect_read_back<std::uint64_t>("<u8", {1, 2, ~std::uint64_t{0}});
  expect_read_back<float>("<f4", {1, -2, 0.5F});
  expect_read_back<double>("<f8", {1, -2, 0.5});
  expect_read_back<float16>("<f2", {float16(1), float16(-2), float16(0.5F)});
  expect_read_back<bfloat16>("<V2", {bfloat16(1), bfloat16(-2), bfloat16(0.5F)});
  const Column flags = open(npy_of("|b1", "(3,)", std::string("\1\0\1", 3))).read(0, 3);
  EXPECT_THAT(flags.values<bool>(), ElementsAre(true, false, true));
}

TEST_F(Npy, BigEndianOnesAreTurned) {
  const NpyArray array =
      open(npy_of(">i4", "(2, 2)", std::string("\0\0\0\1\0\0\1\0\0\1\0\0\1\0\0\0", 16)));
  EXPECT_EQ(values<std::int32_t>(array, 1, 1), (std::vector<std::int32_t>{1 << 16, 1 << 24}));
  EXPECT_EQ(values<std::int32_t>(array, 0, 1), (std::vector<std::int32_t>{1, 256}));
  const std::string bytes("\0\1\2\0\0\0\0\3\0\0\0\0\0\0\4\0", 16);
  EXPECT_EQ(values<std::int16_t>(open(npy_of(">i2", "(8,)", bytes)), 0, 4),
            (std::vector<std::int16_t>{1, 512, 0, 3}));
  EXPECT_EQ(values<std::int64_t>(open(npy_of(">i8", "(2,)", bytes)), 1, 1),
            (std::vector<std::int64_t>{1024}));
}

TEST_F(Npy, TextsWithoutWhatFillsThemUp) {
  const std::string bytes("one\0ab\0\0\0\0\0\0four", 16);
  const NpyArray array = open(npy_of("|S4", "(4,)", bytes));
  const Column column = array.read(1, 3);
  EXPECT_EQ(column.kind(), Column::Kind::bytes);
  EXPECT_EQ(column.bytes(0), "ab");
  EXPECT_EQ(column.bytes(1), "");
  EXPECT_EQ(column.bytes(2), "four");
  const Column pairs = open(npy_of("|S4", "(2, 2)", bytes)).read(1, 1);
  EXPECT_EQ(pairs.kind(), Column::Kind::ragged_bytes);
  EXPECT_THAT(pairs.row_splits(), ElementsAre(0, 2));
  EXPECT_EQ(pairs.bytes(1), "four");
}

TEST_F(Npy, MappedRowsAreNotCopied) {
  const NpyArray array = open(npy_of("<i4", "(3, 2)", bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(array.read(1, 1).values().data(), array.read(0, 3).values().data() + 8);
  EXPECT_NE(array.read(1, 1, ArrayMemory::copied).values().data(),
            array.read(1, 1).values().data());
  const NpyArray flat = open(npy_of("<i4", "(3,)", bytes_of<std::int32_t>({1, 2, 3})));
  EXPECT_EQ(flat.read(1, 1).values().data(), flat.read(0, 3).values().data() + 4);
  Column kept;
  {
    const NpyArray shut = array;
    kept = shut.read(2, 1);
  }
  EXPECT_THAT(kept.values<std::int32_t>(), ElementsAre(5, 6));
  EXPECT_EQ(kept.row_shape(), Shape({2}));
  EXPECT_EQ(error_of([&] { array.read(2, 2); }).code(), ErrorCode::invalid_argument);
}

TEST_F(Npy, RowsThatAreNotThereTakeNoMemory) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::string type : {"|S4", "<i4", ">i4"}) {
    const NpyArray array = open(npy_of(type, "(4,)", std::string(16, 'x')));
    for (const auto& [first, rows] : {std::pair<std::int64_t, std::int64_t>{0, -1},
                                      {-1, 1},
                                      {3, 2},
                                      {4, 1},
                                      {0, kMost},
                                      {kMost, 1},
                                      {kMost, kMost}}) {
      const Error error = error_of([&, first = first, rows = rows] { array.read(first, rows); });
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(error.message(), fmt::format("array '{}' has 4 rows; {} rows from row {} on can't "
                                             "be read",
                                             array.name(), rows, first));
      EXPECT_EQ(error.file(), array.file());
    }
    EXPECT_EQ(array.read(4, 0).rows(), 0);
    EXPECT_EQ(array.read(0, 4).rows(), 4);
    std::string room(8, ' ');
    array.read_bytes(2, 2, room);
    EXPECT_EQ(room, "xxxxxxxx");
    EXPECT_EQ(
        error_of([&] { array.read_bytes(1, 3, room); }).message(),
        fmt::format("array '{}' has 12 bytes in 3 rows, which can't be read into 8", array.name()));
  }
}

TEST_F(Npy, ShapesThatNoMemoryHolds) {
  const char* const kTooMany = "a shape of more elements than any memory holds";
  for (const char* const shape :
       {"(18446744073709551615, 0)", "(9223372036854775808, 4)", "(18446744073709551616,)",
        "(4611686018427387904, 4)", "(0, 4611686018427387904, 4)", "(4294967296, 4294967296)"}) {
    EXPECT_THAT(refusal_of_shape(shape), HasSubstr(kTooMany)) << shape;
  }
  EXPECT_THAT(refusal_of_shape("(1000000000, 1000000)"),
              HasSubstr("don't make the 0 bytes behind"));
  EXPECT_EQ(open(npy_of("<i4", "(0, 3)", "")).layout().rows, 0);
  EXPECT_EQ(open(npy_of("<i4", "(7, 0)", "")).read(2, 3).row_shape(), Shape({0}));
  EXPECT_EQ(open(npy_of("<i4", "(2L,)", "abcdefgh")).layout().rows, 2) << "as Python 2 wrote it";
  EXPECT_THAT(refusal_of_shape("(9223372036854775807, 0)", "|u1"),
              HasSubstr("9223372036854775807 rows without values, of which 16777216 can be read"));
  EXPECT_THAT(refusal_of_shape("(1152921504606846976, 3, 0)", "|b1"), HasSubstr("without values"));
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1, ";
  EXPECT_THAT(refusal_of_shape(deep + ")"), HasSubstr("no whole shape"));
  EXPECT_THAT(refusal_of_shape("()"), HasSubstr("it is a single value"));
  EXPECT_THAT(refusal_of_shape("(-1,)"), HasSubstr("no whole shape"));
}

TEST_F(Npy, FortranOrderIsRefusedWhereItMatters) {
  const auto header = [](const std::string& shape) {
    return fmt::format("{{'descr': '<i2', 'fortran_order': True, 'shape': {}, }}", shape);
  };
  EXPECT_THAT(refusal(npy_with_header(header("(2, 2)"), "abcdefgh")),
              HasSubstr("column by column (fortran_order); save numpy.ascontiguousarray"));
  EXPECT_THAT(refusal(npy_with_header(header("(1, 2, 2)"), "abcdefgh")), HasSubstr("ascontiguous"));
  EXPECT_EQ(open(npy_with_header(header("(4,)"), "abcdefgh")).layout().rows, 4);
  EXPECT_EQ(open(npy_with_header(header("(4, 1)"), "abcdefgh")).layout().rows, 4);
}

TEST_F(Npy, WhatIsWrongIsSaid) {
  EXPECT_THAT(refusal("PK, or anything"), HasSubstr("it doesn't begin with \\x93NUMPY"));
  EXPECT_THAT(refusal(""), HasSubstr("it doesn't begin with"));
  EXPECT_THAT(
      refusal(npy_of("<c8", "(1,)", "abcdefgh")),
      HasSubstr("elements of type '<c8' can't be read; save array.astype(...) of one of b1"));
  EXPECT_THAT(refusal(npy_of("S0", "(1,)", "")), HasSubstr("'S0'"));
  EXPECT_THAT(refusal(npy_of("<i2", "(2,)", "abc")),
              HasSubstr("2 rows of 1 values of 2 bytes don't make the 3 bytes"));
  EXPECT_THAT(refusal(npy_with_header("{'descr': '<i2'}", "")), HasSubstr("no 'fortran_order'"));
  EXPECT_THAT(refusal(npy_with_header("'descr'", "")), HasSubstr("no '{'"));
  EXPECT_THAT(refusal(npy_of("<i2", "(2,)", "abcd").substr(0, 60)),
              HasSubstr("ends behind the 60 bytes"));
  const NpyArray flags = open(npy_of("|b1", "(2, 2)", std::string("\1\0\7\1", 4)));
  EXPECT_EQ(values<bool>(flags, 0, 1), (std::vector<bool>{true, false}));
  for (const ArrayMemory memory : {ArrayMemory::mapped, ArrayMemory::copied}) {
    for (const std::int64_t first : {0, 1}) {
      const Error error = error_of([&] { flags.read(first, 2 - first, memory); });
      EXPECT_EQ(error.message(),
                "array 'x': a bool of row 1 has the byte 7, but 0 or 1 is expected; the file is "
                "damaged");
      EXPECT_EQ(error.record(), 1);
    }
  }
}

TEST_F(Npy, LongHeaders) {
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  // Around what is read of a usual file, and more than 16 bits can say.
  for (const std::size_t size : {4084, 4085, 4100, 65'636, 100'000}) {
    header.resize(size, ' ');
    const std::string bytes =
        std::string("\x93NUMPY\2\0", 8) + little_number(size, 4) + header + "abcd";
    EXPECT_EQ(open(bytes).layout().data_begin, size + 12);
  }
  EXPECT_THAT(refusal(std::string("\x93NUMPY\2\0", 8) + little_number(0xFFFFFFFF, 4) + header),
              HasSubstr("its header of 4294967295 bytes"));
}

class Npz : public Npy {
 protected:
  std::string write(bool is_deflated, bool has_zip64 = false) const {
    return folder_.write("d.npz", zip_of({{"x.npy", npy_of("<i4", "(2,)", bytes_of<int>({7, 8}))},
                                          {"y.npy", npy_of("|u1", "(2, 3)", "abcdef")}},
                                         is_deflated, has_zip64));
  }
};

TEST_F(Npz, StoredDeflatedAndZip64) {
  for (const bool is_deflated : {false, true}) {
    for (const bool has_zip64 : {false, true}) {
      const std::string file = write(is_deflated, has_zip64);
      const auto arrays = open_npz(file);
      ASSERT_EQ(arrays.size(), 2);
      EXPECT_EQ(arrays[0].name(), "x");
      EXPECT_EQ(values<std::int32_t>(arrays[0], 0, 2), (std::vector<std::int32_t>{7, 8}));
      EXPECT_EQ(values<std::uint8_t>(arrays[1], 1, 1), (std::vector<std::uint8_t>{'d', 'e', 'f'}));
      const auto layouts = read_npz_layouts(file, {.arrays = {"y", "x"}});
      ASSERT_EQ(layouts.size(), 2);
      EXPECT_EQ(layouts[0].first, "y");
      EXPECT_EQ(layouts[0].second.row_shape, Shape({3}));
    }
  }
}

TEST_F(Npz, ChoosesArrays) {
  const std::string file = write(false);
  const auto arrays = open_npz(file, {.arrays = {"y"}});
  ASSERT_EQ(arrays.size(), 1);
  const Error error = error_of([&] { open_npz(file, {.arrays = {"z"}}); });
  EXPECT_THAT(error.message(), HasSubstr("there is no array 'z' in it; there are x, y"));
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
}

/// Each compressed member would hold a descriptor.
TEST_F(Npz, ManyArraysAreNotOpenedAtOnce) {
  std::vector<std::pair<std::string, std::string>> members;
  for (int i = 0; i < 2000; ++i) {
    members.emplace_back(fmt::format("{}.npy", i), npy_of("|u1", "(1,)", "x"));
  }
  const std::string file = folder_.write("many.npz", zip_of(members));
  const Error error = error_of([&] { open_npz(file); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message(),
            "2000 of its arrays would be read at once, but 900 are the limit; choose some");
  EXPECT_EQ(open_npz(file, {.arrays = {"1999", "3"}}).size(), 2U);
  members.resize(900);
  EXPECT_EQ(open_npz(folder_.write("many.npz", zip_of(members))).size(), 900U);
}

/// 63 KB with 850 entries for one member of 16 MB were 13.6 GB of copies.
TEST_F(Npz, MembersShareNoBytes) {
  const std::string npy = npy_of("|u1", "(1000,)", std::string(1000, 'x'));
  for (const bool is_deflated : {false, true}) {
    std::string whole = zip_of({{"x.npy", npy}, {"y.npy", npy}}, is_deflated);
    const std::size_t place = whole.rfind("y.npy") - 4;  // in the second entry
    ASSERT_EQ(whole.substr(whole.rfind("PK\1\2") + 42, 4), whole.substr(place, 4));
    const std::size_t second = whole.find("y.npy") - 30;
    ASSERT_EQ(whole.substr(place, 4), little_number(second, 4));
    for (const std::size_t at : {std::size_t{0}, second - 6}) {
      whole.replace(place, 4, little_number(at, 4));
      const std::string file = folder_.write("d.npz", whole);
      for (const bool verify : {false, true}) {
        const Error error = error_of([&] { open_npz(file, {.verify = verify}); });
        EXPECT_EQ(error.code(), ErrorCode::data_loss);
        EXPECT_THAT(error.message(), HasSubstr("it lies within the one before it"));
      }
    }
  }
}

TEST_F(Npz, ArraysHaveNamesOfTheirOwn) {
  const std::string npy = npy_of("|u1", "(1,)", "x");
  const std::string file = folder_.write("d.npz", zip_of({{"x.npy", npy}, {"x.npy", npy}}));
  const Error error = error_of([&] { open_npz(file); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(), "it has two arrays 'x'");
  EXPECT_EQ(error.file(), file);
}

/// A stored member may begin anywhere, but numbers must not.
TEST_F(Npz, NumbersThatLieAskewAreCopied) {
  const std::string npy = npy_of("<i4", "(2,)", bytes_of<std::int32_t>({7, 8}));
  const auto arrays = open_npz(folder_.write("d.npz", zip_of({{"x.npy", npy}})));
  const Column column = arrays.at(0).read(0, 2);  // from byte 35 + 128 of the file on
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column.values().data()) % 4, 0U);
  EXPECT_THAT(column.values<std::int32_t>(), ElementsAre(7, 8));
}

TEST_F(Npz, LayoutsOfDamagedMembersNameTheMember) {
  std::string bytes = zip_of({{"x.npy", npy_of("|u1", "(1,)", "x")}});
  bytes[0] = 'Q';  // in the member's own header
  const std::string file = folder_.write("d.npz", bytes);
  const Error error = error_of([&] { read_npz_layouts(file); });
  EXPECT_EQ(error.message(), "member 'x.npy' of 129 bytes is damaged or cut: it has no header");
  EXPECT_EQ(error.file(), file);
}

TEST_F(Npz, MembersClaimNoMoreThanDeflateCanMake) {
  const std::string npy = npy_of("|u1", "(1000,)", std::string(1000, 'x'));
  std::string whole = zip_of({{"x.npy", npy}}, true);
  whole.replace(whole.rfind("PK\1\2") + 24, 4, little_number(4'000'000'000, 4));
  EXPECT_THAT(error_of([&] { open_npz(folder_.write("d.npz", whole)); }).message(),
              HasSubstr("compressed bytes can't become as many"));
}

TEST_F(Npz, DamageIsFound) {
  const std::string whole = read_whole(write(false));
  std::string damaged = whole;
  damaged[whole.find("abcdef")] ^= 1;
  const std::string file = folder_.write("d.npz", damaged);
  EXPECT_THAT(
      error_of([&] { open_npz(file); }).message(),
      HasSubstr("member 'y.npy' of 134 bytes is damaged or cut: its CRC-32 does not match"));
  EXPECT_EQ(open_npz(file, {.verify = false}).size(), 2);
  folder_.write("d.npz", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(
      error_of([&] { open_npz(file); }).message(),
      HasSubstr("this is no zip file, or it is cut or damaged: its directory does not stand "
                "at its end"));
  folder_.write("d.npz", whole + "more");
  EXPECT_EQ(error_of([&] { open_npz(file); }).code(), ErrorCode::data_loss);
  folder_.write("d.npz", zip_of({}));
  EXPECT_THAT(error_of([&] { open_npz(file); }).message(), HasSubstr("it has no arrays"));
  folder_.write("d.npz", zip_of({{"notes.txt", "hello"}}));
  EXPECT_THAT(error_of([&] { open_npz(file); }).message(), HasSubstr("'notes.txt' is no array"));
}

}  // namespace
}  // namespace infeed::test
