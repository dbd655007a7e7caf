#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Numbers in a checkpoint's texts: words, with a blank or a line break between them.

namespace infeed::detail {

/// Returns all bits of the number, in hex.
std::string exact_text(double number);

class StateReader {
 public:
  /// `name` appears in errors.
  StateReader(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  /// Returns the next word. Throws data_loss with the text found.
  std::string_view word();
  /// Takes the next word, which must be this one.
  void expect(std::string_view word);
  std::int64_t integer();
  std::uint64_t bits();  ///< from hex digits
  double real();         ///< from exact_text()
  /// Returns the text behind the blank after the last word.
  std::string_view rest() const { return rest_.substr(rest_.empty() ? 0 : 1); }
  [[noreturn]] void refuse(std::string_view found, std::string_view expected) const;

 private:
  std::string_view rest_;
  std::string name_;
};

}  // namespace infeed::detail
