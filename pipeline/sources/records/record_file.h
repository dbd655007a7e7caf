#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <infeed/pipeline/detail/held_bytes.h>
#include <infeed/pipeline/records.h>
#include <infeed/records/parallel_record_reader.h>

#include "engine/iterator_context.h"
#include "engine/threads/thread_budget.h"
#include "sources/records/reader_threads.h"

namespace infeed::detail {

/// One open file of a records source: read by the thread that pulls, or by several ahead of it.
class RecordFile {
 public:
  /// `options.on_damage` is called from inside the reading calls; `file` outlives it. `mapped` may be
  /// null. Where there are `ahead`, several threads may read ahead; else `options.parallelism` doesn't
  /// count.
  RecordFile(const std::string& file, const RecordsOptions& options,
             std::shared_ptr<MappedFiles> mapped, IteratorContext& run,
             ReaderThreads* ahead = nullptr);
  ~RecordFile() { give_back(); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  std::size_t read(std::span<Record> out);
  std::uint64_t skip(std::uint64_t count);
  /// Records handed out or passed over so far, those before an error included.
  std::uint64_t passed() const;
  /// Returns false for a URL, a pipe, or what isn't there. A pipe must not be opened to see whether it
  /// has blocks: its first bytes would be gone.
  static bool may_have_blocks(const std::string& file);
  /// Whether it is a file on a disk, read by the thread that pulls, which can be read in blocks: a
  /// plain one from anywhere, one that is compressed from the front.
  bool has_blocks() const;
  // Only of a file that has blocks:
  RecordPosition position() const { return reader_->position(); }
  void continue_at(RecordPosition position) { reader_->continue_at(position); }
  /// Returns true at the end of a plain file; false for a compressed one.
  bool is_at_end() const {
    return compression() == Compression::none && position().offset == file_bytes();
  }
  Compression compression() const;
  /// Returns what is lost with the damaged record at `position` if the file is given up there.
  Lost rest(RecordPosition position) const;
  /// Records of a damaged range, where an index knows.
  std::optional<std::uint64_t> records_of(const DamagedRange& range) const;
  std::optional<std::uint64_t> file_bytes() const;

 private:
  void open_reader(const std::string& file, const RecordsOptions& options,
                   std::shared_ptr<MappedFiles> mapped);
  void open_parallel(const std::string& file, const RecordsOptions& options);
  void give_back();

  const std::string& file_;
  IteratorContext& run_;
  ReaderThreads* const ahead_;  // null where no threads were asked for
  std::optional<ThreadShare> threads_;
  std::uint64_t reserved_bytes_ = 0;  // in the account
  HeldBytes buffers_;                 // the reader holds them
  std::optional<RecordReader> reader_;
  std::optional<ParallelRecordReader> parallel_;  // in its place
};

}  // namespace infeed::detail
