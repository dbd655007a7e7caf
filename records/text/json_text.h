#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace infeed::detail {

/// What is wrong with a JSON text, and where. The text that it is in ends with a line feed, which is
/// never part of a value, and goes on behind that by kTextPaddingBytes.
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
  bool is_integer = true;  ///< without a point and an exponent
};

/// Walks through one line. The functions return false and set problem() when the text isn't JSON.
class JsonCursor {
 public:
  explicit JsonCursor(const char* at) : at_(at) {}

  const char* at() const { return at_; }
  /// The next character that is no blank; a line feed at the end.
  char peek() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
    return *at_;
  }
  /// Takes the next character, which was peeked at.
  void take() { ++at_; }

  /// Behind what somebody else has read.
  void go_to(const char* at) { at_ = at; }

  /// The string that begins here with its quote: escapes and UTF-8 are checked.
  bool read_string(JsonString& out);
  bool read_number(JsonNumber& out);
  /// "true", "false", "null".
  bool read_word(std::string_view word);
  /// Any value, `depth` objects and arrays deep.
  bool skip_value(int depth);
  /// False when that is deeper than may be.
  bool enter(int depth);

  bool fail(std::string what) { return fail_at(at_, std::move(what)); }
  bool fail_at(const char* at, std::string what);
  /// That `expected` should have come here.
  bool fail_expected(std::string_view expected);
  const JsonProblem& problem() const { return problem_; }

 private:
  bool check_escape(const char* at, std::size_t& length);

  const char* at_;
  JsonProblem problem_;
};

/// Writes the text of a string that read_string() has checked; it is at most as long as what is
/// written. Returns its size.
std::size_t unescape_json(const JsonString& text, char* out);
std::string unescaped_json(const JsonString& text);

/// Whether the bytes are UTF-8 as RFC 3629 has it (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace infeed::detail
