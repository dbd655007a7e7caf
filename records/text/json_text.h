#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace infeed::detail {

/// An error in a JSON text, and its place. The text ends with a line feed, which is never part of a
/// value, and has kTextPaddingBytes behind that.
struct JsonProblem {
  std::string what;
  const char* at = nullptr;
};

/// A string between its quotes, as it is written.
struct JsonString {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool has_escapes = false;

  std::string_view view() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

/// A number as it is written.
struct JsonNumber {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool is_integer = true;  ///< has no point and no exponent
};

/// Walks through one line. Functions return false and set problem() when the text isn't JSON.
class JsonCursor {
 public:
  explicit JsonCursor(const char* at) : at_(at) {}

  const char* at() const { return at_; }
  /// Returns the next character that is no blank; a line feed at the end.
  char peek() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
    return *at_;
  }
  /// Takes the character that was peeked at.
  void take() { ++at_; }

  /// Goes behind a value that other code has read.
  void go_to(const char* at) { at_ = at; }

  /// Reads the string that begins here with its quote. Checks escapes and UTF-8.
  bool read_string(JsonString& out);
  bool read_number(JsonNumber& out);
  /// Reads "true", "false" or "null".
  bool read_word(std::string_view word);
  /// Passes over any value, `depth` objects and arrays deep.
  bool skip_value(int depth);
  /// Returns false when that depth is not allowed.
  bool enter(int depth);

  bool fail(std::string what) { return fail_at(at_, std::move(what)); }
  bool fail_at(const char* at, std::string what);
  /// Fails because `expected` should have come here.
  bool fail_expected(std::string_view expected);
  const JsonProblem& problem() const { return problem_; }

 private:
  bool check_escape(const char* at, std::size_t& length);

  const char* at_;
  JsonProblem problem_;
};

/// Writes the text of a string that read_string() has checked, and returns its size. It is at most
/// as long as the string is written.
std::size_t unescape_json(const JsonString& text, char* out);
std::string unescaped_json(const JsonString& text);

/// True if the bytes are UTF-8 as RFC 3629 defines it (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace infeed::detail
