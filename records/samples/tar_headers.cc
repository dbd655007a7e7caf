#include "samples/tar_headers.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "infeed/error.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kTarTextBytesMax = std::uint64_t{1} << 20;  // in a pax or GNU name header

std::string_view tar_field(std::string_view block, std::size_t begin, std::size_t size) {
  const std::string_view text = block.substr(begin, size);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

/// Parses octal, or base 256 when the first bit is set (GNU, for sizes over 8 GiB).
std::optional<std::uint64_t> parse_tar_number(std::string_view block, std::size_t begin,
                                              std::size_t size) {
  const auto first = static_cast<unsigned char>(block.at(begin));
  if ((first & 0x80U) != 0) {
    std::uint64_t value = 0;
    for (std::size_t i = 1; i < size; ++i) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(block.at(begin + i));
    }
    return value;
  }
  std::string_view text = tar_field(block, begin, size);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (!text.empty() && (error != std::errc() || end != text.data() + text.size())) {
    return std::nullopt;
  }
  return value;
}

bool has_valid_sum(std::string_view block) {
  constexpr std::size_t kSumBegin = 148;
  constexpr std::size_t kSumBytes = 8;
  std::uint64_t sum = kSumBytes * ' ';  // the checksum's own field counts as spaces
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kSumBegin && i < kSumBegin + kSumBytes;
    if (!is_sum) sum += static_cast<unsigned char>(block.at(i));
  }
  return parse_tar_number(block, kSumBegin, kSumBytes) == sum;
}

/// Visits lines "SIZE key=value\n".
template <class Visit>
void visit_pax(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || size > text.size() || size < digits + 2) return;
    const std::string_view line = text.substr(digits + 1, size - digits - 2);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) visit(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(size);
  }
}

[[noreturn]] void refuse_header(const std::string& what) {
  throw Error(ErrorCode::data_loss, what);
}

}  // namespace

bool is_tar_end(std::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

TarHeaders::Next TarHeaders::take(std::string_view block) {
  if (!has_valid_sum(block)) {
    refuse_header(is_first_ ? "this is no tar file: its first 512 bytes have no valid checksum"
                            : "a member's header is damaged: its checksum does not match");
  }
  is_first_ = false;
  const auto size = parse_tar_number(block, 124, 12);
  if (!size) refuse_header("a member's size is no number");
  const std::uint64_t bytes = pax_size_.value_or(*size);
  if (bytes > std::uint64_t{INT64_MAX}) refuse_header("a member's size makes no sense");
  text_kind_ = block[156];
  switch (text_kind_) {
    case 'x':
    case 'L':
      if (*size > kTarTextBytesMax) {
        refuse_header(fmt::format("a name of {} bytes makes no sense", *size));
      }
      return {.kind = Next::Kind::text, .bytes = *size};
    case 'g':
    case 'K':  // they say nothing about names and sizes of files
      return {.kind = Next::Kind::passed_over, .bytes = *size};
    case 'S':
      refuse_header(
          "a sparse member can't be read in place; pack the tar file anew without "
          "--sparse");
    case '0':
    case '\0':
    case '7': {
      Next next{.kind = Next::Kind::member, .bytes = bytes, .name = name_of(block)};
      forget();
      return next;
    }
    default:
      forget();
      return {.kind = Next::Kind::passed_over, .bytes = bytes};
  }
}

void TarHeaders::take_text(std::string_view text) {
  if (text_kind_ == 'L') {
    long_name_ = text;
    while (long_name_.ends_with('\0')) long_name_.pop_back();
    return;
  }
  visit_pax(text, [this](std::string_view key, std::string_view value) {
    if (key == "path") long_name_ = value;
    if (key != "size") return;
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size()) {
      refuse_header("a pax size is no number");
    }
    pax_size_ = size;
  });
}

void TarHeaders::forget() {
  long_name_.clear();
  pax_size_.reset();
}

std::string TarHeaders::name_of(std::string_view block) const {
  std::string name = long_name_;
  if (name.empty()) {
    const bool is_ustar = tar_field(block, 257, 6).starts_with("ustar");
    // GNU's magic has a space there, and other fields in place of the prefix.
    const std::string_view prefix =
        is_ustar && block[262] == '\0' ? tar_field(block, 345, 155) : std::string_view();
    name = prefix.empty() ? "" : std::string(prefix) + "/";
    name += tar_field(block, 0, 100);
  }
  return name.starts_with("./") ? name.substr(2) : name;
}

}  // namespace infeed::detail
