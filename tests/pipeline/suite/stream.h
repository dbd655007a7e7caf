#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>

#include "pipeline/suite/elements.h"
#include "pipeline/suite/shown.h"

/// The form in which streams are compared: a text an element, "! message" for an error in an
/// element's place, "!! message" for a terminal one, which is the last.
namespace infeed::test {

using Stream = std::vector<std::string>;

/// One element of a test's input: a number, or an error in its place.
struct Slot {
  std::int64_t value = 0;
  bool fails = false;
};
using Slots = std::vector<Slot>;

inline std::string message_of_broken(std::int64_t value) {
  return "element " + std::to_string(value) + " is broken";
}
inline std::string show(const Slot& slot) {
  return slot.fails ? "! " + message_of_broken(slot.value) : std::to_string(slot.value);
}
inline Stream show_all(const Slots& slots) {
  Stream stream;
  for (const Slot& slot : slots) stream.push_back(show(slot));
  return stream;
}

/// Shows two passes.
inline Stream show_twice(const Slots& slots) {
  Stream stream = show_all(slots);
  const Stream once = stream;
  stream.insert(stream.end(), once.begin(), once.end());
  return stream;
}

inline constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

inline bool is_terminal(const std::string& text) { return text.starts_with("!! "); }
/// Returns the number of elements, errors included, without the terminal error at the end.
inline std::size_t elements_of(const Stream& stream) {
  return stream.size() - (!stream.empty() && is_terminal(stream.back()) ? 1 : 0);
}

/// Takes up to `count` elements. Rethrows a cancellation, which is no element.
inline Stream take_stream(ShownIterator& iterator, std::size_t count = kAll) {
  Stream stream;
  while (stream.size() < count) {
    try {
      std::optional<std::string> element = iterator.next();
      if (!element) break;
      stream.push_back(std::move(*element));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      stream.push_back((error.is_terminal() ? "!! " : "! ") + error.message());
      if (error.is_terminal()) break;
    }
  }
  return stream;
}
template <class T>
Stream take_stream(Iterator<T>& iterator, std::size_t count = kAll) {
  ShownIteratorOf<Iterator<T>&> elements(iterator);
  return take_stream(elements, count);
}

/// Takes the stream to the end. next() gives a NextResult, which may be "nothing yet".
template <class Next>
Stream take_by(Next next) {
  Stream stream;
  while (true) {
    try {
      NextResult<std::string> element = next();
      if (element.ended()) return stream;
      if (element) stream.push_back(*std::move(element));
    } catch (const Error& error) {
      stream.push_back((error.is_terminal() ? "!! " : "! ") + error.message());
      if (error.is_terminal()) return stream;
    }
  }
}

/// Takes the stream to the end as a consumer that never waits for long.
inline Stream poll_stream(ShownIterator& iterator) {
  return take_by([&iterator] { return iterator.next_for(std::chrono::microseconds(50)); });
}

/// Takes the stream to the end as a consumer that looks at something else while it waits.
inline Stream look_and_take_stream(ShownIterator& iterator) {
  return take_by([&iterator] { return NextResult<std::string>(iterator.next_looking([] {})); });
}

template <class T>
Stream stream_of(const Dataset<T>& dataset, IterateOptions options = {}, std::size_t count = kAll) {
  Iterator<T> iterator = dataset.iterate(std::move(options));
  return take_stream(iterator, count);
}

/// A stream of plain numbers.
inline Stream numbers(const std::vector<std::int64_t>& values) {
  Stream stream;
  for (const std::int64_t value : values) stream.push_back(std::to_string(value));
  return stream;
}

}  // namespace infeed::test
