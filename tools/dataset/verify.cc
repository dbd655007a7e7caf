#include "dataset/verify.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/file_sum.h>
#include <infeed/records/files.h>
#include <infeed/records/whole_set.h>

#include "cli/parallel.h"
#include "cli/terminal.h"
#include "convert/inputs/found_dataset.h"
#include "convert/manifest.h"
#include "dataset/record_scan.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRangesShownMax = 3;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string describe_damage(const RecordScan& scan) {
  std::string text;
  for (std::size_t i = 0; i < scan.damaged.size() && i < kRangesShownMax; ++i) {
    text += "; " + tools::describe(scan.damaged[i]);
  }
  if (scan.damaged.size() > kRangesShownMax) {
    text += fmt::format("; and {} more", counted(scan.damaged.size() - kRangesShownMax, "range"));
  }
  return text;
}

/// Returns which records of a changed shard are damaged.
std::string look_for_damage(const std::string& file, std::uint64_t records_wanted,
                            const std::stop_token& stop) {
  try {
    const RecordScan scan = scan_records(file, {}, {.stop = stop});
    return fmt::format(": {} of {} records are whole{}", scan.records, records_wanted,
                       describe_damage(scan));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    return fmt::format(": {}", error.message());
  }
}

/// Returns the difference to the manifest, if there is one.
std::optional<Problem> compare(const std::string& file, const FileSum& wanted,
                               std::uint64_t records, const std::stop_token& stop) {
  const auto wrong = compare_file(file, wanted, FileCheck::content, stop);
  if (!wrong) return std::nullopt;
  Problem problem{file, "it " + wrong->text, wrong->is_known};
  if (records != 0 && wrong->can_be_read) problem.text += look_for_damage(file, records, stop);
  return problem;
}

std::vector<Problem> check_shard(const std::string& folder, const ShardEntry& entry,
                                 const std::stop_token& stop) {
  std::vector<Problem> problems;
  const std::string file = (fs::path(folder) / entry.file).string();
  if (auto wrong = compare(file, entry.sum, entry.examples, stop))
    problems.push_back(*std::move(wrong));
  if (!entry.side_file) return problems;
  auto wrong = compare(file + entry.side_file->ending, entry.side_file->sum, 0, stop);
  if (!wrong) return problems;
  if (wrong->is_known) {
    wrong->text += entry.side_file->ending == ".index"
                       ? "; make it anew with infeed index"
                       : "; copy it anew: without it the shard is read by one thread";
  }
  problems.push_back(*std::move(wrong));
  return problems;
}

/// Finds shards of the same name that aren't in the manifest.
std::vector<Problem> find_strangers(const std::string& manifest_file, const Manifest& manifest) {
  constexpr std::string_view kEnd = ".manifest.json";
  std::string prefix = manifest_file;
  if (!prefix.ends_with(kEnd) || is_url(prefix)) return {};
  prefix.resize(prefix.size() - kEnd.size());
  std::vector<std::string> files = list_dataset_files(DatasetNames(prefix));
  const auto name_of = [](const std::string& file) { return fs::path(file).filename().string(); };
  std::erase_if(files, [&](const std::string& file) { return name_of(file).starts_with('.'); });
  std::set<std::string> known;
  for (const ShardEntry& entry : manifest.shards) known.insert(entry.file);
  std::vector<Problem> problems;
  for (SetProblem& problem : find_set_problems(files)) {
    if (known.contains(name_of(problem.file))) continue;  // check_shard() says more of it
    problems.push_back({std::move(problem.file), std::move(problem.text)});
  }
  return problems;
}

}  // namespace

Verification verify_manifest(const std::string& manifest_file, const VerifyOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Manifest manifest = read_manifest(manifest_file);
  const std::string folder = folder_of(manifest_file);
  const std::size_t count = manifest.shards.size();
  std::vector<std::vector<Problem>> found(count);
  for_each_in_parallel(
      count, options.threads, options.stop,
      [&](std::size_t i) { found[i] = check_shard(folder, manifest.shards[i], options.stop); },
      [&](std::size_t done) {
        if (options.on_progress) options.on_progress(done, count);
      });
  Verification result{.files = count, .records = manifest.examples(), .bytes = manifest.bytes()};
  found.push_back(find_strangers(manifest_file, manifest));
  for (const auto& problems : found) {
    result.problems.insert(result.problems.end(), problems.begin(), problems.end());
  }
  result.seconds = seconds_since(begin);
  return result;
}

Verification verify_records(const std::vector<std::string>& files, const VerifyOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<RecordScan> scans(files.size());
  for_each_in_parallel(
      files.size(), options.threads, options.stop,
      [&](std::size_t i) { scans[i] = scan_records(files[i], {}, {.stop = options.stop}); },
      [&](std::size_t done) {
        if (options.on_progress) options.on_progress(done, files.size());
      });
  Verification result{.files = files.size()};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const RecordScan& scan = scans[i];
    result.records += scan.records;
    result.bytes += scan.file_bytes.value_or(0);
    if (scan.damaged.empty()) continue;
    result.problems.push_back(
        {files[i], fmt::format("{} record{} whole{}", scan.records,
                               scan.records == 1 ? " is" : "s are", describe_damage(scan))});
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace infeed::tools
