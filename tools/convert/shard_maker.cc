#include "convert/shard_maker.h"

#include <fmt/format.h>
#include <system_error>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/executor.h>
#include <infeed/records/file.h>
#include <infeed/records/record_writer.h>

#include "cli/side_file.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRecordBytesMax = INT32_MAX;  // protobuf parses no more

bool is_of_one_example(ErrorCode code) {
  return code == ErrorCode::data_loss || code == ErrorCode::invalid_argument ||
         code == ErrorCode::not_found || code == ErrorCode::permission_denied;
}

Error with_advice(const Error& error, const std::string& advice) {
  Error result(error.code(), error.message() + advice);
  if (!error.file().empty()) result.at_file(error.file());
  if (error.offset()) result.at_offset(*error.offset());
  if (error.record()) result.at_record(*error.record());
  return result;
}

void rename_file(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw system_error("rename into place", from, error.value());
}

}  // namespace

/// With syncs, half of the threads wait for the disk and leave their cores to the others.
int shard_threads(const ConvertOptions& options) {
  if (options.threads > 0) return options.threads;
  return options.durability == Durability::synced ? 2 * usable_cores() : usable_cores();
}

ShardMaker::ShardMaker(const ExampleInput& input, const ConvertOptions& options,
                       const ConversionPlan& plan, const Rules& rules)
    : input_(input),
      options_(options),
      shards_(plan.shards),
      rules_(rules),
      columns_(input.columns()),
      order_(input.size(), options.seed),
      split_(options),
      store_(options) {}

std::filesystem::path aside_folder_of(const DatasetNames& names, int rank) {
  return fs::path(names.aside_folder) / std::to_string(rank);
}

std::uint64_t ShardMaker::first_position(std::uint32_t shard) const {
  __extension__ using Wide = unsigned __int128;  // the product may need more than 64 bits
  return static_cast<std::uint64_t>(Wide{input_.size()} * shard / shards_.size());
}

std::optional<ShardMaker::Made> ShardMaker::make(const Shard& shard, ExampleReader& reader) try {
  const std::string& place = shards_[shard.number];
  const auto wrong = shard.committed ? difference(*shard.committed) : std::nullopt;
  if (shard.committed && !wrong) {
    quarantined_ += shard.committed->quarantined.size();
    return Made{.entry = *shard.committed, .was_there = true};
  }
  if (shard.committed && !rules_.makes_shards) {
    throw Error(ErrorCode::data_loss,
                *wrong +
                    "; make it again by the part that made it, or by the command without "
                    "--finish")
        .at_file(place);
  }
  Made made;
  made.entry.shard = shard.number;
  const bool is_made = shard.is_aside ? write_aside(place, reader, made.entry)
                                      : write_shard(place, reader, made.entry);
  return is_made ? std::optional(std::move(made)) : std::nullopt;
} catch (...) {
  end();
  throw;
}

bool ShardMaker::write_aside(const std::string& place, ExampleReader& reader, ShardEntry& entry) {
  const DatasetNames names(options_.prefix);
  const fs::path folder = aside_folder_of(names, rules_.rank);
  try {
    return write_in(folder, place, reader, entry);
  } catch (const Error& error) {
    // Rank 0 removes these folders once the others have made all and the manifest is there. A manifest
    // alone says nothing: where damaged shards are made anew it is there from the start.
    const bool is_removed = error.code() == ErrorCode::not_found && !fs::exists(folder);
    const bool has_moved =
        !fs::exists(names.folder);  // rank 0 has put the whole set into its place
    const bool is_whole = has_moved || fs::exists(names.manifest_file);
    if (!is_removed || store_.is_remote() || !is_whole) throw;
    return false;
  }
}

bool ShardMaker::write_in(const fs::path& folder, const std::string& place, ExampleReader& reader,
                          ShardEntry& entry) {
  make_folder(folder.string());
  const std::string file = (folder / fs::path(place).filename()).string();
  if (!write_shard(file, reader, entry)) return false;
  if (store_.is_remote()) return true;
  if (entry.side_file) {
    rename_file(file + entry.side_file->ending, place + entry.side_file->ending);
  }
  rename_file(file, place);
  if (options_.durability == Durability::synced) sync_folder(folder_of(place));
  return true;
}

/// Compares a committed shard and its side file with what the journal says of them.
std::optional<std::string> ShardMaker::difference(const ShardEntry& entry) const try {
  const std::string& file = shards_[entry.shard];
  if (std::filesystem::path(file).filename().string() != entry.file) return "it has another name";
  const auto text = [](const std::string& name, const FileDifference& found) {
    return fmt::format("'{}' {}", std::filesystem::path(name).filename().string(), found.text);
  };
  if (const auto found = store_.compare(file, entry.sum, rules_.check)) {
    return text(file, *found);
  }
  if (!entry.side_file) return std::nullopt;
  const std::string side_file = file + entry.side_file->ending;
  const auto found = store_.compare(side_file, entry.side_file->sum, rules_.check);
  return found ? std::optional(text(side_file, *found)) : std::nullopt;
} catch (const Error& error) {
  if (error.code() == ErrorCode::cancelled) throw;
  return error.message();  // whatever it is, making the shard again mends or reports it
}

/// Returns false if the example is quarantined.
bool ShardMaker::read_example(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                              std::string& bytes) {
  try {
    reader.read(index, bytes);
    if (bytes.size() <= kRecordBytesMax) return true;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the example takes {} bytes, but messages of protobuf have at most {}: "
                            "no reader would take the record",
                            bytes.size(), kRecordBytesMax));
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
bool ShardMaker::read_wanted(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                             std::string& bytes) {
  if (split_.takes_all()) return read_example(index, reader, entry, bytes);
  const std::string name = input_.name_of(index);
  if (split_.is_by_column()) {
    return read_example(index, reader, entry, bytes) && split_.takes_example(name, bytes);
  }
  return split_.takes_name(name) && read_example(index, reader, entry, bytes);
}

/// Returns false if stopped before the shard's end: the writer then removes the file.
bool ShardMaker::write_shard(const std::string& file, ExampleReader& reader, ShardEntry& entry) {
  RecordWriterOptions writer_options =
      shard_options(options_.compression, ExistingFile::replace, options_.durability);
  writer_options.compression_level = options_.compression_level;
  RecordWriter writer(file, writer_options);
  entry.file = fs::path(file).filename().string();
  entry.statistics = ColumnStatistics(columns_);
  entry.statistics.declare(input_.kinds());
  reader.take_counts();  // drops those of an abandoned shard
  std::string bytes;
  const std::uint64_t end = first_position(entry.shard + 1);
  for (std::uint64_t position = first_position(entry.shard); position < end; ++position) {
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
