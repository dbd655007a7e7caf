#include "convert/part_journals.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = "journal";

std::string_view word(PartName::Kind kind) {
  return kind == PartName::Kind::share ? "share" : "rank";
}

/// Returns the start of the journals' names: ".train.share".
std::string begin_of(const DatasetNames& names, PartName::Kind kind) {
  return fmt::format(".{}.{}", names.name, word(kind));
}

/// Returns the finished shards of a journal with this plan.
std::map<std::uint32_t, ShardEntry> committed_with(const ConversionPlan& plan,
                                                   const std::vector<std::string>& lines) {
  if (plan_of_part(lines) != plan.text) return {};
  return committed_shards(lines);
}

}  // namespace

std::string to_text(const PartName& part) {
  return part.kind == PartName::Kind::share
             ? fmt::format("--shard {}/{}", part.number.index, part.number.count)
             : fmt::format("rank {} of {}", part.number.index, part.number.count);
}

std::string part_journal_file(const DatasetNames& names, const PartName& part) {
  const fs::path begin = fs::path(names.folder) / begin_of(names, part.kind);
  return shard_name(begin.string(), part.number, kEnd);
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

std::vector<PartName> list_parts(const DatasetNames& names) {
  std::vector<PartName> parts;
  std::error_code error;
  fs::directory_iterator entries(names.folder, error);
  if (error == std::errc::no_such_file_or_directory) return parts;
  if (error) throw system_error("list", names.folder, error.value());
  for (const fs::directory_entry& entry : entries) {
    const std::string file = entry.path().string();
    const std::optional<ShardName> found = parse_shard_name(file);
    if (!found) continue;
    for (const auto kind : {PartName::Kind::share, PartName::Kind::rank}) {
      const PartName part{kind, found->shard};
      if (part_journal_file(names, part) == file) parts.push_back(part);
    }
  }
  std::sort(parts.begin(), parts.end(), [&](const PartName& a, const PartName& b) {
    return part_journal_file(names, a) < part_journal_file(names, b);
  });
  return parts;
}

std::map<std::uint32_t, ShardEntry> read_part(const DatasetNames& names, const PartName& part,
                                              const ConversionPlan& plan) {
  return committed_with(plan, read_journal(part_journal_file(names, part)));
}

LockedParts::LockedParts(const DatasetNames& names, Durability durability) {
  for (const PartName& name : list_parts(names)) {
    const std::string file = part_journal_file(names, name);
    auto journal = std::make_unique<Journal>(file, durability, "making " + to_text(name));
    parts_.push_back({name, file, std::move(journal)});
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
                            to_text(part.name), describe_difference(there, plan.text)))
        .at_file(part.file);
  }
}

std::string LockedParts::parts_of(const std::vector<std::uint32_t>& shards) const {
  std::set<std::uint32_t> counts;
  for (const Part& part : parts_) {
    if (part.name.kind == PartName::Kind::share) counts.insert(part.name.number.count);
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
    shown.push_back(to_text(PartName{PartName::Kind::share, {.count = count, .index = index}}));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

void LockedParts::remove() {
  for (const Part& part : parts_) part.journal->remove();
  parts_.clear();
}

}  // namespace infeed::tools
