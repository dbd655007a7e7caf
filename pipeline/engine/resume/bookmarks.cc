#include "engine/resume/bookmarks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/iterator_counters.h"

namespace infeed::detail {
namespace {

/// Goes through the stages as a resume does, from the consumer's side, and numbers their lines from
/// the sources on, as signature_of() does.
template <class Find, class Visit>
class ResumeWalk {
 public:
  /// find(counters, place) returns the bookmark that a stage goes on from, if there is one.
  /// visit(counters, line, bookmark) is called for each stage that has a line.
  /// `has_lines`: whether they are numbered. A source's line has a checksum of its files.
  ResumeWalk(const IteratorCounters& counters, bool has_lines, const Find& find, const Visit& visit)
      : counters_(counters), has_lines_(has_lines), find_(find), visit_(visit) {}

  void go(const Node& node, const ResumedStage& stage) { go(node, nullptr, 0, stage); }

 private:
  void go(const Node& node, const StageCounters* consumer, std::size_t ordinal,
          ResumedStage stage) {
    const bool has_counters = node.has_counters();
    const StageCounters* const own =
        has_counters ? counters_.find(node, consumer, ordinal) : nullptr;
    const bool needs_one = own != nullptr && node.needs_bookmark(stage.known);
    const std::optional<Bookmark> bookmark = needs_one ? find_(*own, stage.place) : std::nullopt;
    stage.bookmark = bookmark ? &*bookmark : nullptr;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      ResumedStage input = stage;
      input.bookmark = nullptr;
      if (has_counters) input.place = node.input_resumed(i, stage);
      if (has_counters) {
        go(*node.inputs()[i], own, i, input);
      } else {
        go(*node.inputs()[i], consumer, ordinal, input);
      }
    }
    line_ += node.signature_elsewhere().size();
    if (has_lines_ && node.signature().empty()) return;
    if (own != nullptr) visit_(*own, line_, bookmark);
    ++line_;
  }

  const IteratorCounters& counters_;
  const bool has_lines_;
  const Find& find_;
  const Visit& visit_;
  std::uint64_t line_ = 0;
};

std::size_t bytes_of(const std::vector<NotedBookmark>& bookmarks) {
  std::size_t bytes = 0;
  for (const NotedBookmark& bookmark : bookmarks) bytes += bookmark.bytes();
  return bytes;
}

/// Returns the first one that isn't before the place.
template <class Noted>
auto first_at(Noted& bookmarks, std::uint64_t pass, std::uint64_t given) {
  return std::partition_point(
      bookmarks.begin(), bookmarks.end(),
      [&](const NotedBookmark& bookmark) { return bookmark.is_before(pass, given); });
}

}  // namespace

void Bookmarks::note(const StageCounters& stage, NotedBookmark bookmark) {
  const std::lock_guard lock(mutex_);
  std::vector<NotedBookmark>& noted = noted_[&stage];
  // A pass that began later may be quicker. A rare filter takes much of its input at one place.
  const bool is_last = noted.empty() || noted.back().is_before(bookmark);
  const auto at = is_last ? noted.end() : first_at(noted, bookmark.pass(), bookmark.given());
  if (at == noted.end() || !at->is_at(bookmark)) {
    bytes_ += bookmark.bytes();
    noted.insert(at, std::move(bookmark));
  } else if (bookmark.has_taken_more_than(*at)) {
    bytes_ = bytes_ - at->bytes() + bookmark.bytes();
    *at = std::move(bookmark);
  }
  if (bytes_ <= many_bytes_) return;
  are_many_.store(true, std::memory_order_relaxed);
  // A consumer behind a rare filter, or behind a shuffle that fills its buffer, may wait for hours
  // before it comes to forget any.
  if (bytes_ > kStageBytesMax) thin_out();
}

/// Leaves every second one out where a stage has far too many, and counts all again. Called with the
/// mutex held.
void Bookmarks::thin_out() {
  std::size_t total = 0;
  for (auto& [stage, noted] : noted_) {
    std::size_t bytes = bytes_of(noted);
    while (bytes > kStageBytesMax && noted.size() > 1) {
      // The first one is needed.
      for (std::size_t i = 1; 2 * i < noted.size(); ++i) noted[i] = std::move(noted[2 * i]);
      noted.erase(noted.begin() + static_cast<std::ptrdiff_t>((noted.size() + 1) / 2), noted.end());
      bytes = bytes_of(noted);
    }
    total += bytes;
  }
  bytes_ = total;
  many_bytes_ = std::max(kManyBytes, 2 * total);
}

void Bookmarks::adopt(const std::vector<Bookmark>& bookmarks, const Node& root,
                      const IteratorCounters& counters) {
  if (bookmarks.empty()) return;
  const auto find = [](const StageCounters&, const StreamPlace&) {
    return std::optional<Bookmark>();
  };
  const auto take = [&](const StageCounters& stage, std::uint64_t line,
                        const std::optional<Bookmark>&) {
    for (const Bookmark& bookmark : bookmarks) {
      if (bookmark.stage != line) continue;
      adopted_[&stage].push_back(bookmark);
      adopted_[&stage].back().stage = 0;
      note(stage, {bookmark.pass, bookmark.given, bookmark.inputs, bookmark.state});
    }
  };
  ResumeWalk walk(counters, true, find, take);
  walk.go(root, {});
}

const Bookmark* Bookmarks::adopted(const StageCounters& stage, std::uint64_t pass) const {
  if (adopted_.empty()) return nullptr;
  const auto found = adopted_.find(&stage);
  if (found == adopted_.end()) return nullptr;
  const Bookmark* last = nullptr;
  for (const Bookmark& bookmark : found->second) {
    if (bookmark.pass == pass && (last == nullptr || bookmark.given >= last->given))
      last = &bookmark;
  }
  return last;
}

/// Returns the last one of those with fewer elements given than the place: one with as many may be
/// noted while the consumer is at the place.
std::optional<Bookmark> Bookmarks::last_before(const StageCounters& stage,
                                               const StreamPlace& place) const {
  const std::lock_guard lock(mutex_);
  const auto found = noted_.find(&stage);
  if (found == noted_.end()) return std::nullopt;
  const auto behind = first_at(found->second, place.pass, place.position);
  if (behind == found->second.begin() || std::prev(behind)->pass() != place.pass)
    return std::nullopt;
  return std::prev(behind)->bookmark();
}

std::vector<Bookmark> Bookmarks::at(const ResumedStage& root, const Node& node,
                                    const IteratorCounters& counters) const {
  std::vector<Bookmark> bookmarks;
  if (every_ == 0) return bookmarks;
  const auto find = [this](const StageCounters& stage, const StreamPlace& place) {
    return last_before(stage, place);
  };
  const auto add = [&](const StageCounters&, std::uint64_t line,
                       const std::optional<Bookmark>& bookmark) {
    if (!bookmark) return;
    bookmarks.push_back(*bookmark);
    bookmarks.back().stage = line;
  };
  ResumeWalk walk(counters, true, find, add);
  walk.go(node, root);
  return bookmarks;
}

void Bookmarks::forget_before(const ResumedStage& root, const Node& node,
                              const IteratorCounters& counters) {
  const auto find = [this](const StageCounters& stage, const StreamPlace& place) {
    return place.is_read_again ? std::nullopt : last_before(stage, place);
  };
  const auto forget = [this](const StageCounters& stage, std::uint64_t,
                             const std::optional<Bookmark>& bookmark) {
    if (!bookmark) return;
    const std::lock_guard lock(mutex_);
    std::vector<NotedBookmark>& noted = noted_[&stage];
    // Another thread's note may just have thinned that one out, so the one before it is needed.
    const auto behind = first_at(noted, bookmark->pass, bookmark->given + 1);
    if (behind != noted.begin()) noted.erase(noted.begin(), std::prev(behind));
  };
  ResumeWalk walk(counters, false, find, forget);
  walk.go(node, root);
  const std::lock_guard lock(mutex_);
  thin_out();
  are_many_.store(false, std::memory_order_relaxed);
}

}  // namespace infeed::detail
