#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "infeed/error.h"
#include "input_file.h"

/// System calls on files, with errors a person can act on.
namespace infeed::detail {

/// "cannot open: no such file; ..." with the code that fits `error_number`. `action` completes
/// "cannot ...".
Error system_error(std::string_view action, const std::string& file, int error_number);

/// An owned file descriptor.
class File final : public InputFile {
 public:
  File() = default;
  File(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File() override;

  /// Refuses folders.
  static File open_to_read(const std::string& name);

  int descriptor() const { return descriptor_; }
  const std::string& name() const override { return name_; }
  bool is_open() const { return descriptor_ >= 0; }
  std::optional<std::uint64_t> size_bytes() const override;
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const override;
  /// What is at hand, at least a byte; 0 is the end. For pipes.
  std::size_t read_some(std::span<char> into) const;
  void close() noexcept;

 private:
  int descriptor_ = -1;
  std::string name_;
};

}  // namespace infeed::detail
