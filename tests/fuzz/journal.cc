#include "convert/journal.h"

#include <infeed/records/files.h>

#include "convert/manifest.h"
#include "fuzz.h"

/// Journals of conversions, of any bytes and of lines with right checksums: lines come back
/// unchanged, up to the first damaged one, and none names a shard outside of the folder.
namespace infeed::fuzz {
namespace {

constexpr LineChecksum kPlace = LineChecksum::before_text;

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void check_entry(const std::string& line) {
  const std::optional<tools::ShardEntry> entry = tools::parse_shard_entry(line);
  if (!entry) return;
  require(is_file_name(entry->file), "a shard is a file in the journal's folder");
  const std::string text = to_text(*entry);
  const std::optional<tools::ShardEntry> again = tools::parse_shard_entry(text);
  require(again.has_value(), "an entry that was read can be written and read");
  require(to_text(*again) == text, "it is the same then");
}

}  // namespace

void check(Input input) {
  static const MemoryFile memory;
  const bool is_sealed = input.byte() % 2 != 0;
  std::vector<std::string> written;
  if (is_sealed) {
    written = split_lines(input.rest());
    // A line without a text is none.
    written.resize(static_cast<std::size_t>(
        std::find(written.begin(), written.end(), std::string()) - written.begin()));
  }
  const std::string bytes =
      is_sealed ? LineJournal::text_of(written, kPlace) : std::string(input.rest());
  const std::vector<std::string> lines = tools::read_journal(memory.write(bytes));
  if (is_sealed) require(lines == written, "lines are what was written");
  require(bytes.starts_with(LineJournal::text_of(lines, kPlace)) || !is_sealed,
          "what was read is the front of the file");
  for (const std::string& line : lines) check_entry(line);
}

}  // namespace infeed::fuzz
