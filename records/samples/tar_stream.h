#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "infeed/error.h"
#include "infeed/records/left_out.h"
#include "infeed/records/record.h"
#include "infeed/records/tar.h"
#include "io/stream_window.h"
#include "samples/tar_headers.h"

namespace infeed::detail {

/// A member of a tar file that is a field of a sample by its name.
struct TarEntry {
  TarMember member;
  bool is_link = false;  ///< true: it has no content
  std::string link_target;
};

/// The members of a stream, front to back: of one archive, then of the next one. Members that are no
/// fields are left out and listed. Errors are data_loss, with file and offset.
class TarStream {
 public:
  /// Opens `file`. Errors and records name it `shown`.
  TarStream(const std::string& file, std::string shown, const TarOptions& options,
            std::shared_ptr<SpareBlocks> spare_blocks);

  /// Returns the next member, whose content must then be read or passed over; empty at the end mark.
  std::optional<TarEntry> next();
  Record read(const TarMember& member, std::uint64_t number);
  void pass_over(const TarMember& member) { pass(padded_tar_bytes(member.bytes), member.bytes); }

  /// Passes over the end mark to the next archive, since tar files may stand one behind the other
  /// (`cat a.tar b.tar`). Returns false if there is none.
  bool begin_next_archive();

  const Omissions& left_out() const { return left_out_; }
  Error error_at(ErrorCode code, std::string message, std::uint64_t offset) const {
    return Error(code, std::move(message)).at_file(shown_).at_offset(offset);
  }

 private:
  std::optional<TarHeaders::Next> next_header();
  [[noreturn]] void fail(const std::string& message, std::uint64_t offset) const;
  void take_text(std::size_t bytes, std::uint64_t at);
  void pass(std::uint64_t bytes, std::uint64_t content_bytes);

  const std::string shown_;
  StreamWindow window_;
  TarHeaders headers_;
  Omissions left_out_;
};

}  // namespace infeed::detail
