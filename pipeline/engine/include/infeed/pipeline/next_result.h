#pragma once

#include <optional>
#include <utility>

#include <infeed/error.h>

namespace infeed {

/// The result for a consumer that doesn't wait, or not for ever (Iterator::try_next, next_for): an
/// element, the end of the data, or nothing yet.
///
///     auto iterator = dataset.iterate();
///     if (auto next = iterator.try_next()) {
///       use(*next);
///     } else if (next.ended()) {
///       return;  // else nothing is ready yet
///     }
template <class T>
class NextResult {
 public:
  /// Makes the result "nothing yet".
  NextResult() = default;
  explicit NextResult(std::optional<T> element)
      : element_(std::move(element)), ended_(!element_.has_value()) {}

  bool has_value() const { return element_.has_value(); }
  explicit operator bool() const { return has_value(); }
  /// Returns true if the data is over.
  bool ended() const { return ended_; }

  /// The element. Only valid if has_value().
  T& operator*() & { return *element_; }
  T&& operator*() && { return std::move(*element_); }
  T* operator->() { return &*element_; }

 private:
  std::optional<T> element_ = std::nullopt;
  bool ended_ = false;
};

}  // namespace infeed
