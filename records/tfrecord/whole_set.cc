#include "infeed/records/whole_set.h"

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "infeed/records/file_sum.h"
#include "infeed/records/files.h"
#include "infeed/records/shard_manifest.h"
#include "io/pattern/path_pattern.h"
#include "io/pattern/shard_fields.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

struct FoundShard {
  std::string file;
  ShardName name;
};
using FoundShards = std::vector<FoundShard>;

/// The shards of each set, by what stands before their numbers.
std::map<std::string, FoundShards> sets_of(const std::vector<std::string>& files) {
  std::map<std::string, FoundShards> sets;
  for (const std::string& file : files) {
    std::optional<ShardName> name = parse_shard_name(file);
    if (!name || !side_ending_of(file).empty()) continue;
    std::string prefix = name->prefix;
    sets[std::move(prefix)].push_back({file, std::move(*name)});
  }
  return sets;
}

class Findings {
 public:
  /// False if the manifest can't be read, which is a finding, too.
  bool compare(const FoundShards& found, const std::string& manifest_file);
  /// By their numbers alone.
  void compare(const FoundShards& found);

  std::vector<SetProblem> problems;

 private:
  void note(ErrorCode code, const std::string& file, std::string text) {
    problems.push_back({code, file, std::move(text)});
  }
  void note_missing(const ManifestShard& shard, const std::string& file);
  void compare_size(const ManifestShard& shard, const std::string& file);
};

void Findings::note_missing(const ManifestShard& shard, const std::string& file) {
  std::error_code ignored;
  note(ErrorCode::data_loss, file,
       fs::exists(file, ignored)
           ? fmt::format("the pattern leaves this shard out, which its set's manifest lists ({} "
                         "records)",
                         shard.examples)
           : fmt::format("the shard is missing: its set's manifest lists it with {} records; take "
                         "it from a copy",
                         shard.examples));
}

void Findings::compare_size(const ManifestShard& shard, const std::string& file) {
  const auto wrong = compare_file(file, shard.sum, FileCheck::size);
  if (!wrong) return;
  note(ErrorCode::data_loss, file,
       fmt::format("the file {}, by its set's manifest ({} records); take it from a copy (infeed "
                   "verify says what is whole in it)",
                   wrong->text, shard.examples));
}

bool Findings::compare(const FoundShards& found, const std::string& manifest_file) try {
  const ShardManifest manifest = read_shard_manifest(manifest_file);
  std::map<std::string_view, const FoundShard*> strangers;
  for (const FoundShard& shard : found) {
    const std::size_t name = shard.file.rfind('/') + 1;  // 0 when there is no folder
    strangers.emplace(std::string_view(shard.file).substr(name), &shard);
  }
  const fs::path folder = fs::path(manifest_file).parent_path();
  for (const ManifestShard& shard : manifest.shards) {
    const auto at = strangers.find(shard.file);
    if (at == strangers.end()) {
      note_missing(shard, (folder / shard.file).string());
    } else {
      compare_size(shard, at->second->file);
      strangers.erase(at);
    }
  }
  for (const auto& [name, shard] : strangers) {
    note(ErrorCode::failed_precondition, shard->file,
         fmt::format("the file is named like a shard of a set whose manifest '{}' doesn't list it: "
                     "it is of another one, and its records may be there twice; move it away",
                     manifest_file));
  }
  return true;
} catch (const Error& error) {
  note(error.code(), manifest_file, error.message());
  return false;
}

struct Gap {
  std::uint32_t first;
  std::uint32_t last;
};

/// The numbers from `lowest` on that are not there. A name may claim billions of shards.
std::vector<Gap> gaps_of(const std::map<std::uint32_t, const FoundShard*>& there,
                         std::uint32_t lowest, std::uint32_t count) {
  std::vector<Gap> gaps;
  std::uint32_t next = lowest;
  for (const auto& [number, shard] : there) {
    if (number != next) gaps.push_back({next, number - 1});
    next = number + 1;
  }
  if (next - lowest != count) gaps.push_back({next, lowest + (count - 1)});
  return gaps;
}

/// "2, 5 to 7".
std::string text_of(const std::vector<Gap>& gaps) {
  constexpr std::size_t kGapsMax = 8;
  std::vector<std::string> texts;
  for (const Gap& gap : gaps) {
    if (texts.size() == kGapsMax) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(gap.first == gap.last ? fmt::format("{}", gap.first)
                                          : fmt::format("{} to {}", gap.first, gap.last));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Returns 1 for a set of another program that counts from 1, else 0.
std::uint32_t first_number(const FoundShards& found) {
  bool has_zero = false;
  bool has_count = false;
  for (const FoundShard& shard : found) {
    has_zero = has_zero || shard.name.shard.index == 0;
    has_count = has_count || shard.name.shard.index == shard.name.shard.count;
  }
  return has_count && !has_zero ? 1 : 0;
}

void Findings::compare(const FoundShards& found) {
  const FoundShard& first = found.front();
  const std::uint32_t count = first.name.shard.count;
  const std::uint32_t lowest = first_number(found);
  const detail::ShardFields fields = *detail::ShardFields::of(first.file);
  std::map<std::uint32_t, const FoundShard*> by_number;
  for (const FoundShard& shard : found) {
    if (shard.name.shard.count != count) {
      return note(ErrorCode::failed_precondition, shard.file,
                  fmt::format("the set has two numberings, of {} and of {} shards ('{}'): its "
                              "records may be there twice; name one of them, '{}-*-of-{}*'",
                              count, shard.name.shard.count, redacted_url(first.file),
                              redacted_url(first.name.prefix), fields.count));
    }
    const std::uint32_t number = shard.name.shard.index;
    if (number - lowest >= count) {
      note(ErrorCode::failed_precondition, shard.file,
           fmt::format("a set of {} shards has no number {}: the file is of another one, and its "
                       "records may be there twice; move it away",
                       count, number));
      continue;
    }
    const auto [same, is_new] = by_number.emplace(number, &shard);
    if (is_new) continue;
    note(ErrorCode::failed_precondition, shard.file,
         fmt::format("shard {} of {} is there twice, here and as '{}'; move one of them away",
                     number, count, redacted_url(same->second->file)));
  }
  if (by_number.size() == count) return;
  const std::vector<Gap> gaps = gaps_of(by_number, lowest, count);
  const std::size_t missing = count - by_number.size();
  const std::string file = fields.with_number(gaps[0].first, fields.number.size());
  std::error_code ignored;
  const bool is_there = !is_url(file) && fs::exists(file, ignored);
  note(ErrorCode::data_loss, file,
       fmt::format("{} of the set's {} shards {} {}: number {} (they count from {})", missing,
                   count, missing == 1 ? "is" : "are",
                   is_there ? "left out by the pattern" : "missing", text_of(gaps), lowest));
}

}  // namespace

std::vector<SetProblem> find_set_problems(const std::vector<std::string>& files, SetCheck check) {
  Findings findings;
  for (const auto& [prefix, found] : sets_of(files)) {
    const std::optional<std::string> manifest_file =
        check == SetCheck::manifest ? manifest_of(found.front().file) : std::nullopt;
    std::error_code ignored;
    const bool has_manifest = manifest_file && fs::exists(*manifest_file, ignored);
    if (!has_manifest || !findings.compare(found, *manifest_file)) findings.compare(found);
  }
  return std::move(findings.problems);
}

void throw_set_problems(const std::vector<SetProblem>& problems) {
  if (problems.empty()) return;
  const SetProblem& first = problems.front();
  const std::string others =
      problems.size() == 1 ? "" : fmt::format(" (and {} more like it)", problems.size() - 1);
  throw Error(
      first.code,
      fmt::format("{}{}. To read what is there on purpose, list the files one by one "
                  "(match_files() gives such a list, a shell makes one of a pattern without "
                  "quotes)",
                  first.text, others))
      .at_file(first.file);
}

bool lists_files(const std::string& pattern, const std::vector<std::string>& files) {
  return files == std::vector{pattern} || !detail::has_wildcard(pattern);
}

std::vector<std::string> match_whole_sets(const std::string& pattern) {
  std::vector<std::string> files = match_files(pattern);
  if (!lists_files(pattern, files)) throw_set_problems(find_set_problems(files, SetCheck::numbers));
  return files;
}

}  // namespace infeed
