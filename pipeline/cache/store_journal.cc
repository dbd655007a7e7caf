#include "cache/store_journal.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <system_error>

#include <infeed/detail/escaped_field.h>
#include <infeed/detail/format_version.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/records/files.h>

namespace infeed::detail {
namespace {

constexpr std::string_view kName = "infeed elements";
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kHeader = "infeed elements 1";
constexpr std::string_view kOutermost = "outermost";
constexpr auto kValuesMax = std::uint64_t{INT64_MAX};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == line.npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

/// Returns the number; 0 for text that isn't one. Lines have checksums, so only a bug or a joke
/// writes such text.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  take_number(text, number);
  return number;
}

/// Returns the code of its name. Older stores spell codes as old messages did: "data loss", "user
/// function failed", "internal error".
ErrorCode code_of(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), ' ', '_');
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    if (name.starts_with(to_string(static_cast<ErrorCode>(code)))) {
      return static_cast<ErrorCode>(code);
    }
  }
  return ErrorCode::internal;
}

StoredError parse_error(const std::vector<std::string_view>& fields) {
  Error error(code_of(fields[2]), unescaped_field(fields[7]));
  if (!fields[3].empty()) error.at_stage(unescaped_field(fields[3]));
  if (!fields[4].empty()) error.at_file(unescaped_field(fields[4]));
  if (!fields[5].empty()) error.at_offset(number_of(fields[5]));
  if (!fields[6].empty()) error.at_record(number_of(fields[6]));
  if (fields.size() == 10) {
    Lost lost;
    if (!fields[8].empty()) lost.records = number_of(fields[8]);
    if (!fields[9].empty()) lost.bytes = number_of(fields[9]);
    error.losing(lost);
  }
  return {number_of(fields[1]), std::make_shared<const Error>(std::move(error))};
}

/// Throws unless it is a plain file name. A checksum doesn't protect from a malicious journal: its
/// author can compute it, too.
void require_file_name(std::string_view name) {
  if (is_file_name(name)) return;
  throw Error(
      ErrorCode::data_loss,
      fmt::format("the journal names '{}' as a shard, which is no name of a file in its own "
                  "folder; that was not read, and who made the folder should not be "
                  "trusted",
                  name));
}

class JournalParser {
 public:
  /// Returns false if the lines that count end here.
  bool add(std::string_view line) {
    const std::vector<std::string_view> fields = split(line);
    if (fields[0] == "is" && fields.size() == 2) {
      content.identity.push_back(unescaped_field(fields[1]));
    } else if (fields[0] == "error" && (fields.size() == 8 || fields.size() == 10)) {
      pending_.push_back(parse_error(fields));
    } else if (fields[0] == "seen" && fields.size() == 2) {
      pending_errors_on_the_way_ = number_of(fields[1]);
    } else if (fields[0] == "drew" && fields.size() == 3) {
      const std::uint64_t stage =
          fields[1] == kOutermost ? StoredDraw::kOutermost : number_of(fields[1]);
      content.draws.push_back({stage, unescaped_field(fields[2])});
    } else if (fields[0] == "shard" && fields.size() == 4) {
      require_file_name(fields[1]);
      const StoredShard shard{std::string(fields[1]), number_of(fields[2]), number_of(fields[3])};
      // A shard without values would be read again and again, and a sum beyond 2^63 would overflow.
      if (shard.values == 0 || shard.values > kValuesMax - values_) return false;
      if (!commit(values_ + shard.values)) return false;
      content.shards.push_back(shard);
    } else if (fields[0] == "end" && fields.size() == 2) {
      if (!commit(values_)) return false;
      content.complete = number_of(fields[1]) == content.slots();
      return false;
    } else {
      return false;
    }
    return true;
  }

  StoreContent content;

 private:
  /// Takes the pending errors, which lie among the first `values`. Returns false for errors at places
  /// without a value, or not in the order of their places. A checksum says whether a line is damaged,
  /// not who wrote it.
  bool commit(std::uint64_t values) {
    std::uint64_t begin = content.errors.empty() ? 0 : content.errors.back().position + 1;
    std::uint64_t before = content.errors.size();
    for (const StoredError& error : pending_) {
      if (error.position < begin || error.position - before > values) return false;
      begin = error.position + 1;
      ++before;
    }
    std::move(pending_.begin(), pending_.end(), std::back_inserter(content.errors));
    pending_.clear();
    content.errors_on_the_way = pending_errors_on_the_way_;
    values_ = values;
    return true;
  }

  std::uint64_t values_ = 0;  ///< those of content.shards: a sum of all at each shard took seconds
  std::vector<StoredError> pending_;
  std::optional<std::uint64_t> pending_errors_on_the_way_;
};

}  // namespace

std::string journal_file(const std::string& folder) { return folder + "/elements.journal"; }

std::string journal_shard(const StoredShard& shard) {
  return fmt::format("shard\t{}\t{}\t{}", shard.file, shard.values, shard.bytes);
}

std::string journal_error(std::uint64_t position, const Error& error) {
  const auto optional_number = [](const std::optional<std::uint64_t>& number) {
    return number ? std::to_string(*number) : std::string();
  };
  std::string line = fmt::format("error\t{}\t{}\t{}\t{}\t{}\t{}\t{}", position,
                                 to_string(error.code()), escaped_field(error.stage()),
                                 escaped_field(error.file()), optional_number(error.offset()),
                                 optional_number(error.record()), escaped_field(error.message()));
  if (error.lost()) {
    line += fmt::format("\t{}\t{}", optional_number(error.lost()->records),
                        optional_number(error.lost()->bytes));
  }
  return line;
}

std::string journal_seen(std::uint64_t errors_on_the_way) {
  return fmt::format("seen\t{}", errors_on_the_way);
}

std::string journal_draw(const StoredDraw& draw) {
  const std::string stage =
      draw.stage == StoredDraw::kOutermost ? std::string(kOutermost) : std::to_string(draw.stage);
  return fmt::format("drew\t{}\t{}", stage, escaped_field(draw.line));
}

std::string journal_end(std::uint64_t slots) { return fmt::format("end\t{}", slots); }

std::string journal_of(const StoreContent& content) {
  std::vector<std::string> lines{std::string(kHeader)};
  for (const std::string& line : content.identity) lines.push_back("is\t" + escaped_field(line));
  if (content.errors_on_the_way) lines.push_back(journal_seen(*content.errors_on_the_way));
  for (const StoredDraw& draw : content.draws) lines.push_back(journal_draw(draw));
  // Each shard's errors come before it.
  std::uint64_t values = 0;
  std::size_t next_error = 0;
  for (const StoredShard& shard : content.shards) {
    values += shard.values;
    while (next_error < content.errors.size() &&
           content.errors[next_error].position - next_error <= values) {
      const StoredError& stored = content.errors[next_error++];
      lines.push_back(journal_error(stored.position, *stored.error));
    }
    lines.push_back(journal_shard(shard));
  }
  return LineJournal::text_of(lines, kJournalChecksum);
}

std::optional<StoreContent> read_journal(const std::string& folder) {
  const std::string file = journal_file(folder);
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) return std::nullopt;
  const std::vector<std::string> lines = LineJournal::read(file, kJournalChecksum);
  const std::uint32_t version = lines.empty() ? 0 : format_version(lines.front(), kName);
  if (version > kVersion) {
    throw later_format("the store of elements", version, kVersion,
                       "remove its folder: the elements are made again")
        .at_file(file);
  }
  if (lines.empty() || lines.front() != kHeader) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("found a file that does not begin with the line '{}' where a journal "
                            "was expected; give a folder that only this cache or snapshot uses, "
                            "or remove the file",
                            kHeader))
        .at_file(file);
  }
  JournalParser parser;
  try {
    for (std::size_t i = 1; i < lines.size() && parser.add(lines[i]); ++i) {
    }
  } catch (Error& error) {
    throw error.at_file(file);
  }
  return std::move(parser.content);
}

std::uint64_t StoreContent::values() const {
  std::uint64_t total = 0;
  for (const StoredShard& shard : shards) total += shard.values;
  return total;
}

void StoreContent::cut(std::size_t count) {
  if (count >= shards.size() && !complete) return;
  if (count < shards.size()) shards.resize(count);
  complete = false;
  // Errors after the last remaining value come again from the input.
  const std::uint64_t left = values();
  std::size_t kept = 0;
  while (kept < errors.size() && errors[kept].position - kept < left) ++kept;
  errors.resize(kept);
}

std::size_t StoreContent::intact_shards(const std::string& folder) const {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::error_code failure;
    const std::uintmax_t bytes =
        std::filesystem::file_size(std::filesystem::path(folder) / shards[i].file, failure);
    // One that can't be looked at for another reason isn't lost: its reader says what that is.
    const bool is_gone = failure == std::errc::no_such_file_or_directory;
    if (is_gone || (!failure && bytes != shards[i].bytes)) return i;
  }
  return shards.size();
}

}  // namespace infeed::detail
