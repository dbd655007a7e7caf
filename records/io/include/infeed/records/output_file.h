#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "infeed/records/file.h"
#include "infeed/records/file_sum.h"

/// Why: a file that another program waits for is either whole or not there. The bytes go to
/// `.NAME.partial` in the same folder, and commit() renames it to NAME. A name that is a device, a
/// pipe or /dev/stdout is written directly. A pipe that nobody reads is an Error
/// failed_precondition.
///
///     infeed::replace_file("result.json", "{\"accuracy\": 0.87}\n");
///
/// Errors: already_exists, not_found (the folder), permission_denied, resource_exhausted (disk or
/// quota full, larger than `ulimit -f` allows), data_loss (the device fails), failed_precondition
/// (somebody else is writing it), with the file.
namespace infeed {

enum class ExistingFile { refuse, replace };

enum class Durability {
  /// Written bytes survive the process, not a power cut.
  leave_to_system,
  /// commit() returns when file and name are on the disk. Writing starts early, in steps of 8 MiB,
  /// so that the last sync has little left (2.5 GB/s instead of 0.5 here).
  synced,
};

/// Writes one file. Thread-safety: one thread at a time.
class OutputFile {
 public:
  OutputFile(std::string name, ExistingFile existing, Durability durability);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the file if it was not committed.
  ~OutputFile() { discard(); }

  void write(std::string_view bytes);
  void commit();
  void discard() noexcept;
  const std::string& name() const { return name_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  /// False for a device or a pipe.
  bool is_regular() const { return is_regular_; }
  /// Sums up the written bytes. Must be called before the first of them.
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

/// Throws now the error that replace_file() would throw later, before a minute of work: the folder
/// must be there and writable. Leaves nothing behind.
void check_can_write(const std::string& file);

/// Writes a whole file at once and replaces the one that is there.
void replace_file(const std::string& file, std::string_view bytes,
                  Durability durability = Durability::synced);

}  // namespace infeed
