#include <string>
#include <utility>
#include <vector>

#include <infeed/records/limits.h>
#include <infeed/records/npy.h>

#include "records/arrays/npy_bytes.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

NpyLayout layout_of(const std::string& array) { return parse_npy_header(array, array.size()); }

std::string why_no_layout(const std::string& array) {
  return error_of([&] { layout_of(array); }).message();
}

std::string array_of_type(const std::string& type, const std::string& bytes) {
  return npy_of(type, "(1,)", bytes);
}

TEST(NpyHeader, MayBeWrittenInOtherWays) {
  for (const std::string header : {
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}",
           "{\"descr\":\"<i4\",\"fortran_order\":False,\"shape\":(2,3)}",
           " { 'shape' : ( 2 , 3 , ) ,\n'fortran_order' :False , 'descr' : '<i4' , } ",
           "{'shape': (2L, 3L), 'descr': '<i4', 'fortran_order': False}",
       }) {
    const NpyLayout layout = layout_of(npy_with_header(header, std::string(24, 'x')));
    EXPECT_EQ(layout.dtype, DType::int32) << header;
    EXPECT_EQ(layout.item_bytes, 4U);
    EXPECT_FALSE(layout.is_swapped);
    EXPECT_EQ(layout.rows, 2);
    EXPECT_EQ(layout.row_shape, Shape({3}));
    EXPECT_EQ(layout.data_begin % 64, 0U);
    EXPECT_EQ(layout.row_bytes(), 12U);
  }
}

struct NamedType {
  std::string name;
  DType dtype;
  std::size_t bytes;
  bool is_swapped;
};

TEST(NpyHeader, NamesTheTypeAndItsByteOrder) {
  for (const auto& [name, dtype, bytes, is_swapped] :
       std::vector<NamedType>{{"|b1", DType::boolean, 1, false},
                              {"|u1", DType::uint8, 1, false},
                              {"<u2", DType::uint16, 2, false},
                              {"<u4", DType::uint32, 4, false},
                              {"<u8", DType::uint64, 8, false},
                              {">i1", DType::int8, 1, false},
                              {">i2", DType::int16, 2, true},
                              {"=i4", DType::int32, 4, false},
                              {">i8", DType::int64, 8, true},
                              {">f2", DType::float16, 2, true},
                              {"<f4", DType::float32, 4, false},
                              {">f8", DType::float64, 8, true},
                              {"|V2", DType::bfloat16, 2, false},
                              {"|S1", DType::bytes, 1, false},
                              {"|S12", DType::bytes, 12, false}}) {
    const NpyLayout layout = layout_of(array_of_type(name, std::string(bytes, 'x')));
    EXPECT_EQ(layout.dtype, dtype) << name;
    EXPECT_EQ(layout.item_bytes, bytes) << name;
    EXPECT_EQ(layout.is_swapped, is_swapped) << name;
  }
  const NpyLayout longest = layout_of(npy_of("|S2147483647", "(0,)", ""));
  EXPECT_EQ(longest.item_bytes, 2147483647U);
  for (const std::string name : {"", "i4", "<", "<i3", "<i44", "*i4", "S5", "|S0", "|S", "|S5x",
                                 "|S2147483648", "|s5", "<U4", "|O"}) {
    EXPECT_EQ(why_no_layout(array_of_type(name, "")),
              "elements of type '" + name +
                  "' can't be read; save array.astype(...) of one of b1, u1, u2, u4, u8, i1, i2, "
                  "i4, i8, f2, f4, f8, V2, S");
  }
  EXPECT_EQ(why_no_layout(npy_with_header("{'descr': [('a', '<i4')], 'shape': (1,)}", "")),
            "its elements have fields (a structured array); save each field as an array of its own "
            "with numpy.savez");
}

TEST(NpyHeader, ThatIsDamagedSaysWhere) {
  const std::string type = "'descr': '<i2'";
  const std::string order = "'fortran_order': False";
  const std::string shape = "'shape': (2,)";
  for (const auto& [header, what] : std::vector<std::pair<std::string, std::string>>{
           {type, "no '{'"},
           {"{}", "no 'descr'"},
           {"{" + order + ", " + shape + "}", "no 'descr'"},
           {"{" + type + ", " + shape + "}", "no 'fortran_order'"},
           {"{" + type + ", " + order + "}", "no 'shape'"},
           {"{'other': 1, " + type + ", " + order + ", " + shape + "}", "no 'descr'"},
           {"{" + type + " " + order + "}", "no ',' behind a value"},
           {"{" + type + ", " + order + ", " + shape, "no ',' behind a value"},
           {"{'descr' '<i2', " + order + ", " + shape + "}", "no 'descr'"},
           {"{'descr': 2, " + order + "}", "no whole type of the elements"},
           {"{'descr': '<i2, " + order.substr(17) + "}", "no whole type of the elements"},
           {"{'fortran_order': None}", "no whole fortran_order"},
           {"{'fortran_order': true}", "no whole fortran_order"},
           {"{'shape': 2,}", "no whole shape"},
           {"{'shape': (2 3)}", "no whole shape"},
           {"{'shape': (2", "no whole shape"},
           {"{'shape': (a,)}", "no whole shape"},
           {"{'shape': (-1,)}", "no whole shape"},
           {"{'shape': (,)}", "no whole shape"},
       }) {
    const std::string message = why_no_layout(npy_with_header(header, ""));
    const std::string front =
        "its header has " + what + ", so it is damaged or wasn't written by numpy.save: ";
    EXPECT_EQ(message.substr(0, front.size()), front) << header;
  }
  // Bytes that are no text are shown by their numbers, and only the first ones.
  EXPECT_EQ(why_no_layout(npy_with_header("\x01x", "")),
            "its header has no '{', so it is damaged or wasn't written by numpy.save: \\x01x" +
                std::string(51, ' ') + "\\x0a");
  EXPECT_EQ(why_no_layout(npy_with_header(std::string(60, 'y'), "")),
            "its header has no '{', so it is damaged or wasn't written by numpy.save: " +
                std::string(60, 'y') + "...");
}

TEST(NpyHeader, HasSoManyDimensionsAndRows) {
  const auto of_ones = [](std::size_t count) {
    std::string shape = "(";
    for (std::size_t i = 0; i < count; ++i) shape += "1, ";
    return npy_of("|u1", shape + ")", "x");
  };
  EXPECT_EQ(layout_of(of_ones(64)).row_shape.rank(), 63U);
  EXPECT_NE(why_no_layout(of_ones(65)).find("no whole shape"), std::string::npos);
  const auto without_values = [](std::int64_t rows) {
    return npy_of("|u1", fmt::format("({}, 0)", rows), "");
  };
  EXPECT_EQ(layout_of(without_values(limits::npy_empty_rows)).rows, limits::npy_empty_rows);
  EXPECT_NE(why_no_layout(without_values(limits::npy_empty_rows + 1))
                .find("16777217 rows without values, of which 16777216 can be read"),
            std::string::npos);
  EXPECT_NE(
      why_no_layout(npy_of("|u1", "(9223372036854775808,)", "")).find("than any memory holds"),
      std::string::npos);
  EXPECT_EQ(why_no_layout(npy_of("|u1", "(9223372036854775807,)", "abc")),
            "9223372036854775807 rows of 1 values of 1 bytes don't make the 3 bytes behind the "
            "header; the file is cut or not an array");
}

TEST(NpyHeader, OfFortranOrderIsTakenWhereItIsTheSame) {
  const auto header = [](const std::string& shape, const std::string& bytes) {
    return npy_with_header(
        fmt::format("{{'descr': '|u1', 'fortran_order': True, 'shape': {}}}", shape), bytes);
  };
  for (const auto& [shape, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"(2,)", "ab"}, {"(2, 1)", "ab"}, {"(1, 2)", "ab"}, {"(0, 2)", ""}, {"(1, 1)", "a"}}) {
    EXPECT_EQ(layout_of(header(shape, bytes)).dtype, DType::uint8) << shape;
  }
  for (const auto& [shape, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"(2, 2)", "abcd"}, {"(1, 2, 2)", "abcd"}, {"(0, 2, 2)", ""}}) {
    EXPECT_EQ(why_no_layout(header(shape, bytes)),
              "its elements lie column by column (fortran_order); save "
              "numpy.ascontiguousarray(array)")
        << shape;
  }
}

TEST(NpyHeader, EndsInTheFrontThatIsGiven) {
  const std::string whole = npy_of("|u1", "(2,)", "ab");
  const std::size_t begin = whole.size() - 2;
  EXPECT_EQ(parse_npy_header(whole.substr(0, begin), whole.size()).data_begin, begin);
  EXPECT_EQ(error_of([&] { parse_npy_header(whole.substr(0, begin - 1), whole.size()); }).message(),
            fmt::format("parse_npy_header: {} bytes of the array were given, but its header alone "
                        "has {}",
                        begin - 1, begin));
  const std::string no_array = "this is no NPY file: it doesn't begin with \\x93NUMPY";
  EXPECT_EQ(why_no_layout(whole.substr(0, 11)), no_array);
  EXPECT_EQ(why_no_layout("\x93NUMPX" + whole.substr(6)), no_array);
  EXPECT_EQ(
      why_no_layout(whole.substr(0, begin - 1)),
      fmt::format("its header of {} bytes ends behind the {} bytes that there are, or makes no "
                  "sense; the file is cut or damaged",
                  begin - 10, begin - 1));
}

TEST(NpyHeader, MayBeLongInLaterVersions) {
  const auto array = [](std::size_t header_bytes) {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
    header.resize(header_bytes, ' ');
    return std::string("\x93NUMPY\2\0", 8) + little_number(header_bytes, 4) + header + "ab";
  };
  const std::size_t most = kNpyFrontBytes - 12;
  EXPECT_EQ(layout_of(array(200)).data_begin, 212U);
  EXPECT_EQ(layout_of(array(most)).data_begin, kNpyFrontBytes);
  EXPECT_EQ(
      why_no_layout(array(most + 1)),
      fmt::format("its header of {} bytes ends behind the {} bytes that there are, or makes no "
                  "sense; the file is cut or damaged",
                  most + 1, most + 15));
}

}  // namespace
}  // namespace infeed::test
