#include "train/state_text.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>

namespace infeed::detail {
namespace {

constexpr std::string_view kBlanks = " \n";

}  // namespace

std::string exact_text(double number) {
  return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(number));
}

std::string_view StateReader::word() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
  const std::string_view word = rest_.substr(0, rest_.find_first_of(kBlanks));
  if (word.empty()) refuse("its end", "more");
  rest_.remove_prefix(word.size());
  return word;
}

void StateReader::expect(std::string_view expected) {
  const std::string_view found = word();
  if (found != expected) refuse(fmt::format("'{}'", found), fmt::format("'{}'", expected));
}

std::int64_t StateReader::integer() {
  const std::string_view found = word();
  std::int64_t number = 0;
  if (!parse_whole(found, number)) refuse(fmt::format("'{}'", found), "a whole number");
  return number;
}

std::uint64_t StateReader::bits() {
  const std::string_view found = word();
  std::uint64_t number = 0;
  if (!parse_whole(found, number, 16)) refuse(fmt::format("'{}'", found), "hexadecimal digits");
  return number;
}

double StateReader::real() { return std::bit_cast<double>(bits()); }

void StateReader::refuse(std::string_view found, std::string_view expected) const {
  throw Error(ErrorCode::data_loss,
              fmt::format("the saved state of '{}' has {} where {} is expected; take an older "
                          "checkpoint",
                          name_, found, expected));
}

}  // namespace infeed::detail
