#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "infeed/records/file.h"
#include "infeed/records/file_sum.h"
#include "infeed/records/record_writer.h"

/// A file that appears under its name only when it is whole.
namespace infeed::detail {

class OutputFile {
 public:
  OutputFile(std::string name, ExistingFile existing, Durability durability);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes what was not committed.
  ~OutputFile() { discard(); }

  void write(std::string_view bytes);
  void commit();
  void discard() noexcept;
  const std::string& name() const { return name_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  /// No device and no pipe.
  bool is_regular() const { return is_regular_; }
  /// From the first byte on, when it was asked for before that.
  void sum_what_is_written() { is_summed_ = true; }
  FileSum sum() const { return {bytes_written_, crc32c_}; }

 private:
  void open_partial();
  void start_writeback();
  void rename_to_name();
  [[noreturn]] void fail(std::string_view action, int error_number);

  const std::string name_;
  const ExistingFile existing_;
  const Durability durability_;
  std::string partial_name_;  // empty when the name itself is written
  File file_;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_in_writeback_ = 0;
  bool is_regular_ = true;
  bool is_summed_ = false;
  std::uint32_t crc32c_ = 0;
};

}  // namespace infeed::detail
