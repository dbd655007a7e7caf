#include "infeed/records/fixed_length.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "io/byte_source.h"
#include "io/stream_window.h"
#include "memory/block.h"

namespace infeed {
namespace detail {

constexpr std::size_t kFixedBlockBytes = std::size_t{256} << 10;

struct FixedLayout {
  explicit FixedLayout(const FixedLengthFormat& format)
      : record(format.record_bytes.of("fixed_length_records", "record_bytes")),
        header(format.header_bytes.of("fixed_length_records", "header_bytes")),
        footer(format.footer_bytes.of("fixed_length_records", "footer_bytes")) {
    if (record == 0) {
      throw Error(ErrorCode::invalid_argument,
                  "fixed_length_records: record_bytes is 0; give the bytes of one record");
    }
  }

  /// Returns the number of records; empty where the size doesn't fit.
  std::optional<std::uint64_t> records_of(std::uint64_t file_bytes) const {
    if (file_bytes < header || file_bytes - header < footer) return std::nullopt;
    const std::uint64_t body = file_bytes - header - footer;
    return body % record == 0 ? std::optional(body / record) : std::nullopt;
  }

  Error misfit(std::uint64_t file_bytes, std::string_view noun) const {
    std::string frame;
    if (header != 0) frame += fmt::format("a header of {} bytes, ", header);
    if (footer != 0) frame += fmt::format("a footer of {} bytes, ", footer);
    const std::uint64_t body = file_bytes - std::min(file_bytes, header + footer);
    return Error(
        ErrorCode::data_loss,
        fmt::format("the file has {} {}, which are not {}records of {} bytes ({} bytes are "
                    "left over); it is cut, or record_bytes, header_bytes or "
                    "footer_bytes are those of another format",
                    file_bytes, noun, frame, record, body % record));
  }

  std::uint64_t record;
  std::uint64_t header;
  std::uint64_t footer;
};

}  // namespace detail

class FixedLengthReader::State {
 public:
  State(const std::string& file, const FixedLengthFormat& format,
        std::shared_ptr<SpareBlocks> spare_blocks)
      : layout_(format),
        file_(redacted_url(file)),
        window_(detail::open_data_source(file, {.compression = format.compression,
                                                .input_block_bytes = detail::kFixedBlockBytes,
                                                .url = format.url})
                    .source,
                std::make_shared<detail::BlockPool>(file_, detail::FreeBlocks{.blocks_max = 16},
                                                    std::move(spare_blocks)),
                detail::kFixedBlockBytes) {}

  std::size_t read(std::span<Record> out) {
    const std::uint64_t there = make_available();
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(there, out.size()));
    if (count == 0) return 0;
    detail::Block* const block = window_.block();
    block->references.fetch_add(count, std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
      const auto bytes = static_cast<std::size_t>(layout_.record);
      out[i] = Record::adopt(block, {window_.data() + i * bytes, bytes}, number_ + i);
    }
    pass(count);
    return count;
  }

  std::uint64_t skip(std::uint64_t count) {
    std::uint64_t skipped = 0;
    while (skipped < count) {
      try {
        const std::uint64_t passed = skip_some(count - skipped);
        if (passed == 0) break;
        skipped += passed;
      } catch (...) {
        if (skipped == 0) throw;
        failure_ = std::current_exception();
        break;
      }
    }
    return skipped;
  }

 private:
  std::uint64_t skip_some(std::uint64_t count) {
    const std::uint64_t there = make_available_or_known();
    const std::uint64_t passed = std::min(there, count);
    if (!left_) {
      pass(passed);
      return passed;
    }
    require_whole(window_.discard(passed * layout_.record));
    *left_ -= passed;
    number_ += passed;
    return passed;
  }

  /// Returns the number of records left if that is known, without reading any.
  std::uint64_t make_available_or_known() {
    begin();
    return left_ ? *left_ : make_available();
  }

  /// Passes over the header, and computes the number of records where the size is known.
  void begin() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (std::exchange(is_begun_, true)) return;
    if (const auto bytes = window_.remaining_bytes()) {
      left_ = layout_.records_of(*bytes);
      if (!left_) {
        left_ = 0;
        throw layout_.misfit(*bytes, "bytes").at_file(file_);
      }
    }
    if (!window_.discard(layout_.header)) finish();
  }

  /// Returns how many whole records lie in the window; at least one except at the end.
  std::uint64_t make_available() {
    begin();
    if (is_over_ || left_ == 0) return 0;
    const std::uint64_t behind = left_ ? 0 : layout_.footer;
    if (!window_.ensure(static_cast<std::size_t>(layout_.record + behind))) {
      finish();
      return 0;
    }
    const std::uint64_t there = (window_.size() - behind) / layout_.record;
    return left_ ? std::min(there, *left_) : there;
  }

  void pass(std::uint64_t count) {
    window_.consume(static_cast<std::size_t>(count * layout_.record));
    number_ += count;
    if (left_) *left_ -= count;
  }

  /// Checks that the stream ended where it should.
  void finish() {
    is_over_ = true;
    require_whole(!left_);
    const std::uint64_t bytes = window_.offset() + window_.size();
    if (window_.damage()) {
      throw Error(ErrorCode::data_loss, window_.damage()->message).at_file(file_).at_offset(bytes);
    }
    const bool lacks_header = bytes < layout_.header;
    if (lacks_header || window_.size() != layout_.footer) {
      throw layout_.misfit(bytes, "bytes when it is decompressed").at_file(file_);
    }
  }

  void require_whole(bool is_whole) {
    if (is_whole) return;
    left_ = 0;
    throw Error(ErrorCode::data_loss, "the file became shorter while it was read")
        .at_file(file_)
        .at_offset(window_.offset() + window_.size());
  }

  const detail::FixedLayout layout_;
  const std::string file_;
  detail::StreamWindow window_;
  bool is_begun_ = false;
  bool is_over_ = false;
  std::optional<std::uint64_t> left_;  ///< number of records left, where known
  std::uint64_t number_ = 0;
  std::exception_ptr failure_;  ///< to be thrown behind the records that a skip passed over
};

FixedLengthReader::FixedLengthReader(const std::string& file, const FixedLengthFormat& format,
                                     std::shared_ptr<SpareBlocks> spare_blocks)
    : state_(std::make_unique<State>(file, format, std::move(spare_blocks))) {}
FixedLengthReader::FixedLengthReader(FixedLengthReader&&) noexcept = default;
FixedLengthReader::~FixedLengthReader() = default;

std::size_t FixedLengthReader::read(std::span<Record> out) { return state_->read(out); }
std::uint64_t FixedLengthReader::skip(std::uint64_t count) { return state_->skip(count); }

std::optional<std::uint64_t> count_fixed_length_records(const std::string& file,
                                                        const FixedLengthFormat& format) {
  const detail::FixedLayout layout(format);
  if (is_url(file)) return std::nullopt;
  const auto bytes = detail::plain_file_bytes(file, format.compression);
  return bytes ? layout.records_of(*bytes) : std::nullopt;
}

}  // namespace infeed
