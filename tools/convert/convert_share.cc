#include "convert/convert_share.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/output_file.h>

#include "convert/conversion_checks.h"
#include "convert/inputs/found_dataset.h"
#include "convert/shard_workers.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

using Kind = FoundDataset::Kind;

/// Throws if a process that makes or finishes the whole dataset is running. It locks its journal
/// before it looks for parts, and a part locks its own before it looks here: one sees the other.
void require_no_whole_run(const DatasetNames& names) try {
  const File file = File::open_own(names.journal_file, O_RDWR);
  if (::flock(file.descriptor(), LOCK_SH | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw system_error("lock", names.journal_file, errno);
  throw Error(ErrorCode::failed_precondition,
              "somebody else is converting into this dataset, or finishing it, at this moment; "
              "wait for that to end")
      .at_file(names.journal_file);
} catch (const Error& error) {
  if (error.code() != ErrorCode::not_found) throw;
}

/// Writes the plan unless another part does so at this moment.
void publish(const DatasetNames& names, const ConversionPlan& plan, Durability durability) {
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (true) {
    try {
      OutputFile out(names.plan_file, ExistingFile::refuse, durability);
      out.write(plan.text);
      out.commit();
      return;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::already_exists) return;
      if (error.code() != ErrorCode::failed_precondition || Clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

ConversionPart::ConversionPart(const ExampleInput& input, const ConvertOptions& options,
                               const DatasetNames& names, const ConversionPlan& plan,
                               const Shard& share)
    : names_(names),
      plan_(plan),
      share_(share),
      durability_(options.durability),
      store_(options),
      journal_(fetched_journal(), options.durability, "making " + part_name(share)) {
  try {
    begin(input, options);
  } catch (const Error&) {
    if (journal_.lines().empty()) journal_.remove();  // asking for the lock made it
    throw;
  }
}

void ConversionPart::begin(const ExampleInput& input, const ConvertOptions& options) {
  require_no_whole_run(names_);
  complete_ = find_stored_manifest(store_, names_, plan_);
  if (complete_) {
    require_few_bad(*complete_, options);
    journal_.remove();
    return;
  }
  FoundDataset found = find_dataset(names_, plan_, options);
  require_other_files(found, input, options);
  require_permission(found, options);
  if (found.kind == Kind::nothing) {
    publish(names_, plan_, options.durability);
    found = find_dataset(names_, plan_, options);  // it may be another part's, and differ
    require_permission(found, options);
  }
  if (found.kind == Kind::damaged) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the dataset is complete, but {}; run the command in one process "
                            "(without --shard; --alone under mpirun), which makes only such "
                            "shards anew",
                            found.wrong.front().what));
  }
  if (found.kind == Kind::finished) {
    require_few_bad(found.manifest, options);
    complete_ = std::move(found.manifest);
    journal_.remove();
    return;
  }
  if (plan_of_part(journal_.lines()) == plan_.text) return;
  if (!journal_.lines().empty()) journal_.clear();
  journal_.append(plan_line(plan_));
}

std::string ConversionPart::fetched_journal() const {
  const std::string file = part_journal_file(names_, share_);
  store_.fetch_journal(file);
  return file;
}

void ConversionPart::end(const std::vector<ShardEntry>& shards) const {
  if (store_.is_remote()) {
    store_.put_journal(part_journal_file(names_, share_));
  } else if (durability_ == Durability::synced) {
    sync_side_files(names_, shards);
  }
}

void ConversionPart::forget(const std::vector<std::string>& shards) {
  journal_.clear();
  std::error_code ignored;
  for (const std::string& file : list_dataset_files(names_)) {
    const bool is_made = std::any_of(shards.begin(), shards.end(), [&](const fs::path& shard) {
      // Or it lies beside the shard.
      return fs::path(file).filename().string().starts_with(shard.filename().string());
    });
    if (is_made) fs::remove(file, ignored);
  }
}

std::map<std::uint32_t, ShardEntry> ConversionPart::committed() const {
  std::map<std::uint32_t, ShardEntry> committed = committed_shards(journal_.lines());
  committed.merge(committed_shards(read_journal(names_.journal_file)));
  for (const Shard& other : list_parts(names_)) {
    // The other shares of the same number make other shards: a thousand need not read a thousand.
    if (other.count == share_.count) continue;
    committed.merge(read_part(names_, other, plan_));
  }
  return committed;
}

ConvertResult convert_share(const ExampleInput& input, const ConvertOptions& options,
                            const DatasetNames& names, const ConversionPlan& plan) {
  const Shard share = *options.share;
  ConversionPart part(input, options, names, plan, share);
  if (part.was_complete()) {
    return {.files = part.store().places_of(plan.shards),
            .manifest = part.take_complete(),
            .manifest_file = part.store().place_of(names.manifest_file),
            .was_complete = true};
  }
  ShardWorkers::Task task{.committed = part.committed(), .shards = {}};
  ConvertResult result;
  result.manifest_file = part.store().place_of(names.manifest_file);
  result.share = share;
  std::vector<std::string> made;
  for (std::uint32_t shard = share.index; shard < plan.shard_count; shard += share.count) {
    if (!task.committed.contains(shard)) made.push_back(plan.shards[shard]);
    task.shards.push_back(shard);
    result.files.push_back(part.store().place_of(plan.shards[shard]));
  }
  ShardWorkers workers(input, options, plan, part.journal(), std::move(task));
  make_of_unchanged(
      input, options, [&] { workers.run(); }, [&] { part.forget(made); });
  result.manifest = make_manifest(plan.text, plan.id, workers.take_entries());
  result.manifest.statistics = workers.take_statistics();
  result.shards_found = workers.shards_found();
  part.end(result.manifest.shards);
  return result;
}

}  // namespace infeed::tools
