#pragma once

#include <memory>
#include <string>

#include "io/byte_source.h"
#include "io/input_file.h"
#include "remote/http/transfers.h"

namespace infeed::detail {

/// One object read by URL. Opening it settles which object it is.
class UrlFile final : public InputFile {
 public:
  /// Asks for the first bytes. Throws Error.
  UrlFile(const std::string& name, const UrlOptions& options);

  const std::string& name() const override { return transfers_.target().name(); }
  std::optional<std::uint64_t> size_bytes() const override { return size_; }
  /// Reads all bytes up to the object's end, or throws.
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const override;

  Transfers& transfers() const { return transfers_; }
  /// The front of the object, or all of it.
  const std::shared_ptr<Transfer>& front() const { return front_; }
  std::size_t front_bytes() const { return front_bytes_; }

 private:
  bool read_front(std::size_t offset, std::span<char> into) const;

  mutable Transfers transfers_;  // does its own locking
  std::shared_ptr<Transfer> front_;
  std::size_t front_bytes_ = 0;
  std::uint64_t size_ = 0;
};

/// Bytes asked for by the first request, and by the first one after a jump.
inline constexpr std::size_t kFirstRangeBytes = std::size_t{256} << 10;

}  // namespace infeed::detail
