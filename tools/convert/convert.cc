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

#include "convert/conversion_checks.h"
#include "convert/conversion_plan.h"
#include "convert/convert_share.h"
#include "convert/convert_whole.h"
#include "convert/dataset_store.h"
#include "convert/inputs/found_dataset.h"
#include "convert/journal.h"
#include "convert/part_journals.h"
#include "convert/replacement.h"
#include "convert/shard_workers.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;
using Kind = FoundDataset::Kind;

/// Throws unless a rebuilt shard is the same as in the manifest, to the byte. The file is removed
/// then, so that nobody takes it for the promised one.
void require_the_same(const ShardEntry& made, const ShardEntry& promised, const std::string& file,
                      const ConvertOptions& options) {
  if (made.sum == promised.sum && made.side_file == promised.side_file) return;
  std::error_code ignored;
  fs::remove(file, ignored);
  if (made.side_file) fs::remove(file + made.side_file->ending, ignored);
  const bool may_be_packed_otherwise =
      options.compression == Compression::gzip && options.compression_level.value_or(1) <= 3;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("this shard was made anew, but not to the bytes that the manifest names, "
                          "and was removed: the input has other content than then, with the same "
                          "size and time{}; make the dataset anew with {}",
                          may_be_packed_otherwise ? ", or this processor is of another kind, on "
                                                    "which gzip's levels 0 to 3 depend"
                                                  : "",
                          options.words.replace))
      .at_file(file);
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

/// Removes the partial files among these.
void remove_partial_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (!fs::path(file).filename().string().starts_with('.')) continue;
    std::error_code error;
    if (fs::remove(file, error); error) throw system_error("remove", file, error.value());
  }
}

/// Removes the folder in which ranks make shards of a silent rank. One that is back may be writing there
/// and moving files out of it, so what was listed may be gone a moment later.
void remove_aside_folder(const std::string& folder) {
  constexpr int kTries = 100;
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    fs::remove_all(folder, error);
    if (error != std::errc::no_such_file_or_directory && error != std::errc::directory_not_empty)
      break;
  }
  if (error) throw system_error("remove", folder, error.value());
}

Error nothing_begun(const ConvertOptions& options) {
  return {ErrorCode::failed_precondition,
          fmt::format("no part of '{}' was made yet: run the parts first (--shard i/n), then "
                      "--finish",
                      options.prefix)};
}

/// Throws unless all shards are made. `parts` says who has to make the missing ones.
void require_all_made(const ConversionPlan& plan,
                      const std::map<std::uint32_t, ShardEntry>& committed,
                      const LockedParts& parts) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t shard = 0; shard < plan.shard_count; ++shard) {
    if (!committed.contains(shard)) missing.push_back(shard);
  }
  if (missing.empty()) return;
  const std::string who = parts.parts_of(missing);
  throw Error(ErrorCode::failed_precondition,
              fmt::format("{} of {} shards are not made yet, this one first; run {}, then --finish "
                          "again",
                          missing.size(), plan.shard_count,
                          who.empty() ? "the parts that make them (--shard i/n)" : who))
      .at_file(plan.shards[missing.front()]);
}

/// One call of convert(), once the journal is locked.
class Conversion {
 public:
  Conversion(const ExampleInput& input, const ConvertOptions& options, const DatasetNames& names,
             const ConversionPlan& plan, const RunWorkers& run_workers)
      : input_(input),
        options_(options),
        names_(names),
        plan_(plan),
        run_workers_(run_workers),
        store_(options),
        journal_(names.journal_file, options.durability),
        parts_(lock_parts()) {}

  ConvertResult run() try {
    if (auto there = find_stored_manifest(store_, names_, plan_)) {
      require_few_bad(*there, options_);
      clean_up();
      return result(std::move(*there), 0, true);
    }
    FoundDataset found = find_dataset(names_, plan_, options_);
    require_other_files(found, input_, options_);
    require_permission(found, options_);
    if (options_.finish_only) require_begun(found);
    if (stays(found)) require_few_bad(found.manifest, options_);
    has_permission_ = true;
    if (found.kind == Kind::finished) {
      clean_up();
      return result(std::move(found.manifest), 0, true);
    }
    if (stays(found)) return rebuild(std::move(found));
    ShardWorkers::Task task{.shards = std::vector<std::uint32_t>(plan_.shard_count)};
    std::iota(task.shards.begin(), task.shards.end(), 0U);
    if (found.kind == Kind::unfinished) {
      task.committed = committed_shards(journal_.lines());
      task.committed.merge(parts_.committed(plan_));
      if (options_.finish_only) prepare_to_finish(task);
      remove_orphans(found.files, task.committed);
    } else {
      begin_anew(found);
    }
    ShardWorkers workers(input_, options_, plan_, journal_, std::move(task));
    make_of_unchanged(
        input_, options_, [&] { run_workers_(workers); },
        [this] {
          remove_dataset(names_, list_dataset_files(names_));
          clean_up();
        });
    Manifest manifest = make_manifest(plan_.text, plan_.id, workers.take_entries());
    manifest.statistics = workers.take_statistics();
    manifest.shapes = input_.shapes();
    manifest.classes = input_.classes();
    require_few_bad(manifest, options_);
    if (store_.is_remote()) {
      store_.put_manifest(names_, to_text(manifest));
    } else {
      if (options_.durability == Durability::synced) sync_side_files(names_, manifest.shards);
      replace_file(names_.manifest_file, to_text(manifest), options_.durability);
    }
    clean_up();
    return result(std::move(manifest), workers.shards_found(), false);
  } catch (const Error&) {
    if (options_.finish_only || !has_permission_) leave_lock();
    throw;
  }

 private:
  LockedParts lock_parts() try {
    return LockedParts(names_, options_.durability);
  } catch (const Error&) {
    leave_lock();
    throw;
  }

  /// Removes the journal if asking for the lock made it.
  void leave_lock() {
    if (has_lock_ && journal_.lines().empty()) journal_.remove();
    has_lock_ = false;
  }

  /// True if the manifest that is there says what the result is.
  bool stays(const FoundDataset& found) const {
    return found.kind == Kind::finished ||
           (found.kind == Kind::damaged && options_.existing != ExistingDataset::replace);
  }

  void require_begun(const FoundDataset& found) const {
    if (found.kind == Kind::nothing) throw nothing_begun(options_);
    if (found.kind != Kind::damaged) return;
    throw Error(ErrorCode::failed_precondition,
                fmt::format("{}, and --finish makes no shard: run the command without it, which "
                            "makes only such shards anew",
                            found.wrong.front().what));
  }

  /// Throws unless all shards are made with this plan. Workers then only compare them.
  void prepare_to_finish(ShardWorkers::Task& task) const {
    parts_.require_plan(plan_);
    require_all_made(plan_, task.committed, parts_);
    task.rules.makes_shards = false;
    task.rules.check = options_.check_content ? FileCheck::content : FileCheck::size;
  }

  /// Makes the wrong shards anew. The manifest stays: it says what the result must be.
  ConvertResult rebuild(FoundDataset found) {
    ShardWorkers::Task task{.shards = {}};
    for (const WrongShard& wrong : found.wrong) task.shards.push_back(wrong.shard);
    ShardWorkers workers(input_, options_, plan_, journal_, std::move(task));
    run_workers_(workers);
    for (const ShardEntry& made : workers.take_entries()) {
      require_the_same(made, found.manifest.shards[made.shard], plan_.shards[made.shard], options_);
    }
    if (options_.durability == Durability::synced) sync_side_files(names_, found.manifest.shards);
    clean_up();
    ConvertResult rebuilt = result(std::move(found.manifest), 0, false);
    rebuilt.rebuilt = std::move(found.wrong);
    return rebuilt;
  }

  void begin_anew(const FoundDataset& found) {
    parts_.remove();
    remove_dataset(names_, found.files);
    if (!journal_.lines().empty()) journal_.clear();
    replace_file(names_.plan_file, plan_.text, options_.durability);
  }

  /// Removes the plan first: a journal without a plan is nobody's and is made anew. Processes that
  /// were killed, or are silent, leave partial files.
  void clean_up() {
    remove_partial_files(list_dataset_files(names_));
    std::error_code error;
    if (fs::remove(names_.plan_file, error); error) {
      throw system_error("remove", names_.plan_file, error.value());
    }
    remove_aside_folder(names_.aside_folder);
    store_.remove_journals(names_);
    parts_.remove();
    has_lock_ = false;
    journal_.remove();
    if (options_.durability == Durability::synced) sync_folder(names_.folder);
  }

  ConvertResult result(Manifest manifest, std::uint32_t shards_found, bool was_complete) const {
    return {.files = store_.places_of(plan_.shards),
            .manifest = std::move(manifest),
            .manifest_file = store_.place_of(names_.manifest_file),
            .shards_found = shards_found,
            .was_complete = was_complete};
  }

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const DatasetNames& names_;
  const ConversionPlan& plan_;
  const RunWorkers& run_workers_;
  const DatasetStore store_;
  bool has_permission_ = false;  ///< to change what is there
  bool has_lock_ = true;
  Journal journal_;
  LockedParts parts_;
};

/// Makes the dataset, or a part of it, at the prefix.
ConvertResult convert_there(const ExampleInput& input, const ConvertOptions& options) {
  const DatasetNames names(options.prefix);
  const ConversionPlan plan = choose_plan(input, options, names);
  const bool is_here = options.store_url.empty();
  if (options.finish_only && is_here && !fs::exists(names.folder)) throw nothing_begun(options);
  make_folder(names.folder);
  if (options.share) return convert_share(input, options, names, plan);
  return convert_whole(input, options, names, plan, [](ShardWorkers& workers) { workers.run(); });
}

}  // namespace

ConvertResult convert(const ExampleInput& input, const ConvertOptions& options) {
  require_sound(options);
  const auto begin = std::chrono::steady_clock::now();
  const auto replacement = Replacement::find(input, options);
  ConvertResult result =
      replacement ? replacement->make([&] { return convert_there(input, replacement->options()); })
                  : convert_there(input, options);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

ConvertResult convert_whole(const ExampleInput& input, const ConvertOptions& options,
                            const DatasetNames& names, const ConversionPlan& plan,
                            const RunWorkers& run_workers) {
  DatasetStore(options).fetch_journals(names, plan);
  return Conversion(input, options, names, plan, run_workers).run();
}

ConvertEstimate estimate_conversion(const ExampleInput& input, const ConvertOptions& options) {
  const DatasetNames names(options.prefix);
  const ConversionPlan plan = choose_plan(input, options, names);
  const FoundDataset found = find_dataset(names, plan, options);
  require_other_files(found, input, options);
  require_permission(found, options);
  const SampledSize sample = sample_size(input);
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  ConvertEstimate estimate{.examples = input.size(), .files = plan.shards};
  const double share = share_of_part(options);
  const auto examples = static_cast<double>(input.size());
  estimate.bytes = static_cast<std::uint64_t>(sample.bytes_per_example * examples * share);
  estimate.seconds = sample.seconds_per_example * examples * share / threads;
  if (options.existing != ExistingDataset::replace) {
    estimate.is_complete = found.kind == Kind::finished;
    if (estimate.is_complete || found.kind == Kind::damaged)
      require_few_bad(found.manifest, options);
    estimate.wrong = found.wrong;
  }
  estimate.statistics = sample.statistics;
  estimate.bad_examples = sample.bad_examples;
  estimate.first_bad = sample.first_bad;
  if (found.kind == Kind::unfinished) {
    auto committed = committed_shards(read_journal(names.journal_file));
    for (const Shard& part : list_parts(names)) committed.merge(read_part(names, part, plan));
    estimate.shards_found = static_cast<std::uint32_t>(committed.size());
  }
  return estimate;
}

}  // namespace infeed::tools
