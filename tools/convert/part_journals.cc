#include "convert/part_journals.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <infeed/detail/folder_entries.h>
#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = "journal";

/// Returns the finished shards of a journal with this plan.
std::map<std::uint32_t, ShardEntry> committed_with(const ConversionPlan& plan,
                                                   const std::vector<std::string>& lines) {
  if (plan_of_part(lines) != plan.text) return {};
  return committed_shards(lines);
}

}  // namespace

std::string part_name(const Shard& part) {
  return fmt::format("--shard {}/{}", part.index, part.count);
}

std::string part_journal_file(const DatasetNames& names, const Shard& part) {
  const fs::path begin = fs::path(names.folder) / fmt::format(".{}.share", names.name);
  return shard_name(begin.string(), part, kEnd);
}

std::map<std::uint32_t, ShardEntry> committed_shards(
    const std::vector<std::string>& journal_lines) {
  std::map<std::uint32_t, ShardEntry> entries;
  for (const std::string& line : journal_lines) {
    auto entry = parse_shard_entry(line);
    if (entry) entries.insert_or_assign(entry->shard, std::move(*entry));
  }
  return entries;
}

std::string plan_of_part(const std::vector<std::string>& journal_lines) {
  if (journal_lines.empty() || detail::exceeds_json_limits(journal_lines.front())) return {};
  const auto json = nlohmann::json::parse(journal_lines.front(), nullptr, false);
  return json.is_object() && json.contains("format") ? json.dump(1) + "\n" : std::string();
}

std::string plan_line(const ConversionPlan& plan) {
  return nlohmann::json::parse(plan.text).dump();
}

std::vector<Shard> list_parts(const DatasetNames& names) {
  std::vector<Shard> parts;
  std::error_code error;
  const auto entries = infeed::detail::folder_entries(names.folder, error);
  if (error == std::errc::no_such_file_or_directory) return parts;
  if (error) throw system_error("list", names.folder, error.value());
  for (const infeed::detail::FolderEntry& entry : entries) {
    const std::string file = (fs::path(names.folder) / entry.name).string();
    const std::optional<ShardName> found = parse_shard_name(file);
    if (!found || found->shard.index >= found->shard.count) continue;
    if (part_journal_file(names, found->shard) == file) parts.push_back(found->shard);
  }
  std::sort(parts.begin(), parts.end(), [&](const Shard& a, const Shard& b) {
    return part_journal_file(names, a) < part_journal_file(names, b);
  });
  return parts;
}

std::map<std::uint32_t, ShardEntry> read_part(const DatasetNames& names, const Shard& part,
                                              const ConversionPlan& plan) {
  return committed_with(plan, read_journal(part_journal_file(names, part)));
}

LockedParts::LockedParts(const DatasetNames& names, Durability durability) {
  for (const Shard& part : list_parts(names)) {
    const std::string file = part_journal_file(names, part);
    auto journal = std::make_unique<Journal>(file, durability, "making " + part_name(part));
    parts_.push_back({part, file, std::move(journal)});
  }
}

std::map<std::uint32_t, ShardEntry> LockedParts::committed(const ConversionPlan& plan) const {
  std::map<std::uint32_t, ShardEntry> committed;
  for (const Part& part : parts_) {
    committed.merge(committed_with(plan, part.journal->lines()));
  }
  return committed;
}

void LockedParts::require_plan(const ConversionPlan& plan) const {
  for (const Part& part : parts_) {
    const std::string there = plan_of_part(part.journal->lines());
    if (there.empty() || there == plan.text) continue;
    throw Error(ErrorCode::failed_precondition,
                fmt::format("{} was made with other arguments or inputs ({}); make it again with "
                            "these, or remove this file if it is of an earlier try",
                            part_name(part.share), describe_difference(there, plan.text)))
        .at_file(part.file);
  }
}

std::string LockedParts::parts_of(const std::vector<std::uint32_t>& shards) const {
  std::set<std::uint32_t> counts;
  for (const Part& part : parts_) {
    counts.insert(part.share.count);
  }
  if (counts.size() != 1) return {};
  const std::uint32_t count = *counts.begin();
  std::set<std::uint32_t> indices;
  for (const std::uint32_t shard : shards) indices.insert(shard % count);
  constexpr std::size_t kShownMax = 8;
  std::vector<std::string> shown;
  for (const std::uint32_t index : indices) {
    if (shown.size() == kShownMax) {
      shown.push_back(fmt::format("{} more", indices.size() - kShownMax));
      break;
    }
    shown.push_back(part_name({.count = count, .index = index}));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

void LockedParts::remove() {
  for (const Part& part : parts_) part.journal->remove();
  parts_.clear();
}

}  // namespace infeed::tools
