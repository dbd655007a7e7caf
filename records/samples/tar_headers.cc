#include "samples/tar_headers.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "infeed/detail/parse_whole.h"
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
  if (!text.empty() && !parse_whole(text, value, 8)) return std::nullopt;
  return value;
}

[[noreturn]] void refuse_header(const std::string& what) {
  throw Error(ErrorCode::data_loss, what);
}

/// Visits lines "SIZE key=value\n".
template <class Visit>
void visit_pax(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    std::size_t size = 0;
    std::string_view behind = text;
    const bool has_size = take_number(behind, size);
    const std::size_t digits = text.size() - behind.size();
    const bool has_line = has_size && size <= text.size() && size >= digits + 2;
    const std::string_view line =
        has_line ? text.substr(digits + 1, size - digits - 2) : std::string_view();
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      refuse_header("a pax header is damaged: lines like '20 path=name' are expected");
    }
    visit(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(size);
  }
}

[[noreturn]] void refuse_sparse(const std::string& name) {
  refuse_header(
      fmt::format("the member '{}' is sparse: its holes are left out, so its bytes aren't its "
                  "content; pack the tar file anew without --sparse (GNU tar), or with "
                  "--no-read-sparse (bsdtar, macOS)",
                  name));
}

}  // namespace

bool is_tar_end(std::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

bool has_tar_sum(std::string_view block) {
  constexpr std::size_t kSumBegin = 148;
  constexpr std::size_t kSumBytes = 8;
  std::int64_t sum = kSumBytes * ' ';  // the checksum's own field counts as spaces
  std::int64_t signed_sum = sum;       // old Sun tars added the bytes up as signed ones
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i >= kSumBegin && i < kSumBegin + kSumBytes) continue;
    sum += static_cast<unsigned char>(block.at(i));
    signed_sum += static_cast<signed char>(block.at(i));
  }
  const auto written = parse_tar_number(block, kSumBegin, kSumBytes);
  return written && (std::cmp_equal(*written, sum) || std::cmp_equal(*written, signed_sum));
}

TarHeaders::Next TarHeaders::take(std::string_view block) {
  if (!has_tar_sum(block)) {
    refuse_header(is_first_ ? "this is no tar file: its first 512 bytes have no valid checksum"
                            : "a member's header is damaged: its checksum does not match");
  }
  is_first_ = false;
  const auto size = parse_tar_number(block, 124, 12);
  if (!size) refuse_header("a member's size is no number");
  text_kind_ = block[156];
  switch (text_kind_) {
    case 'x':
    case 'X':  // Solaris' name for the same
    case 'L':
    case 'K':
      if (*size > kTarTextBytesMax) {
        refuse_header(fmt::format("a name of {} bytes makes no sense", *size));
      }
      return {.kind = Next::Kind::text, .bytes = *size};
    case 'g':  // says nothing about names and sizes of files
      return {.kind = Next::Kind::passed_over, .bytes = *size};
    default:
      break;
  }
  Next next = described(block, pax_size_.value_or(*size));
  forget();
  return next;
}

/// Returns what a header of a file, a folder or the like says, with the texts before it.
TarHeaders::Next TarHeaders::described(std::string_view block, std::uint64_t bytes) const {
  if (bytes > std::uint64_t{INT64_MAX}) refuse_header("a member's size makes no sense");
  std::string name = name_of(block);
  switch (block[156]) {
    case 'S':
      refuse_sparse(name);
    case 'M':
      refuse_header(
          fmt::format("the member '{}' goes on from another volume; put the volumes "
                      "together first",
                      name));
    case '0':
    case '\0':
    case '7':
      if (is_sparse_) refuse_sparse(sparse_name_.empty() ? name : sparse_name_);
      // The oldest tar files mark folders by their names only.
      return {.kind = name.ends_with('/') ? Next::Kind::passed_over : Next::Kind::member,
              .bytes = bytes,
              .name = std::move(name)};
    // No content follows these, whatever their size says.
    case '1':
    case '2':
      return {.kind = Next::Kind::link, .name = std::move(name), .target = target_of(block)};
    case '3':
    case '4':
    case '6':
      return {.kind = Next::Kind::no_file, .name = std::move(name)};
    case '5':
      return {};
    case 'V':  // the archive's label
      return {.bytes = bytes};
    default:
      return {.kind = Next::Kind::no_file, .bytes = bytes, .name = std::move(name)};
  }
}

void TarHeaders::take_text(std::string_view text) {
  if (text_kind_ == 'x' || text_kind_ == 'X') {
    visit_pax(text, [this](std::string_view key, std::string_view value) { take_pax(key, value); });
    return;
  }
  std::string& name = text_kind_ == 'L' ? long_name_ : long_target_;
  name = text;
  while (name.ends_with('\0')) name.pop_back();
}

void TarHeaders::take_pax(std::string_view key, std::string_view value) {
  if (key == "path") long_name_ = value;
  if (key == "linkpath") long_target_ = value;
  if (key == "GNU.sparse.name") sparse_name_ = value;
  if (key.starts_with("GNU.sparse.") || key == "SUN.holesdata") is_sparse_ = true;
  if (key != "size") return;
  std::uint64_t size = 0;
  if (!parse_whole(value, size)) refuse_header("a pax size is no number");
  pax_size_ = size;
}

void TarHeaders::forget() {
  long_name_.clear();
  long_target_.clear();
  is_sparse_ = false;
  sparse_name_.clear();
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

std::string TarHeaders::target_of(std::string_view block) const {
  return long_target_.empty() ? std::string(tar_field(block, 157, 100)) : long_target_;
}

}  // namespace infeed::detail
