#include <fmt/format.h>

#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/resume/bookmarks.h"

namespace infeed {

Bookmarked::Bookmarked(const StageContext& context)
    : run_(context.run),
      counters_(*context.counters),
      pass_(context.epoch),
      every_(context.inner.outermost == nullptr ? context.run.bookmarks().every() : 0),
      before_multiple_(every_ == 0 ? UINT64_MAX : every_ - 1) {}

void Bookmarked::note_bookmark(std::uint64_t given, std::span<const std::uint64_t> inputs,
                               std::span<const std::uint64_t> state) const {
  run_.bookmarks().note(counters_, {pass_, given, inputs, state});
}

bool Bookmarked::pass_over(Stage& input, std::uint64_t count, Known known) const {
  const std::uint64_t passed = input.skip(count, known);
  if (passed == count) return true;
  if (run_.cancelled()) return false;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the checkpoint was taken when {} had given {} more elements, but there "
                          "are {} left; the data has changed since",
                          input.label(), count, passed));
}

Error Bookmarked::bad_bookmark() const {
  return {ErrorCode::invalid_argument,
          fmt::format("the checkpoint's bookmark of {} holds numbers that this stage never notes, "
                      "so it is damaged; take an older checkpoint, or leave its bookmark lines out",
                      counters_.label)};
}

std::uint64_t detail::go_to_bookmark(Stage& stage, std::uint64_t position, const Bookmark& bookmark,
                                     Known known) {
  auto* const bookmarked = dynamic_cast<Bookmarked*>(&stage);
  if (bookmarked == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the checkpoint has a bookmark of {}, which notes none; take an older "
                            "checkpoint, or leave that line out",
                            stage.label()));
  }
  return bookmarked->go_to(bookmark, known) ? bookmark.given - position : 0;
}

}  // namespace infeed
