#include "example/wire.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "records/example/wire_writer.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::bytes_field;
using test::varint;
using test::varint_field;

/// Returns the problem that reading `bytes` by `read` meets.
template <class Read>
std::string problem(std::string_view bytes, Read read) {
  WireReader reader(bytes);
  const std::string text = error_of([&] { read(reader); }).message();
  const std::string front = "the record is not a valid Example: ";
  EXPECT_TRUE(text.starts_with(front)) << text;
  return text.substr(front.size());
}

TEST(Wire, ValuesHaveUpToTenBytes) {
  for (int bits = 0; bits <= 64; ++bits) {
    const std::uint64_t most = bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
    const std::string bytes = varint(most) + "x";
    WireReader reader(bytes);
    EXPECT_EQ(reader.varint(), most);
    EXPECT_EQ(reader.rest(), "x");
  }
  const auto read = [](WireReader& reader) { reader.varint(); };
  EXPECT_EQ(problem("", read), "an integer is cut");
  EXPECT_EQ(problem("\x80", read), "an integer is cut");
  EXPECT_EQ(problem(std::string(9, '\xff'), read), "an integer is cut");
  EXPECT_EQ(problem(std::string(10, '\xff') + '\x01', read), "an integer has more than ten bytes");
}

TEST(Wire, TagsHaveUpToFiveBytesAndAField) {
  for (const std::uint32_t tag : {8U, 15U, 127U, 128U, 16384U, 1U << 21, 1U << 28, 0xffffffffU}) {
    const std::string bytes = varint(tag) + "x";
    WireReader reader(bytes);
    EXPECT_EQ(reader.tag(), tag);
    EXPECT_EQ(reader.rest(), "x");
  }
  const auto read = [](WireReader& reader) { reader.tag(); };
  EXPECT_EQ(problem("", read), "a field's tag is cut");
  EXPECT_EQ(problem("\x88", read), "a field's tag is cut");
  EXPECT_EQ(problem(std::string(1, '\0'), read), "a field has the number 0");
  EXPECT_EQ(problem("\x07", read), "a field has the number 0");
  EXPECT_EQ(problem(std::string("\x82\x00", 2), read), "a field has the number 0");
  EXPECT_EQ(problem("\x88\x80\x80\x80\x80\x01", read), "a field's tag has more than five bytes");
}

TEST(Wire, LengthsHaveUpToFiveBytes) {
  for (const std::size_t size : {0U, 1U, 127U, 128U, 20'000U, 3'000'000U}) {
    const std::string content(size, 'c');
    const std::string bytes = varint(size) + content + "x";
    WireReader reader(bytes);
    EXPECT_EQ(reader.bytes(), content);
    EXPECT_EQ(reader.rest(), "x");
  }
  WireReader padded(
      std::string_view("\x83\x80\x80\x80\x00"
                       "abc",
                       8));
  EXPECT_EQ(padded.bytes(), "abc");
  EXPECT_TRUE(padded.is_at_end());
  const auto read = [](WireReader& reader) { reader.bytes(); };
  EXPECT_EQ(problem("", read), "a length is cut");
  EXPECT_EQ(problem("\x80\x80", read), "a length is cut");
  EXPECT_EQ(problem("\x04"
                    "abc",
                    read),
            "a length passes the end");
  EXPECT_EQ(problem("\xff\xff\xff\xff\x7f"
                    "abc",
                    read),
            "a length passes the end");
  EXPECT_EQ(problem("\x80\x80\x80\x80\x80\x01", read), "a length has more than five bytes");
}

TEST(Wire, ValuesOfAnyTypeArePassedOver) {
  const std::string group =
      "\x0b" + varint_field(2, 300) + "\x13\x14" + bytes_field(3, "\x0c") + "\x0c";
  for (const std::string& field :
       {varint_field(1, 1), varint_field(1, ~std::uint64_t{0}), "\x09" + std::string(8, 'n'),
        bytes_field(1, ""), bytes_field(1, "bytes"), "\x0d" + std::string(4, 'n'), group}) {
    const std::string bytes = field + "x";
    WireReader reader(bytes);
    reader.skip_value(reader.tag());
    EXPECT_EQ(reader.rest(), "x");
    for (std::size_t size = 1; size < field.size(); ++size) {
      WireReader cut(std::string_view(field).substr(0, size));
      EXPECT_EQ(error_of([&] { cut.skip_value(cut.tag()); }).code(), ErrorCode::data_loss);
    }
  }
  const auto skip = [](WireReader& reader) { reader.skip_value(reader.tag()); };
  EXPECT_EQ(problem("\x09" + std::string(7, 'n'), skip), "a number is cut");
  EXPECT_EQ(problem("\x0d" + std::string(3, 'n'), skip), "a number is cut");
  EXPECT_EQ(problem("\x0b", skip), "a field's tag is cut");
  EXPECT_EQ(problem("\x0c", skip), "a group ends that did not begin");
  EXPECT_EQ(problem("\x0b\x14", skip), "a group ends with another number");
  EXPECT_EQ(problem("\x0e", skip), "a field has the unknown wire type 6");
  EXPECT_EQ(problem("\x0f", skip), "a field has the unknown wire type 7");
  const auto groups = [](std::size_t depth) {
    return std::string(depth, '\x0b') + std::string(depth, '\x0c');
  };
  const std::string deep = groups(100);
  WireReader reader(deep);
  reader.skip_value(reader.tag());
  EXPECT_TRUE(reader.is_at_end());
  EXPECT_EQ(problem(groups(101), skip), "groups are nested too deeply");
}

}  // namespace
}  // namespace infeed::detail
