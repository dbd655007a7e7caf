#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "infeed/records/url_options.h"

namespace infeed::detail {

/// A file to read at any place, on a disk or by URL.
///
/// Thread-safety: any threads at once.
class InputFile {
 public:
  InputFile() = default;
  virtual ~InputFile() = default;

  virtual const std::string& name() const = 0;
  /// Size of the file; empty for a pipe or device.
  virtual std::optional<std::uint64_t> size_bytes() const = 0;
  /// Reads until `into` is full or the file ends: fewer bytes mean its end. Throws Error.
  virtual std::size_t read_at(std::uint64_t offset, std::span<char> into) const = 0;

 protected:
  InputFile(InputFile&&) = default;
  InputFile& operator=(InputFile&&) = default;
};

/// Opens a path or URL. Throws Error.
std::unique_ptr<InputFile> open_input_file(const std::string& name, const UrlOptions& options = {});

}  // namespace infeed::detail
