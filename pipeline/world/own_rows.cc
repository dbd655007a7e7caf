#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <infeed/detail/parse_whole.h>
#include <infeed/share.h>

#include "engine/seeds/signature.h"

// A checkpoint counts global batches, whichever rows of them a pipeline makes. So those of all ranks
// differ in the line of own_rows(), and in the rows of batches behind it.

namespace infeed {
namespace {

using Lines = std::vector<std::string>;

/// Returns the share that a line of own_rows() holds.
std::optional<RowShare> share_in(std::string_view line) {
  RowShare share;
  const std::array<std::pair<std::string_view, std::int64_t*>, 3> numbers = {
      {{"own_rows(batch=", &share.batch}, {", first=", &share.first}, {", rows=", &share.rows}}};
  for (const auto& [name, number] : numbers) {
    if (!line.starts_with(name)) return std::nullopt;
    line.remove_prefix(name.size());
    const std::size_t end = std::min(line.find_first_of(",)"), line.size());
    if (!detail::parse_whole(line.substr(0, end), *number)) return std::nullopt;
    line.remove_prefix(end);
  }
  return line == ")" ? std::optional(share) : std::nullopt;
}

/// Returns the line with `to` rows in the place of `from`, where an option is that bare number:
/// "batch(64, drop_remainder)".
std::string with_rows(const std::string& line, std::int64_t from, std::int64_t to) {
  const std::string number = std::to_string(from);
  for (std::size_t at = line.find('('); at != line.npos; at = line.find(' ', at)) {
    ++at;
    const std::size_t end = std::min(line.find_first_of(",)", at), line.size());
    if (line.compare(at, end - at, number) != 0) continue;
    return line.substr(0, at) + std::to_string(to) + line.substr(end);
  }
  return line;
}

void forget_from(Checkpoint& checkpoint, std::size_t first_line) {
  std::erase_if(checkpoint.bookmarks,
                [&](const Bookmark& bookmark) { return bookmark.stage >= first_line; });
  checkpoint.order_hash = 0;
}

}  // namespace

Checkpoint with_all_rows(Checkpoint checkpoint) {
  Lines all;
  std::optional<RowShare> own;
  for (std::string& line : checkpoint.signature) {
    if (const auto share = share_in(line)) {
      if (!own) forget_from(checkpoint, all.size());
      own = share;
    } else {
      all.push_back(own ? with_rows(line, own->rows, own->batch) : std::move(line));
    }
  }
  checkpoint.signature = std::move(all);
  return checkpoint;
}

namespace detail {

Checkpoint make_with_own_rows(Checkpoint checkpoint, const Node& node) {
  const Lines ours = signature_of(node);
  Lines lines;
  std::optional<RowShare> own;
  auto before = checkpoint.signature.begin();
  for (const std::string& line : ours) {
    if (const auto share = share_in(line)) {
      if (!own) forget_from(checkpoint, lines.size());
      own = share;
      lines.push_back(line);
    } else if (before != checkpoint.signature.end()) {
      lines.push_back(own ? with_rows(*before, own->batch, own->rows) : *before);
      ++before;
    }
  }
  if (!own) return checkpoint;
  lines.insert(lines.end(), before, checkpoint.signature.end());
  checkpoint.signature = std::move(lines);
  return checkpoint;
}

}  // namespace detail
}  // namespace infeed
