#include "convert/convert.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <system_error>

#include <infeed/error.h>
#include <infeed/pipeline/executor.h>
#include <infeed/records/file.h>
#include <infeed/records/output_file.h>

#include "convert/conversion_plan.h"
#include "convert/inputs/found_dataset.h"
#include "convert/journal.h"
#include "convert/shard_workers.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;
using Kind = FoundDataset::Kind;

/// Throws if the existing files may not be touched.
void require_permission(const FoundDataset& found, const ConvertOptions& options) {
  if (found.kind != Kind::other || options.existing != ExistingDataset::refuse) return;
  throw Error(ErrorCode::already_exists,
              fmt::format("'{}' is there already: {}; nothing was written: use --overwrite to "
                          "replace it, or choose another folder",
                          options.prefix, found.description));
}

/// Throws if overwriting would remove an input file.
void require_other_files(const FoundDataset& found, const ExampleInput& input) {
  for (const std::string& file : found.files) {
    const std::string path = fs::absolute(file).lexically_normal().string();
    for (const InputFile& read : input.files()) {
      if (read.path != path) continue;
      throw Error(ErrorCode::invalid_argument,
                  "this input has the name of a shard that would be written; choose another folder "
                  "or --name")
          .at_file(file);
    }
  }
}

/// If no number of shards is given, takes that of a begun conversion.
ConversionPlan choose_plan(const ExampleInput& input, const ConvertOptions& options,
                           const DatasetNames& names) {
  ConversionPlan plan = make_plan(input, options);
  const bool is_free = options.shard_count == 0 && options.shard_bytes == 0;
  if (!is_free || options.existing == ExistingDataset::replace) return plan;
  const std::optional<std::string> begun = find_plan(names);
  if (!begun || *begun == plan.text) return plan;
  const std::optional<std::uint32_t> shards = shards_of_plan(*begun);
  if (!shards) return plan;
  ConvertOptions same = options;
  same.shard_count = *shards;
  ConversionPlan as_begun = make_plan(input, same);
  return as_begun.text == *begun ? as_begun : plan;
}

/// Throws unless a rebuilt shard is the same as in the manifest, to the byte. The file is removed
/// then, so that nobody takes it for the promised one.
void require_the_same(const ShardEntry& made, const ShardEntry& promised, const std::string& file) {
  if (made.sum == promised.sum && made.side_file == promised.side_file) return;
  std::error_code ignored;
  fs::remove(file, ignored);
  if (made.side_file) fs::remove(file + made.side_file->ending, ignored);
  throw Error(ErrorCode::failed_precondition,
              "this shard was made anew, but not to the bytes that the manifest names, and was "
              "removed: the input has other content than then, with the same size and time; make "
              "the dataset anew with --overwrite")
      .at_file(file);
}

bool is_done(const FoundDataset& found, const ConvertOptions& options) {
  return found.kind == Kind::finished && options.existing != ExistingDataset::replace;
}

/// Returns the finished shards of an earlier call, by their number. Callers check their content.
std::map<std::uint32_t, ShardEntry> committed_shards(const std::vector<std::string>& journal) {
  std::map<std::uint32_t, ShardEntry> entries;
  for (const std::string& line : journal) {
    auto entry = parse_shard_entry(line);
    if (entry) entries.insert_or_assign(entry->shard, std::move(*entry));
  }
  return entries;
}

/// Removes files that no journal line names, left by a killed call.
void remove_orphans(const std::vector<std::string>& files,
                    const std::map<std::uint32_t, ShardEntry>& committed) {
  std::vector<std::string> known;
  for (const auto& [shard, entry] : committed) {
    known.push_back(entry.file);
    if (entry.side_file) known.push_back(entry.file + entry.side_file->ending);
  }
  for (const std::string& file : files) {
    const std::string name = fs::path(file).filename().string();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::error_code error;
    if (fs::remove(file, error); error) throw system_error("remove", file, error.value());
  }
}

/// Removes partial files of a call that was killed while it rebuilt a shard of a complete dataset.
void remove_partial_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (!fs::path(file).filename().string().starts_with('.')) continue;
    std::error_code error;
    if (fs::remove(file, error); error) throw system_error("remove", file, error.value());
  }
}

/// One call of convert(), once the journal is locked.
class Conversion {
 public:
  Conversion(const ExampleInput& input, const ConvertOptions& options, const DatasetNames& names,
             const ConversionPlan& plan)
      : input_(input),
        options_(options),
        names_(names),
        plan_(plan),
        journal_(names.journal_file, options.durability) {}

  ConvertResult run() {
    FoundDataset found = find_dataset(names_, plan_, options_);
    try {
      require_other_files(found, input_);
      require_permission(found, options_);
    } catch (const Error&) {
      if (journal_.lines().empty()) journal_.remove();  // asking for the lock made it
      throw;
    }
    if (is_done(found, options_)) {
      remove_partial_files(found.files);
      clean_up();
      return result(std::move(found.manifest), 0, true);
    }
    if (found.kind == Kind::damaged && options_.existing != ExistingDataset::replace) {
      return rebuild(std::move(found));
    }
    ShardWorkers::Task task{.shards = std::vector<std::uint32_t>(plan_.shard_count)};
    std::iota(task.shards.begin(), task.shards.end(), 0U);
    if (found.kind == Kind::unfinished) {
      task.committed = committed_shards(journal_.lines());
      remove_orphans(found.files, task.committed);
    } else {
      begin_anew(found);
    }
    ShardWorkers workers(input_, options_, plan_.shards, journal_, std::move(task));
    workers.run();
    Manifest manifest = make_manifest(plan_.text, plan_.id, workers.take_entries());
    manifest.statistics = workers.take_statistics();
    manifest.shapes = input_.shapes();
    manifest.classes = input_.classes();
    if (options_.durability == Durability::synced) sync_side_files(manifest);
    replace_file(names_.manifest_file, to_text(manifest), options_.durability);
    clean_up();
    return result(std::move(manifest), workers.shards_found(), false);
  }

 private:
  /// Makes the wrong shards anew. The manifest stays: it says what the result must be.
  ConvertResult rebuild(FoundDataset found) {
    remove_partial_files(found.files);
    ShardWorkers::Task task{.shards = {}};
    for (const WrongShard& wrong : found.wrong) task.shards.push_back(wrong.shard);
    ShardWorkers workers(input_, options_, plan_.shards, journal_, std::move(task));
    workers.run();
    for (const ShardEntry& made : workers.take_entries()) {
      require_the_same(made, found.manifest.shards[made.shard], plan_.shards[made.shard]);
    }
    if (options_.durability == Durability::synced) sync_side_files(found.manifest);
    clean_up();
    ConvertResult rebuilt = result(std::move(found.manifest), 0, false);
    rebuilt.rebuilt = std::move(found.wrong);
    return rebuilt;
  }

  void begin_anew(const FoundDataset& found) {
    remove_dataset(names_, found.files);
    if (!journal_.lines().empty()) journal_.clear();
    replace_file(names_.plan_file, plan_.text, options_.durability);
  }

  /// Syncs the side files: once the manifest exists, all files that it names must be on the disk.
  void sync_side_files(const Manifest& manifest) const {
    for (const ShardEntry& entry : manifest.shards) {
      if (!entry.side_file) continue;
      const std::string file = entry.file + entry.side_file->ending;
      File::open_to_read((fs::path(names_.folder) / file).string()).sync();
    }
    sync_folder(names_.folder);
  }

  /// Removes the plan first: a journal without a plan is nobody's and is made anew.
  void clean_up() {
    std::error_code error;
    if (fs::remove(names_.plan_file, error); error) {
      throw system_error("remove", names_.plan_file, error.value());
    }
    journal_.remove();
    if (options_.durability == Durability::synced) sync_folder(names_.folder);
  }

  ConvertResult result(Manifest manifest, std::uint32_t shards_found, bool was_complete) const {
    return {.files = plan_.shards,
            .manifest = std::move(manifest),
            .manifest_file = names_.manifest_file,
            .shards_found = shards_found,
            .was_complete = was_complete};
  }

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const DatasetNames& names_;
  const ConversionPlan& plan_;
  Journal journal_;
};

}  // namespace

ConvertResult convert(const ExampleInput& input, const ConvertOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const DatasetNames names(options.prefix);
  const ConversionPlan plan = choose_plan(input, options, names);
  make_folder(names.folder);
  ConvertResult result = Conversion(input, options, names, plan).run();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

ConvertEstimate estimate_conversion(const ExampleInput& input, const ConvertOptions& options) {
  const DatasetNames names(options.prefix);
  const ConversionPlan plan = choose_plan(input, options, names);
  const FoundDataset found = find_dataset(names, plan, options);
  require_other_files(found, input);
  require_permission(found, options);
  const SampledSize sample = sample_size(input);
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  ConvertEstimate estimate{.examples = input.size(), .files = plan.shards};
  const double share = share_of_part(options);
  const auto examples = static_cast<double>(input.size());
  estimate.bytes = static_cast<std::uint64_t>(sample.bytes_per_example * examples * share);
  estimate.seconds = sample.seconds_per_example * examples * share / threads;
  estimate.is_complete = is_done(found, options);
  if (options.existing != ExistingDataset::replace) estimate.wrong = found.wrong;
  estimate.statistics = sample.statistics;
  estimate.bad_examples = sample.bad_examples;
  estimate.first_bad = sample.first_bad;
  if (found.kind == Kind::unfinished) {
    estimate.shards_found =
        static_cast<std::uint32_t>(committed_shards(read_journal(names.journal_file)).size());
  }
  return estimate;
}

}  // namespace infeed::tools
