#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/resume.h>

namespace infeed::detail {

/// A bookmark as a run keeps it: without memory of its own if it has two numbers or fewer, as those
/// of most stages. Two vectors took half of the time of noting one.
class NotedBookmark {
 public:
  NotedBookmark(std::uint64_t pass, std::uint64_t given, std::span<const std::uint64_t> inputs,
                std::span<const std::uint64_t> state = {})
      : pass_(pass),
        given_(given),
        inputs_(static_cast<std::uint32_t>(inputs.size())),
        numbers_(static_cast<std::uint32_t>(inputs.size() + state.size())) {
    if (numbers_ > few_.size()) many_.resize(numbers_);
    std::uint64_t* const numbers = many_.empty() ? few_.data() : many_.data();
    std::copy(inputs.begin(), inputs.end(), numbers);
    std::copy(state.begin(), state.end(), numbers + inputs_);
  }

  std::uint64_t pass() const { return pass_; }
  std::uint64_t given() const { return given_; }
  Bookmark bookmark() const {
    const std::span inputs = numbers().first(inputs_);
    const std::span state = numbers().subspan(inputs_);
    return {.pass = pass_,
            .given = given_,
            .inputs = {inputs.begin(), inputs.end()},
            .state = {state.begin(), state.end()}};
  }
  std::size_t bytes() const { return sizeof *this + many_.size() * sizeof(std::uint64_t); }

  bool is_before(std::uint64_t pass, std::uint64_t given) const {
    return std::pair(pass_, given_) < std::pair(pass, given);
  }
  bool is_at(const NotedBookmark& other) const {
    return pass_ == other.pass_ && given_ == other.given_;
  }
  bool is_before(const NotedBookmark& other) const { return is_before(other.pass_, other.given_); }
  /// Returns true if the stage has taken more since the other one, which is at the same place.
  bool has_taken_more_than(const NotedBookmark& other) const {
    return std::ranges::lexicographical_compare(other.numbers(), numbers());
  }

 private:
  std::span<const std::uint64_t> numbers() const {
    return many_.empty() ? std::span(few_).first(numbers_) : std::span(many_);
  }

  std::uint64_t pass_;
  std::uint64_t given_;
  std::uint32_t inputs_;
  std::uint32_t numbers_;  ///< those of the inputs, then of the state
  std::array<std::uint64_t, 2> few_{};
  std::vector<std::uint64_t> many_;  ///< all numbers if they are more than two
};

}  // namespace infeed::detail
