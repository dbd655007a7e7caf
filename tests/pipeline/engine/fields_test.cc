#include <any>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/tar.h>

namespace infeed {
namespace {

struct One {
  int a;
};
struct Mixed {
  int a;
  std::string b;
  std::array<float, 3> c;
  std::vector<int> d;
  double e;
};
struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct Seventeen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
struct MoveOnly {
  std::unique_ptr<int> a;
  std::shared_ptr<int> b;
};
struct Nested {
  Mixed inner;
  int a;
};
struct SixtyFour {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,
      a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39,
      a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58,
      a59, a60, a61, a62, a63;
};
struct SixtyFive {
  SixtyFour a;
  int b;
};
struct TooMany {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,
      a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39,
      a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58,
      a59, a60, a61, a62, a63;
  std::string b;
};
struct WithPointer {
  const char* a;
  void* b;
};
enum class Colour { red };
struct WithEnum {
  Colour a;
  bool b;
};
struct WithDefaults {
  int a = 3;
  float b = 2.5F;
};
class Whole {
 public:
  explicit Whole(int a) : a_(a) {}
  int a() const { return a_; }

 private:
  int a_;
};
struct Empty {};
struct WithArray {
  int a;
  float b[3];
  int c;
};
struct WithLargeArray {
  int a;
  float b[28][28];
};
struct WithArrayOfStrings {
  std::string a[4];
};
struct WithBase : WithEnum {
  float c;
};
struct WithEmptyBase : Empty {
  float c;
};
struct WithOpenMember {
  std::any a;
  int b;
};
struct NoDefault {
  explicit NoDefault(int) {}
};
struct WithLaterNoDefault {
  std::array<int, 3> a;
  std::string b;
  NoDefault c;
};

TEST(Fields, AreCounted) {
  static_assert(detail::field_count<SixtyFour>() == 64);
  static_assert(detail::field_count<Seventeen>() == 17);
  static_assert(detail::leaf_count<SixtyFive>() == 65 && detail::leaf_count<int>() == 1);
  static_assert(detail::field_count<One>() == 1);
  static_assert(detail::field_count<Mixed>() == 5);
  static_assert(detail::field_count<Sixteen>() == 16);
  static_assert(detail::field_count<MoveOnly>() == 2);
  static_assert(detail::field_count<Nested>() == 2);
  static_assert(detail::field_count<WithPointer>() == 2);
  static_assert(detail::field_count<WithEnum>() == 2);
  static_assert(detail::field_count<WithDefaults>() == 2);
  static_assert(detail::field_count<WithLaterNoDefault>() == 3);
  static_assert(detail::field_count<std::pair<int, float>>() == 2);
  static_assert(detail::field_count<std::tuple<int, float, std::string>>() == 3);
}

TEST(Fields, WhatIsNoPlainStructStaysWhole) {
  static_assert(detail::field_count<TooMany>() == 0);
  static_assert(!detail::has_c_array<TooMany>() && !detail::has_base_class<TooMany>());
  static_assert(detail::field_count<int>() == 0);
  static_assert(detail::field_count<Whole>() == 0);
  static_assert(detail::field_count<Empty>() == 0);
  static_assert(detail::field_count<std::string>() == 0);
  static_assert(detail::field_count<std::array<int, 4>>() == 0);
  static_assert(detail::field_count<std::vector<int>>() == 0);
  static_assert(detail::field_count<std::unique_ptr<int>>() == 0);
}

TEST(Fields, AreTiedInOrder) {
  Mixed mixed{1, "two", {3, 3, 3}, {4}, 5};
  const auto fields = detail::tie_fields(mixed);
  EXPECT_EQ(std::get<0>(fields), 1);
  EXPECT_EQ(std::get<1>(fields), "two");
  EXPECT_EQ(std::get<3>(fields).front(), 4);
  EXPECT_EQ(std::get<4>(fields), 5);
  std::get<0>(fields) = 7;
  EXPECT_EQ(mixed.a, 7);
  const Sixteen sixteen{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(std::get<15>(detail::tie_fields(sixteen)), 16);
}

TEST(Fields, LeavesAreTiedAndPutTogether) {
  SixtyFive value{};
  value.a.a63 = 63;
  value.b = 64;
  const auto leaves = detail::tie_leaves(value);
  EXPECT_EQ(std::get<63>(leaves), 63);
  EXPECT_EQ(std::get<64>(leaves), 64);
  const auto made = detail::from_leaves<SixtyFive>(
      [](auto leaf) { return static_cast<int>(2 * decltype(leaf)::value); });
  EXPECT_EQ(made.a.a1, 2);
  EXPECT_EQ(made.b, 128);
}

template <class T>
std::size_t payload_of(const T& value) {
  const TypeInfo& type = type_info<T>();
  return type.payload_bytes_run == nullptr ? 0 : type.payload_bytes_run(&value, 1);
}

TEST(Payload, IsWhatAnElementOwnsOutsideItself) {
  EXPECT_EQ(payload_of(7), 0);
  EXPECT_EQ(payload_of(std::string("short")), 0);
  EXPECT_GE(payload_of(std::string(1000, 'x')), 1000);
  EXPECT_LE(payload_of(std::string(1000, 'x')), 1100);
  EXPECT_EQ(payload_of(std::vector<int>(10)), 40);
  EXPECT_EQ(payload_of(std::vector<std::vector<int>>{std::vector<int>(10)}),
            sizeof(std::vector<int>) + 40);
  EXPECT_EQ(payload_of(std::make_unique<double>(1)), 8);
  EXPECT_EQ(payload_of(std::unique_ptr<double>()), 0);
  EXPECT_EQ(payload_of(std::make_shared<double>(1)), 8);
  EXPECT_EQ(payload_of(std::optional<std::vector<int>>(std::vector<int>(10))), 40);
  EXPECT_EQ(payload_of(std::optional<std::vector<int>>()), 0);
}

TEST(Payload, LooksIntoStructsPairsAndTuples) {
  const Mixed mixed{1, std::string(100, 'x'), {}, std::vector<int>(5), 2};
  EXPECT_EQ(payload_of(mixed), payload_of(mixed.b) + payload_of(mixed.d));
  EXPECT_EQ(payload_of(Nested{mixed, 3}), payload_of(mixed));
  EXPECT_EQ(payload_of(std::pair(1, std::vector<int>(5))), 20);
  EXPECT_EQ(payload_of(std::tuple(std::vector<int>(5), 'c', std::vector<int>(6))), 44);
  EXPECT_EQ(payload_of(std::array{std::vector<int>(5), std::vector<int>(1)}), 24);
  EXPECT_EQ(type_info<WithDefaults>().payload_bytes_run, nullptr);
}

/// Holds others of its kind.
struct Tree {
  std::string name;
  std::vector<Tree> children;
};

struct Pictures {
  std::string name;
  std::vector<std::pair<int, Record>> all;
  std::optional<Record> first;
};

/// Takes a value that holds parts of one record, and returns whether it still lies in its memory.
template <class T>
bool lies_apart(T value, const Record& whole) {
  type_info<T>().detach_run(&value, 1);
  const auto is_apart = [&](const Record& part) {
    const bool lies_in_whole = part.bytes().data() >= whole.bytes().data() &&
                               part.bytes().data() < whole.bytes().data() + whole.size();
    return !lies_in_whole && part.bytes() == whole.bytes().substr(0, part.size());
  };
  if constexpr (std::is_same_v<T, Record>) {
    return is_apart(value);
  } else if constexpr (std::is_same_v<T, Pictures>) {
    return is_apart(value.all.at(0).second) && is_apart(value.all.at(1).second) &&
           is_apart(*value.first);
  } else {
    return is_apart(std::get<1>(value));
  }
}

TEST(TypeInfo, GivesRecordsInsideOfElementsMemoryOfTheirOwn) {
  const Record whole("all of them");
  const Record part = whole.slice(whole.bytes().substr(0, 3));
  EXPECT_TRUE(lies_apart(part, whole));
  EXPECT_TRUE(lies_apart(std::pair(1, part), whole));
  EXPECT_TRUE(lies_apart(std::tuple('c', part, 2.0), whole));
  EXPECT_TRUE(lies_apart(Pictures{"name", {{1, part}, {2, part}}, part}, whole));
  EXPECT_EQ(type_info<int>().detach_run, nullptr);
  EXPECT_EQ(type_info<std::string>().detach_run, nullptr);
  EXPECT_EQ(type_info<Mixed>().detach_run, nullptr);
  EXPECT_EQ(type_info<std::vector<int>>().detach_run, nullptr);
  EXPECT_EQ(type_info<Tree>().detach_run, nullptr);
  EXPECT_NE(type_info<TarSample>().detach_run, nullptr);
}

TEST(TypeInfo, KnowsHowToMove) {
  EXPECT_TRUE(type_info<int>().trivially_relocatable);
  EXPECT_TRUE(type_info<std::unique_ptr<int>>().trivially_relocatable);
  EXPECT_TRUE(type_info<std::shared_ptr<int>>().trivially_relocatable);
  EXPECT_FALSE(type_info<std::string>().trivially_relocatable);  // points into itself
  EXPECT_EQ(type_info<std::unique_ptr<int>>().copy_run, nullptr);
  EXPECT_NE(type_info<std::string>().copy_run, nullptr);
  EXPECT_EQ(type_info<int>().name, "int");
  EXPECT_EQ(&type_info<int>(), &type_info<int>());
}

TEST(Fields, TellsArraysAndBaseClassesFromFields) {
  static_assert(detail::has_c_array<WithArray>());
  static_assert(detail::has_c_array<WithLargeArray>());
  static_assert(detail::has_c_array<WithArrayOfStrings>());
  static_assert(!detail::has_c_array<Mixed>() && !detail::has_c_array<Sixteen>());
  static_assert(!detail::has_c_array<Nested>() && !detail::has_c_array<WithLaterNoDefault>());
  static_assert(detail::has_base_class<WithBase>() && detail::has_base_class<WithEmptyBase>());
  static_assert(!detail::has_base_class<Mixed>() && !detail::has_base_class<Nested>());
  static_assert(!detail::has_base_class<WithOpenMember>());
  static_assert(detail::field_count<WithArray>() == 0 && detail::field_count<WithBase>() == 0);
}

}  // namespace
}  // namespace infeed
