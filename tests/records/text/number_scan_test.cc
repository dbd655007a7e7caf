#include "text/number_scan.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "infeed/records/dtype.h"
#include "seeded_random.h"
#include "text/number_text.h"

namespace infeed::test {
namespace {

using detail::number_scan;
using detail::NumberForm;
using detail::NumberMethod;
using detail::NumberProblem;

constexpr std::array kMethods = {NumberMethod::by_eights, NumberMethod::by_vectors};

/// The methods that this machine has.
std::vector<NumberMethod> methods() {
  const bool has_vectors = detail::number_method() == NumberMethod::by_vectors;
  return {kMethods.begin(), kMethods.begin() + (has_vectors ? 2 : 1)};
}

/// Returns how many of the text's bytes are the number; -1 if the number needs a closer look.
template <class T>
std::ptrdiff_t scan(NumberMethod method, NumberForm form, const std::string& text, T& out) {
  // The bytes around the number must not matter.
  const std::string padded = "9.-5" + std::string(60, '7') + text + std::string(64, '3');
  std::array<T, 3> values{};
  const char* const at = padded.data() + 64;
  const char* const end =
      number_scan(dtype_of<T>(), form, method)(at, reinterpret_cast<std::byte*>(values.data()), 1);
  EXPECT_EQ(values[0], T{});
  EXPECT_EQ(values[2], T{});
  out = values[1];
  return end == nullptr ? -1 : end - at;
}

template <class T>
void expect_like_parser(const std::string& number, char behind) {
  for (const NumberMethod method : methods()) {
    T found{};
    const std::ptrdiff_t size =
        scan(method, NumberForm::table, number + std::string(1, behind), found);
    if (size < 0) continue;
    ASSERT_EQ(size, static_cast<std::ptrdiff_t>(number.size())) << number;
    const std::string padded = number + std::string(64, behind);
    const char* const end = padded.data() + number.size();
    T expected{};
    if constexpr (std::is_integral_v<T>) {
      ASSERT_EQ(detail::parse_integer(padded.data(), end, expected), NumberProblem::none) << number;
    } else {
      ASSERT_EQ(detail::parse_float(padded.data(), end, expected), NumberProblem::none) << number;
    }
    ASSERT_EQ(std::memcmp(&found, &expected, sizeof(T)), 0) << number << " became " << found;
  }
}

TEST(NumberScan, IsWhatTheParserSays) {
  SeededRandom random;
  const auto digits = [&random](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('0' + random() % 10);
    return text;
  };
  for (int i = 0; i < 60'000; ++i) {
    const std::string sign = random() % 3 == 0 ? "-" : "";
    const char behind = std::string(",\n\r}] \t;")[random() % 8];
    const std::string whole = sign + digits(random() % 18);
    expect_like_parser<std::int64_t>(whole, behind);
    expect_like_parser<std::int32_t>(whole, behind);
    expect_like_parser<std::uint8_t>(sign + digits(random() % 4), behind);
    const std::string number = sign + digits(random() % 21) + (random() % 4 == 0 ? "" : ".") +
                               (random() % 8 == 0 ? "" : digits(random() % 21));
    expect_like_parser<double>(number, behind);
    expect_like_parser<float>(number, behind);
    // Shortest texts: up to 17 digits, around 1.
    const auto mantissa = static_cast<double>(random() >> 11) * 0x1p-53;
    expect_like_parser<double>(
        fmt::format("{:f}", std::ldexp(mantissa, static_cast<int>(random() % 40))), behind);
    const std::string shortest = fmt::format("{}", mantissa * 1000);
    if (shortest.find('e') == shortest.npos) expect_like_parser<double>(shortest, behind);
  }
}

TEST(NumberScan, TakesTheUsualNumbers) {
  for (const NumberMethod method : methods()) {
    for (const NumberForm form : {NumberForm::table, NumberForm::json}) {
      std::int64_t whole = 0;
      EXPECT_EQ(scan(method, form, "0,", whole), 1);
      EXPECT_EQ(scan(method, form, "-12345678901234,", whole), 15);
      EXPECT_EQ(whole, -12345678901234);
      double number = 0;
      EXPECT_EQ(scan(method, form, "0\n", number), 1);
      EXPECT_EQ(scan(method, form, "-0.0,", number), 4);
      EXPECT_TRUE(std::signbit(number));
      EXPECT_EQ(scan(method, form, "-248.94784633514504]", number), 19);
      EXPECT_EQ(number, -248.94784633514504);
      EXPECT_EQ(scan(method, form, "0.1234567890123456789,", number), -1) << "20 digits";
      EXPECT_EQ(scan(method, form, "1.123456789012345678,", number), 20);
      EXPECT_EQ(number, 1.123456789012345678);
      EXPECT_EQ(scan(method, form, "1234567890123456789,", number), 19);
      EXPECT_EQ(number, 1234567890123456789.0);
    }
  }
}

TEST(NumberScan, LeavesTheOthers) {
  for (const NumberMethod method : methods()) {
    for (const NumberForm form : {NumberForm::table, NumberForm::json}) {
      std::int64_t whole = 0;
      for (const char* const text : {"", "-", "+1", " 1", "x", "1234567890123456", "--1"}) {
        EXPECT_EQ(scan(method, form, text + std::string(","), whole), -1) << text;
      }
      std::int32_t narrow = 0;
      EXPECT_EQ(scan(method, form, "2147483648,", narrow), -1);
      EXPECT_EQ(scan(method, form, "-2147483648,", narrow), 11);
      std::uint16_t without_sign = 0;
      EXPECT_EQ(scan(method, form, "-1,", without_sign), -1);
      double number = 0;
      for (const char* const text :
           {"", "-", ".", "-.", "+1.5", "nan", "--1.5", "12345678901234567890"}) {
        EXPECT_EQ(scan(method, form, text + std::string(","), number), -1) << text;
      }
      // The caller has to look where it ends.
      EXPECT_EQ(scan(method, form, "1.5e3,", number), 3);
      EXPECT_EQ(scan(method, form, "1.2.3,", number), 3);
    }
  }
}

TEST(NumberScan, JsonHasNoIdleZerosAndNoBarePoints) {
  for (const NumberMethod method : methods()) {
    std::int64_t whole = 0;
    double number = 0;
    EXPECT_EQ(scan(method, NumberForm::table, "007,", whole), 3);
    EXPECT_EQ(scan(method, NumberForm::json, "007,", whole), -1);
    EXPECT_EQ(scan(method, NumberForm::json, "-00,", whole), -1);
    for (const char* const text : {".5", "5.", "-.5", "00.5", "-01.5"}) {
      EXPECT_GT(scan(method, NumberForm::table, text + std::string(","), number), 0) << text;
      EXPECT_EQ(scan(method, NumberForm::json, text + std::string(","), number), -1) << text;
    }
  }
}

TEST(NumberScan, SomeTypesHaveNoQuickWay) {
  for (const DType dtype : {DType::boolean, DType::float16, DType::bfloat16, DType::bytes}) {
    EXPECT_EQ(number_scan(dtype, NumberForm::table), nullptr);
  }
}

}  // namespace
}  // namespace infeed::test
