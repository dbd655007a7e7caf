#include "samples/tar_stream.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "io/byte_source.h"
#include "memory/block.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kTarWindowBytes = std::size_t{256} << 10;
constexpr std::string_view kTarEmpty = "the file is empty, which no tar file is";
/// A file without an end mark may have lost members.
constexpr std::string_view kTarEndMissing =
    "the tar file is cut: it ends without its end mark, so members may be missing; if it is known "
    "to "
    "be whole, append 1024 zero bytes";

std::string cut_member(std::uint64_t bytes, std::uint64_t left) {
  return fmt::format("the tar file is cut: a member of {} bytes begins here, and {} are left",
                     bytes, left);
}

/// True if a part of the path begins with a dot: "train/._7.png", ".cache/7.png".
bool is_hidden(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.starts_with('.') && part != "." && part != "..") return true;
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return false;
}

/// Returns the reason why a member is no field; empty for a field.
std::optional<LeftOut> why_left_out(const TarHeaders::Next& header) {
  if (is_hidden(header.name)) return LeftOut::hidden;
  if (header.kind == TarHeaders::Next::Kind::no_file) return LeftOut::no_file;
  if (split_tar_name(header.name).extension.empty()) return LeftOut::other_name;
  return std::nullopt;
}

}  // namespace

TarStream::TarStream(const std::string& file, std::string shown, const TarOptions& options,
                     std::shared_ptr<SpareBlocks> spare_blocks)
    : shown_(std::move(shown)),
      window_(open_data_source(file, {.compression = options.compression,
                                      .input_block_bytes = kTarWindowBytes,
                                      .url = options.url})
                  .source,
              std::make_shared<BlockPool>(shown_, FreeBlocks{.blocks_max = 16},
                                          std::move(spare_blocks)),
              kTarWindowBytes) {}

std::optional<TarEntry> TarStream::next() {
  while (std::optional<TarHeaders::Next> header = next_header()) {
    const std::optional<LeftOut> why = why_left_out(*header);
    if (!why) {
      return TarEntry{{std::move(header->name), window_.offset(), header->bytes},
                      header->kind == TarHeaders::Next::Kind::link,
                      std::move(header->target)};
    }
    left_out_.add(*why, header->name);
    pass(padded_tar_bytes(header->bytes), header->bytes);
  }
  return std::nullopt;
}

Record TarStream::read(const TarMember& member, std::uint64_t number) {
  const auto bytes = static_cast<std::size_t>(member.bytes);
  if (!window_.ensure(bytes)) fail(cut_member(bytes, window_.size()), member.offset);
  Record content;
  if (bytes != 0) {
    Block* const block = window_.block();
    block->references.fetch_add(1, std::memory_order_relaxed);
    content = Record::adopt(block, {window_.data(), bytes}, number);
    window_.consume(bytes);
  }
  pass(padded_tar_bytes(bytes) - bytes, 0);
  return content;
}

/// Returns the header of the next file, link or device; empty at the end mark.
std::optional<TarHeaders::Next> TarStream::next_header() {
  while (true) {
    const std::uint64_t at = window_.offset();
    if (!window_.ensure(kTarBlockBytes)) {
      fail(window_.size() == 0 && at == 0 ? std::string(kTarEmpty) : std::string(kTarEndMissing),
           at);
    }
    const std::string_view block(window_.data(), kTarBlockBytes);
    if (is_tar_end(block)) return std::nullopt;
    TarHeaders::Next found;
    try {
      found = headers_.take(block);
    } catch (const Error& error) {
      fail(error.message(), at);
    }
    window_.consume(kTarBlockBytes);
    switch (found.kind) {
      case TarHeaders::Next::Kind::text:
        take_text(static_cast<std::size_t>(found.bytes), at);
        pass(padded_tar_bytes(found.bytes) - found.bytes, 0);
        break;
      case TarHeaders::Next::Kind::passed_over:
        pass(padded_tar_bytes(found.bytes), found.bytes);
        break;
      default:
        return found;
    }
  }
}

bool TarStream::begin_next_archive() {
  while (window_.ensure(kTarBlockBytes) && is_tar_end({window_.data(), kTarBlockBytes})) {
    window_.consume(kTarBlockBytes);
  }
  const std::string_view rest(window_.data(),
                              std::min<std::size_t>(window_.size(), kTarBlockBytes));
  if (rest.size() == kTarBlockBytes && has_tar_sum(rest)) return true;
  if (window_.damage() || !is_tar_end(rest)) {
    fail(
        "behind the tar file's end stand bytes that are no tar file; if they are known to be no "
        "data, cut the file off here",
        window_.offset());
  }
  return false;
}

void TarStream::fail(const std::string& message, std::uint64_t offset) const {
  if (window_.damage()) {
    throw error_at(ErrorCode::data_loss, window_.damage()->message,
                   window_.offset() + window_.size());
  }
  throw error_at(ErrorCode::data_loss, message, offset);
}

void TarStream::take_text(std::size_t bytes, std::uint64_t at) {
  if (!window_.ensure(bytes)) fail(cut_member(bytes, window_.size()), window_.offset());
  try {
    headers_.take_text({window_.data(), bytes});
  } catch (const Error& error) {
    fail(error.message(), at);
  }
  window_.consume(bytes);
}

/// Passes over bytes, of which the first `content_bytes` aren't padding.
void TarStream::pass(std::uint64_t bytes, std::uint64_t content_bytes) {
  const std::uint64_t begin = window_.offset();
  if (window_.discard(bytes)) return;
  const std::uint64_t left = window_.offset() - begin;
  if (left < content_bytes) fail(cut_member(content_bytes, left), begin);
  fail(std::string(kTarEndMissing), window_.offset());
}

}  // namespace infeed::detail
