#include "text/text_plan.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace infeed::detail {
namespace {

TEST(QuotedText, IsShortAndHasNoControlCharacters) {
  const std::string forty(40, 'x');
  const std::string e_acute = "\xc3\xa9";
  for (const auto& [text, quoted] : std::vector<std::pair<std::string, std::string>>{
           {"", "''"},
           {"a b~", "'a b~'"},
           {"\x1f\x7f\n", "'\\x1f\\x7f\\x0a'"},
           {std::string(1, '\0'), "'\\x00'"},
           {forty, "'" + forty + "'"},
           {forty + "y", "'" + forty + "...'"},
           {e_acute, "'" + e_acute + "'"},
           {e_acute + "\xff", "'\\xc3\\xa9\\xff'"},
           {"\x80", "'\\x80'"},
           // No character is cut in half.
           {forty.substr(1) + e_acute, "'" + forty.substr(1) + "...'"},
           {forty.substr(2) + e_acute, "'" + forty.substr(2) + e_acute + "'"},
           {forty.substr(2) + e_acute + "y", "'" + forty.substr(2) + e_acute + "...'"},
           {forty.substr(2) + "\xe2\x82\xac", "'" + forty.substr(2) + "...'"},
           {std::string(50, '\x80'), "'...'"}}) {
    EXPECT_EQ(quoted_text(text), quoted);
  }
}

TEST(ExpectedValue, NamesTypeAndRange) {
  for (const auto& [dtype, text] : std::vector<std::pair<DType, std::string>>{
           {DType::bytes, "text"},
           {DType::boolean, "true or false (bool)"},
           {DType::int8, "a whole number from -128 to 127 (int8)"},
           {DType::int16, "a whole number from -32768 to 32767 (int16)"},
           {DType::int32, "a whole number from -2147483648 to 2147483647 (int32)"},
           {DType::int64,
            "a whole number from -9223372036854775808 to 9223372036854775807 (int64)"},
           {DType::uint8, "a whole number from 0 to 255 (uint8)"},
           {DType::uint16, "a whole number from 0 to 65535 (uint16)"},
           {DType::uint32, "a whole number from 0 to 4294967295 (uint32)"},
           {DType::uint64, "a whole number from 0 to 18446744073709551615 (uint64)"},
           {DType::float16, "a number (float16)"},
           {DType::bfloat16, "a number (bfloat16)"},
           {DType::float32, "a number (float32)"},
           {DType::float64, "a number (float64)"}}) {
    EXPECT_EQ(expected_value(dtype), text);
  }
}

}  // namespace
}  // namespace infeed::detail
