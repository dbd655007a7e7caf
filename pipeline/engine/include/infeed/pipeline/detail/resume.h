#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include <infeed/error.h>

/// Why: a filter can't tell which of its inputs gave its millionth output without calling its
/// function on all of them again. So a stage that can pass over elements only by making them notes
/// a **bookmark** now and then: after so many elements given, these are the next elements of its
/// inputs, and these numbers are the rest of its state. A checkpoint has the last bookmark of each
/// such stage, and a resume goes on from there. It makes again what lies between the bookmark and
/// the checkpoint, 1,024 elements or so.
///
/// Bookmarks stand at places that depend on the stream alone: where the stage's position in its
/// input, or its own, passes a multiple of Bookmarked::every(). So checkpoints of the same place
/// have the same bookmarks, whatever threads have read ahead.
namespace infeed {

class IteratorContext;
class Stage;
struct StageContext;

namespace detail {

struct StageCounters;

}  // namespace detail

/// The knowledge about the elements that Stage::skip() passes over.
enum class Known : std::uint8_t {
  nothing,  ///< each element that may be an error must be looked at
  /// No element is an error, because a resume's checkpoint knows of none: batch may multiply, a
  /// source may seek. That holds only for elements that were read before the checkpoint. A stage
  /// must not pass over more elements of its input than it had read then.
  no_errors,
  /// A resume's checkpoint knows of errors, which may come again. So one that may pass is no terminal
  /// error among these elements (stage.h).
  errors,
};

struct Bookmark {
  std::uint64_t stage = 0;                 ///< number of its line in Checkpoint::signature
  std::uint64_t pass = 0;                  ///< StageContext::epoch of the stage
  std::uint64_t given = 0;                 ///< elements that the stage had given in that pass
  std::vector<std::uint64_t> inputs = {};  ///< for each input the first element to be read again
  std::vector<std::uint64_t> state = {};   ///< the stage's own numbers

  friend auto operator<=>(const Bookmark&, const Bookmark&) = default;
};

/// A place in a stage's stream: how many elements of the pass lie before it.
struct StreamPlace {
  std::uint64_t pass = 0;
  std::uint64_t position = 0;
  bool is_read_again = false;  ///< a cache behind it may begin again before this place

  StreamPlace at(std::uint64_t other_position) const {
    return {pass, other_position, is_read_again};
  }
};

/// A stage that goes on in a resume, as Node::input_resumed() is asked about it.
struct ResumedStage {
  StreamPlace place;
  const Bookmark* bookmark;  ///< from which it goes to that place, or null
  std::uint64_t taken;       ///< TakenBefore::elements
  Known known;
};

/// The second base class of a stage that notes bookmarks and goes on from them.
class Bookmarked {
 public:
  explicit Bookmarked(const StageContext& context);
  virtual ~Bookmarked() = default;
  Bookmarked(const Bookmarked&) = delete;
  Bookmarked& operator=(const Bookmarked&) = delete;

  /// Goes on from a bookmark that lies before the stage. Passes over the input by pass_over().
  /// Returns false, with nothing changed, if it has read more of its input than the bookmark says,
  /// and when cancelled. Throws bad_bookmark() for numbers that it never notes.
  virtual bool go_to(const Bookmark& bookmark, Known known) = 0;

 protected:
  /// Returns how many elements a stage lets pass between two bookmarks. 0: it notes none in this
  /// run, or because it is part of an inner dataset.
  std::uint64_t every() const { return every_; }
  /// Returns true if a place, which counts up with the stage's stream, has passed a multiple of
  /// every() since the last call. Never, if every() is 0.
  bool passes_multiple(std::uint64_t place) {
    if (place <= before_multiple_) return false;
    const std::uint64_t left = every_ - 1 - place % every_;
    before_multiple_ = left < UINT64_MAX - place ? place + left : UINT64_MAX;
    return true;
  }
  /// Notes that the stage, once it has given `given` elements of this pass, could go on as go_to()
  /// does: from these elements of its inputs, and with these numbers of its own. Call it before the
  /// element behind is given, and only while every() isn't 0.
  void note_bookmark(std::uint64_t given, std::span<const std::uint64_t> inputs,
                     std::span<const std::uint64_t> state) const;
  void note_bookmark(std::uint64_t given, std::initializer_list<std::uint64_t> inputs,
                     std::initializer_list<std::uint64_t> state = {}) const {
    note_bookmark(given, std::span(inputs), std::span(state));
  }
  /// Passes over elements of an input that were read before the checkpoint. Returns false when
  /// cancelled. Throws an Error if there are fewer.
  bool pass_over(Stage& input, std::uint64_t count, Known known) const;
  Error bad_bookmark() const;

 private:
  IteratorContext& run_;
  detail::StageCounters& counters_;
  const std::uint64_t pass_;
  const std::uint64_t every_;
  std::uint64_t before_multiple_;  ///< last place before the next multiple; UINT64_MAX: none comes
};

}  // namespace infeed
