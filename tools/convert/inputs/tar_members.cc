#include "convert/inputs/tar_members.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

constexpr std::uint64_t kBlockBytes = 512;
constexpr std::uint64_t kNameBytesMax = std::uint64_t{1} << 20;  // of a pax or GNU name header

using Block = std::array<char, kBlockBytes>;

std::string_view field(const Block& block, std::size_t begin, std::size_t size) {
  const std::string_view text(block.data() + begin, size);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

/// Octal, or base 256 when the first bit is set (GNU, for sizes over 8 GiB).
std::optional<std::uint64_t> parse_number(const Block& block, std::size_t begin, std::size_t size) {
  const auto first = static_cast<unsigned char>(block.at(begin));
  if ((first & 0x80U) != 0) {
    std::uint64_t value = 0;
    for (std::size_t i = 1; i < size; ++i) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(block.at(begin + i));
    }
    return value;
  }
  std::string_view text = field(block, begin, size);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (!text.empty() && (error != std::errc() || end != text.data() + text.size())) {
    return std::nullopt;
  }
  return value;
}

bool is_valid(const Block& block) {
  constexpr std::size_t kSumBegin = 148;
  constexpr std::size_t kSumBytes = 8;
  std::uint64_t sum = kSumBytes * ' ';  // its own field counts as spaces
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kSumBegin && i < kSumBegin + kSumBytes;
    if (!is_sum) sum += static_cast<unsigned char>(block.at(i));
  }
  return parse_number(block, kSumBegin, kSumBytes) == sum;
}

/// "SIZE key=value\n", again and again.
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

class TarLister {
 public:
  explicit TarLister(const SeekableFile& file) : file_(file) {}

  std::vector<TarMember> list() {
    Block block{};
    while (next_header(block)) {
      const auto size = parse_number(block, 124, 12);
      if (!size) fail("a member's size is no number");
      take_member(block, pax_size_.value_or(*size));
    }
    return std::move(members_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::data_loss, message).at_file(file_.name()).at_offset(at_);
  }

  /// False at the end, which is a block of zeros: a file without it may have lost members.
  bool next_header(Block& block) {
    const std::size_t got = file_.read_at(at_, block);
    if (got == 0 && at_ == 0) fail("the file is empty, which no tar file is");
    if (got < block.size()) {
      fail(
          "the tar file is cut: it ends without its end mark, so members may be missing; if it is "
          "known to be whole, append 1024 zero bytes");
    }
    if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) return false;
    if (!is_valid(block)) {
      fail(at_ == 0 ? "this is no tar file: its first 512 bytes have no valid checksum"
                    : "a member's header is damaged: its checksum does not match");
    }
    return true;
  }

  void take_member(const Block& block, std::uint64_t bytes) {
    const std::uint64_t content = at_ + kBlockBytes;
    if (content > file_.size_bytes() || bytes > file_.size_bytes() - content) {
      fail(fmt::format("the tar file is cut: a member of {} bytes begins here, and {} are left",
                       bytes, file_.size_bytes() - std::min(content, file_.size_bytes())));
    }
    switch (block[156]) {
      case 'x':
        visit_pax(read_text(content, bytes),
                  [this](std::string_view key, std::string_view value) { take_pax(key, value); });
        break;
      case 'L':
        long_name_ = read_text(content, bytes);
        while (long_name_.ends_with('\0')) long_name_.pop_back();
        break;
      case 'g':
      case 'K':
        break;  // says nothing about names and sizes of files
      case 'S':
        fail("a sparse member can't be read in place; pack the tar file anew without --sparse");
      case '0':
      case '\0':
      case '7':
        members_.push_back({name_of(block), content, bytes});
        [[fallthrough]];
      default:
        long_name_.clear();
        pax_size_.reset();
    }
    at_ = content + (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }

  std::string read_text(std::uint64_t offset, std::uint64_t bytes) const {
    if (bytes > kNameBytesMax) fail(fmt::format("a name of {} bytes makes no sense", bytes));
    std::string text(bytes, '\0');
    file_.read_exactly(offset, text);
    return text;
  }

  void take_pax(std::string_view key, std::string_view value) {
    if (key == "path") long_name_ = value;
    if (key != "size") return;
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size()) fail("a pax size is no number");
    pax_size_ = size;
  }

  std::string name_of(const Block& block) const {
    std::string name = long_name_;
    if (name.empty()) {
      const bool is_ustar = field(block, 257, 6).starts_with("ustar");
      // GNU's magic has a space there and other fields in the prefix's place.
      const std::string_view prefix =
          is_ustar && block[262] == '\0' ? field(block, 345, 155) : std::string_view();
      name = prefix.empty() ? "" : std::string(prefix) + "/";
      name += field(block, 0, 100);
    }
    return name.starts_with("./") ? name.substr(2) : name;
  }

  const SeekableFile& file_;
  std::uint64_t at_ = 0;
  std::string long_name_;
  std::optional<std::uint64_t> pax_size_;
  std::vector<TarMember> members_;
};

}  // namespace

std::vector<TarMember> list_tar(const SeekableFile& file) { return TarLister(file).list(); }

}  // namespace infeed::tools
