#include <limits>
#include <memory>

#include <infeed/pipeline/detail/erased_codec.h>
#include <infeed/pipeline/element_codec.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

template <class T>
std::string encoded(const T& element) {
  std::string bytes;
  detail::erased_codec<T>().encode(&element, bytes);
  return bytes;
}

template <class T>
T decoded(const std::string& bytes) {
  alignas(T) std::byte place[sizeof(T)];
  detail::erased_codec<T>().decode(Record(bytes), place);
  T* const element = std::launder(reinterpret_cast<T*>(place));
  T result = std::move(*element);
  element->~T();
  return result;
}

template <class T>
std::string layout_of() {
  return detail::erased_codec<T>().layout;
}

template <class T>
void expect_round_trip(const T& element) {
  EXPECT_EQ(decoded<T>(encoded(element)), element);
}

enum class Colour : std::uint16_t { red, green };

struct Inner {
  std::array<std::uint8_t, 3> pixels;
  std::string name;
  bool operator==(const Inner&) const = default;
};
struct Outer {
  std::int64_t label;
  std::vector<Inner> parts;
  std::optional<float> weight;
  std::pair<char, double> more;
  Colour colour;
  bool operator==(const Outer&) const = default;
};

/// Has a constructor, so it is no plain struct.
class Opaque {
 public:
  Opaque() = default;
  explicit Opaque(std::int32_t value) : value_(value) {}
  bool operator==(const Opaque&) const = default;

 private:
  std::int32_t value_ = 0;
};

TEST(ElementCodec, RoundTrips) {
  expect_round_trip(std::int64_t{-5});
  expect_round_trip(std::numeric_limits<double>::infinity());
  expect_round_trip(true);
  expect_round_trip(Colour::green);
  expect_round_trip(std::string("a\0b", 3));
  expect_round_trip(std::string());
  expect_round_trip(std::array<float, 3>{1, 2, 3});
  expect_round_trip(std::array<std::string, 2>{"x", ""});
  expect_round_trip(std::vector<std::int16_t>{});
  expect_round_trip(std::vector<std::int16_t>{1, -2});
  expect_round_trip(std::vector<bool>{true, false, true});
  expect_round_trip(std::vector<std::vector<std::string>>{{"a"}, {}, {"b", "c"}});
  expect_round_trip(std::optional<std::string>());
  expect_round_trip(std::optional<std::string>("here"));
  expect_round_trip(std::tuple<int, std::string>(7, "seven"));
  expect_round_trip(Opaque(9));
  expect_round_trip(
      Outer{1, {{{1, 2, 3}, "first"}, {{4, 5, 6}, ""}}, 0.5F, {'c', 2.5}, Colour::green});
}

TEST(ElementCodec, RecordsAndStringsAreWrittenAsTheyAre) {
  EXPECT_EQ(encoded(std::string("text")), "text");
  EXPECT_EQ(encoded(Record("text")), "text");
  EXPECT_EQ(decoded<Record>("text").bytes(), "text");
  struct Named {
    Record image;
    std::int64_t label;
  };
  const Named named = decoded<Named>(encoded(Named{Record("pixels"), 3}));
  EXPECT_EQ(named.image.bytes(), "pixels");
  EXPECT_EQ(named.label, 3);
}

TEST(ElementCodec, LayoutsNameWhatIsWritten) {
  EXPECT_EQ(layout_of<std::int64_t>(), "i64");
  EXPECT_EQ(layout_of<float>(), "f32");
  EXPECT_EQ(layout_of<Record>(), layout_of<std::string>());
  EXPECT_EQ(layout_of<Opaque>(), "bytes<4>");
  EXPECT_EQ(layout_of<Outer>(), "{i64,vector<{array<u8,3>,string}>,optional<f32>,{i8,f64},u16}");
}

TEST(ElementCodec, PaddingIsNotWritten) {
  struct Padded {
    char small;
    std::int64_t large;
  };
  EXPECT_EQ(encoded(Padded{'a', 1}).size(), 9);
}

TEST(ElementCodec, WhatCannotBeWrittenHasNone) {
  EXPECT_FALSE(kHasElementCodec<int*>);
  EXPECT_FALSE(kHasElementCodec<std::unique_ptr<int>>);
  EXPECT_FALSE(kHasElementCodec<std::vector<std::unique_ptr<int>>>);
  struct WithPointer {
    int* pointer;
    int number;
  };
  EXPECT_FALSE(kHasElementCodec<WithPointer>);
}

TEST(ElementCodec, EveryCutIsNoticed) {
  const Outer outer{1, {{{1, 2, 3}, "first"}}, 0.5F, {'c', 2.5}, Colour::green};
  const std::string whole = encoded(outer);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const Error error = error_of([&] { decoded<Outer>(whole.substr(0, size)); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_THAT(error.message(), HasSubstr("the record is no element of this type: "));
  }
  const Error error = error_of([&] { decoded<Outer>(whole + "x"); });
  EXPECT_THAT(error.message(),
              HasSubstr("1 of its " + std::to_string(whole.size() + 1) + " bytes are left over"));
}

TEST(ElementReader, SaysWhatItExpectedAndWhatIsLeft) {
  const Record record("abcde");
  ElementReader reader(record);
  EXPECT_EQ(reader.bytes(2), "ab");
  const Error few = error_of([&] { reader.bytes(4); });
  EXPECT_EQ(
      few.message(),
      "the record is no element of this type: 4 bytes were expected, and 3 of its 5 are left");
  EXPECT_EQ(few.file(), "");
  EXPECT_FALSE(few.offset());
  EXPECT_FALSE(few.record());
  EXPECT_EQ(error_of([&] { reader.expect_end(); }).message(),
            "the record is no element of this type: 3 of its 5 bytes are left over");
  EXPECT_EQ(reader.bytes(3), "cde");
  EXPECT_NO_THROW(reader.expect_end());
}

TEST(ElementReader, CountsNoMorePartsThanFit) {
  const auto count_in = [](std::uint64_t count, std::size_t bytes_behind, std::size_t bytes_each) {
    const Record record(encoded(count) + std::string(bytes_behind, 'x'));
    return ElementReader(record).count(bytes_each);
  };
  EXPECT_EQ(count_in(2, 16, 8), 2U);
  EXPECT_EQ(count_in(2, 23, 8), 2U);
  EXPECT_EQ(count_in(1'000'000, 0, 0), 1'000'000U) << "parts without bytes";
  EXPECT_EQ(error_of([&] { count_in(3, 23, 8); }).message(),
            "the record is no element of this type: 3 parts of at least 8 bytes were expected, and "
            "23 of its 31 bytes are left");
}

TEST(ElementReader, SaysWhereTheRecordLies) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.tfrecord");
  {
    RecordWriter writer(file);
    for (const char* const text : {"first", "second"}) writer.write(text);
    writer.close();
  }
  RecordReader records(file);
  Record record;
  ASSERT_TRUE(records.next(record) && records.next(record));
  const Error error = error_of([&] { ElementReader(record).bytes(7); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.record(), 1U);
  EXPECT_EQ(error.offset(), record.offset());
}

TEST(ElementCodec, AnAbsurdCountAllocatesNothing) {
  const std::string bytes = encoded(std::int64_t{-1}) + "abc";
  EXPECT_EQ(error_of([&] { decoded<std::vector<double>>(bytes); }).code(), ErrorCode::data_loss);
  EXPECT_EQ(error_of([&] { decoded<std::vector<Inner>>(bytes); }).code(), ErrorCode::data_loss);
}

}  // namespace
}  // namespace infeed::test
