#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <infeed/pipeline/detail/resume.h>
#include <infeed/pipeline/node.h>

#include "engine/resume/noted_bookmark.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

class IteratorCounters;

/// The bookmarks (detail/resume.h) that the stages of a run have noted, and those of the checkpoint
/// that it resumed from. They are known by the stage's counters, which all its passes share.
///
/// Only bookmarks that a later checkpoint may need are kept. Stages run ahead of the consumer, so
/// that is the last one before the consumer's place, and all behind it. Where a stage has far too
/// many of them, every second one goes.
///
/// Thread-safety: any thread may call it. mutex_ guards what is noted.
class Bookmarks {
 public:
  explicit Bookmarks(std::uint64_t every) : every_(every) {}

  std::uint64_t every() const { return every_; }
  void note(const StageCounters& stage, NotedBookmark bookmark);
  /// Takes over the bookmarks of a checkpoint. Call it when the counters exist and nothing runs.
  void adopt(const std::vector<Bookmark>& bookmarks, const Node& root,
             const IteratorCounters& counters);
  /// Returns the checkpoint's last bookmark of the stage in that pass, or null. It lives as long as
  /// this object.
  const Bookmark* adopted(const StageCounters& stage, std::uint64_t pass) const;

  /// Returns the bookmarks of a checkpoint at this place of the root: for each stage the last one
  /// from which it gets there.
  std::vector<Bookmark> at(const ResumedStage& root, const Node& node,
                           const IteratorCounters& counters) const;
  /// Returns true once so many were noted that forget_before() is due.
  bool are_many() const { return are_many_.load(std::memory_order_relaxed); }
  /// Forgets those that no checkpoint behind this place needs.
  void forget_before(const ResumedStage& root, const Node& node, const IteratorCounters& counters);

 private:
  // 16 KiB stay in a core's first cache, where noting and forgetting them takes the least time.
  static constexpr std::size_t kManyBytes = std::size_t{1} << 14;
  static constexpr std::size_t kStageBytesMax = std::size_t{1} << 21;

  void thin_out();
  std::optional<Bookmark> last_before(const StageCounters& stage, const StreamPlace& place) const;

  const std::uint64_t every_;
  std::atomic<bool> are_many_{false};
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::size_t many_bytes_ = kManyBytes;
  /// In order, in which they mostly come, and one at a place.
  std::map<const StageCounters*, std::vector<NotedBookmark>> noted_;
  std::map<const StageCounters*, std::vector<Bookmark>> adopted_;  ///< unchanged after adopt()
};

/// Makes a stage at `position` go to the bookmark. Returns how many elements it has passed over.
/// Throws an Error if the stage notes none.
std::uint64_t go_to_bookmark(Stage& stage, std::uint64_t position, const Bookmark& bookmark,
                             Known known);

}  // namespace infeed::detail
