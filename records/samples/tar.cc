#include "infeed/records/tar.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <unordered_set>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "io/byte_source.h"
#include "io/stream_window.h"
#include "memory/block.h"
#include "samples/tar_headers.h"

namespace infeed {
namespace detail {
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

}  // namespace

/// The members of a stream, front to back.
class TarStream {
 public:
  TarStream(const std::string& file, const TarOptions& options,
            std::shared_ptr<SpareBlocks> spare_blocks)
      : file_(redacted_url(file)),
        window_(open_data_source(file, {.compression = options.compression,
                                        .input_block_bytes = kTarWindowBytes,
                                        .url = options.url})
                    .source,
                std::make_shared<BlockPool>(file_, FreeBlocks{.blocks_max = 16},
                                            std::move(spare_blocks)),
                kTarWindowBytes) {}

  /// Returns the next member, whose content must then be read or passed over; empty at the end.
  std::optional<TarMember> next() {
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
      if (found.kind == TarHeaders::Next::Kind::member) {
        return TarMember{std::move(found.name), window_.offset(), found.bytes};
      }
      if (found.kind == TarHeaders::Next::Kind::text) {
        take_text(static_cast<std::size_t>(found.bytes), at);
        pass(padded_tar_bytes(found.bytes) - found.bytes, found.bytes);
      } else {
        pass(padded_tar_bytes(found.bytes), found.bytes);
      }
    }
  }

  Record read(const TarMember& member, std::uint64_t number) {
    const auto bytes = static_cast<std::size_t>(member.bytes);
    if (!window_.ensure(bytes)) fail(cut_member(bytes, window_.size()), member.offset);
    Record content;
    if (bytes != 0) {
      Block* const block = window_.block();
      block->references.fetch_add(1, std::memory_order_relaxed);
      content = Record::adopt(block, {window_.data(), bytes}, number);
      window_.consume(bytes);
    }
    pass(padded_tar_bytes(bytes) - bytes, bytes);
    return content;
  }
  void pass_over(const TarMember& member) { pass(padded_tar_bytes(member.bytes), member.bytes); }

  Error error_at(ErrorCode code, std::string message, std::uint64_t offset) const {
    return Error(code, std::move(message)).at_file(file_).at_offset(offset);
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::uint64_t offset) const {
    if (window_.damage()) {
      throw error_at(ErrorCode::data_loss, window_.damage()->message,
                     window_.offset() + window_.size());
    }
    throw error_at(ErrorCode::data_loss, message, offset);
  }

  void take_text(std::size_t bytes, std::uint64_t at) {
    if (!window_.ensure(bytes)) fail(cut_member(bytes, window_.size()), window_.offset());
    try {
      headers_.take_text({window_.data(), bytes});
    } catch (const Error& error) {
      fail(error.message(), at);
    }
    window_.consume(bytes);
  }

  void pass(std::uint64_t bytes, std::uint64_t member_bytes) {
    const std::uint64_t begin = window_.offset();
    if (!window_.discard(bytes)) fail(cut_member(member_bytes, window_.offset() - begin), begin);
  }

  const std::string file_;
  StreamWindow window_;
  TarHeaders headers_;
};

}  // namespace detail

class TarSampleReader::State {
 public:
  State(const std::string& file, const TarOptions& options,
        std::shared_ptr<SpareBlocks> spare_blocks)
      : member_bytes_max_(options.member_bytes_max.of("tar", "member_bytes_max")),
        stream_(file, options, std::move(spare_blocks)) {}

  /// Reads the next sample. `out` is null where only the headers matter. Returns false at the end.
  bool next(TarSample* out) try {
    if (is_over_) return false;
    if (!is_begun_) next_ = stream_.next();
    is_begun_ = true;
    if (!next_) {
      is_over_ = true;
      return false;
    }
    const std::string key(split_tar_name(next_->name).key);
    if (out != nullptr) *out = {key, {}};
    std::optional<Error> wrong;
    std::unordered_set<std::string> extensions;
    while (next_ && split_tar_name(next_->name).key == key) {
      if (out != nullptr && !wrong) wrong = what_is_wrong(extensions);
      if (out != nullptr && !wrong) {
        out->fields.push_back(
            {std::string(split_tar_name(next_->name).extension), stream_.read(*next_, number_)});
      } else {
        stream_.pass_over(*next_);
      }
      next_ = stream_.next();
    }
    ++number_;
    if (wrong) wrong_ = std::move(wrong);
    return true;
  } catch (...) {
    is_over_ = true;
    throw;
  }

  bool read(TarSample& out) {
    if (!next(&out)) return false;
    if (wrong_) throw Error(*std::exchange(wrong_, std::nullopt));
    return true;
  }

 private:
  /// Returns an error if the next member is wrong. `extensions` are those of the sample so far.
  std::optional<Error> what_is_wrong(std::unordered_set<std::string>& extensions) const {
    if (!extensions.emplace(split_tar_name(next_->name).extension).second) {
      return stream_.error_at(ErrorCode::data_loss,
                              fmt::format("the member '{}' comes twice in one sample", next_->name),
                              next_->offset);
    }
    if (next_->bytes <= member_bytes_max_) return std::nullopt;
    return stream_.error_at(ErrorCode::resource_exhausted,
                            fmt::format("the member '{}' has {} bytes, more than {}; "
                                        "member_bytes_max is the limit",
                                        next_->name, next_->bytes, member_bytes_max_),
                            next_->offset);
  }

  const std::uint64_t member_bytes_max_;
  detail::TarStream stream_;
  std::optional<TarMember> next_;  ///< its header was read already
  std::optional<Error> wrong_;
  bool is_begun_ = false;
  bool is_over_ = false;
  std::uint64_t number_ = 0;
};

TarSampleReader::TarSampleReader(const std::string& file, const TarOptions& options,
                                 std::shared_ptr<SpareBlocks> spare_blocks)
    : state_(std::make_unique<State>(file, options, std::move(spare_blocks))) {}
TarSampleReader::TarSampleReader(TarSampleReader&&) noexcept = default;
TarSampleReader::~TarSampleReader() = default;

bool TarSampleReader::read(TarSample& out) { return state_->read(out); }
bool TarSampleReader::skip() { return state_->next(nullptr); }

TarName split_tar_name(std::string_view name) {
  const std::size_t last_part = name.rfind('/') + 1;  // 0 when there is no slash
  const std::size_t dot = name.find('.', last_part);
  if (dot == std::string_view::npos) return {name, "content"};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::vector<TarMember> list_tar(const SeekableFile& file) {
  std::vector<TarMember> members;
  detail::TarHeaders headers;
  std::uint64_t at = 0;
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorCode::data_loss, message).at_file(file.name()).at_offset(at);
  };
  while (true) {
    std::array<char, detail::kTarBlockBytes> block{};
    const std::size_t got = file.read_at(at, block);
    if (got == 0 && at == 0) fail(std::string(detail::kTarEmpty));
    if (got < block.size()) fail(std::string(detail::kTarEndMissing));
    const std::string_view header(block.data(), block.size());
    if (detail::is_tar_end(header)) return members;
    try {
      detail::TarHeaders::Next next = headers.take(header);
      const std::uint64_t content = at + detail::kTarBlockBytes;
      const std::uint64_t left = file.size_bytes() - std::min(content, file.size_bytes());
      if (next.bytes > left) fail(detail::cut_member(next.bytes, left));
      if (next.kind == detail::TarHeaders::Next::Kind::text) {
        std::string text(static_cast<std::size_t>(next.bytes), '\0');
        file.read_exactly(content, text);
        headers.take_text(text);
      } else if (next.kind == detail::TarHeaders::Next::Kind::member) {
        members.push_back({std::move(next.name), content, next.bytes});
      }
      at = content + detail::padded_tar_bytes(next.bytes);
    } catch (const Error& error) {
      if (!error.file().empty()) throw;
      fail(error.message());
    }
  }
}

}  // namespace infeed
