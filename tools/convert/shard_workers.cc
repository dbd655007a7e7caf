#include "convert/shard_workers.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include <infeed/error.h>

#include "cli/parallel.h"

namespace infeed::tools {

ShardWorkers::ShardWorkers(const ExampleInput& input, const ConvertOptions& options,
                           const ConversionPlan& plan, Journal& journal, Task task)
    : input_(input),
      options_(options),
      shards_(plan.shards),
      journal_(journal),
      task_(std::move(task)),
      maker_(input, options, plan, task_.rules),
      queue_(task_.shards),
      entries_(task_.shards.size()),
      sums_{.is_finished = std::vector<bool>(task_.shards.size())} {
  for (const std::uint32_t shard : task_.shards) examples_total_ += maker_.positions(shard);
}

void ShardWorkers::run() {
  const std::size_t threads =
      std::min(static_cast<std::size_t>(shard_threads(options_)), entries_.size());
  try {
    for_each_in_parallel_threads(
        threads, static_cast<int>(threads), options_.stop,
        [this] {
          const auto reader = std::shared_ptr<ExampleReader>(input_.open_reader());
          return [this, reader](std::size_t) { work(*reader); };
        },
        [this](std::size_t) {
          if (!options_.on_progress) return;
          options_.on_progress(
              {.done = maker_.examples_done(), .total = examples_total_ - examples_found_});
        });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || !options_.stop.stop_requested()) throw;
  }
  if (shards_done_ < entries_.size()) {
    throw Error(ErrorCode::cancelled,
                fmt::format("stopped: {} of {} shards are finished and were kept; the same command "
                            "goes on from there",
                            shards_done_.load(), entries_.size()));
  }
}

/// A thread's work: one shard after the other.
void ShardWorkers::work(ExampleReader& reader) try {
  while (const auto turn = queue_.wait_for_next(options_.stop)) {
    const std::uint32_t shard = turn->shard;
    auto made = maker_.make(
        {.number = shard, .committed = committed(shard), .is_aside = turn->was_lost}, reader);
    if (!made) return;
    take(std::move(*made));
  }
} catch (...) {
  end();
  throw;
}

void ShardWorkers::end() {
  queue_.close();
  maker_.end();
}

const ShardEntry* ShardWorkers::committed(std::uint32_t shard) const {
  const auto found = task_.committed.find(shard);
  return found == task_.committed.end() ? nullptr : &found->second;
}

void ShardWorkers::take(ShardMaker::Made made) {
  const std::uint32_t shard = made.entry.shard;
  if (!queue_.claim(shard)) return;
  const auto place = std::lower_bound(task_.shards.begin(), task_.shards.end(), shard);
  const auto entry = static_cast<std::size_t>(place - task_.shards.begin());
  if (made.was_there) {
    examples_found_ += maker_.positions(shard);
    ++shards_found_;
  } else {
    journal_.append(to_text(made.entry));
  }
  entries_[entry] = std::move(made.entry);
  sum_up(entry);
  ++shards_done_;
  queue_.note_committed();
}

std::vector<ShardEntry> ShardWorkers::take_entries() { return std::move(entries_); }

void ShardWorkers::sum_up(std::size_t finished) {
  const std::lock_guard lock(mutex_);
  sums_.is_finished[finished] = true;
  try {
    for (; sums_.entries < entries_.size() && sums_.is_finished[sums_.entries]; ++sums_.entries) {
      ColumnStatistics& own = entries_[sums_.entries].statistics;
      sums_.statistics.merge(own);
      own = ColumnStatistics();
    }
  } catch (const Error& error) {
    throw Error(error.code(), "in all shards together " + error.message())
        .at_file(shards_[task_.shards[sums_.entries]]);
  }
}

/// Compares a committed shard and its side file with what the journal says of them.
std::optional<std::string> ShardWorkers::difference(const ShardEntry& entry) const try {
  const std::string& file = shards_[entry.shard];
  if (std::filesystem::path(file).filename().string() != entry.file) return "it has another name";
  const auto text = [](const std::string& name, const FileDifference& found) {
    return fmt::format("'{}' {}", std::filesystem::path(name).filename().string(), found.text);
  };
  if (const auto found = store_.compare(file, entry.sum, task_.check)) {
    return text(file, *found);
  }
  if (!entry.side_file) return std::nullopt;
  const std::string side_file = file + entry.side_file->ending;
  const auto found = store_.compare(side_file, entry.side_file->sum, task_.check);
  return found ? std::optional(text(side_file, *found)) : std::nullopt;
} catch (const Error& error) {
  if (error.code() == ErrorCode::cancelled) throw;
  return error.message();  // whatever it is, making the shard again mends or reports it
}

/// Returns false if the example is quarantined.
bool ShardWorkers::read_example(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                                std::string& bytes) {
  try {
    reader.read(index, bytes);
    return true;
  } catch (const Error& error) {
    if (!is_of_one_example(error.code())) throw;
    // Splitting by value reads bad examples of the other part, too. The other part reports them.
    if (split_.is_by_column() && !split_.takes_name(input_.name_of(index))) return false;
    const std::string location = input_.location_of(index);
    if (++quarantined_ > options_.quarantine_max) {
      throw with_advice(
          error,
          options_.quarantine_max == 0
              ? fmt::format("; example {} is bad: mend it, or leave out up to N such "
                            "examples with {}",
                            location, options_.words.quarantine_max_n)
              : fmt::format("; example {} is bad, and more than {} are ({}); "
                            "is this the right input?",
                            location, options_.quarantine_max, options_.words.quarantine_max));
    }
    entry.quarantined.push_back({location, error.what()});
    return false;
  }
}

/// Returns false if it is of another part, or quarantined.
bool ShardWorkers::read_wanted(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                               std::string& bytes) {
  if (split_.takes_all()) return read_example(index, reader, entry, bytes);
  const std::string name = input_.name_of(index);
  if (split_.is_by_column()) {
    return read_example(index, reader, entry, bytes) && split_.takes_example(name, bytes);
  }
  return split_.takes_name(name) && read_example(index, reader, entry, bytes);
}

/// Returns false if stopped before the shard's end: the writer then removes the file.
bool ShardWorkers::write_shard(std::uint32_t shard, ExampleReader& reader, ShardEntry& entry) {
  const std::string& file = shards_[shard];
  RecordWriterOptions writer_options =
      shard_options(options_.compression, ExistingFile::replace, options_.durability);
  writer_options.compression_level = options_.compression_level;
  RecordWriter writer(file, writer_options);
  entry.shard = shard;
  entry.file = std::filesystem::path(file).filename().string();
  entry.statistics = ColumnStatistics(columns_);
  entry.statistics.declare(input_.kinds());
  reader.take_counts();  // drops those of an abandoned shard
  std::string bytes;
  const std::uint64_t end = first_position(shard + 1);
  for (std::uint64_t position = first_position(shard); position < end; ++position) {
    if (must_end()) return false;
    if (read_wanted(order_.example_at(position), reader, entry, bytes)) {
      writer.write(bytes);
      entry.statistics.add(bytes);
      ++entry.examples;
    }
    examples_done_.fetch_add(1, std::memory_order_relaxed);
  }
  writer.close();
  entry.statistics.add_counts(reader.take_counts());
  entry.sum = writer.file_sum();
  // Side files are synced with all others, before the manifest. After a power cut a shard without
  // its index is made again; waiting for the disk here would cost more.
  write_side_file(writer, options_.compression, Durability::leave_to_system);
  if (const std::string ending(side_file_ending(options_.compression)); !ending.empty()) {
    entry.side_file = SideFile{ending, sum_file(file + ending)};
    store_.take(file + ending);
  }
  store_.take(file);
  return true;
}

}  // namespace infeed::tools
