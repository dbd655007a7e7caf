#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Why: names and values come from files and servers that anybody may have made. On a terminal a
/// control character moves the cursor or sets the title, and a mark for the direction of writing
/// shows "gpj.exe" for another name. All that reaches a terminal passes here.
namespace infeed::detail {

/// Bytes of the UTF-8 character that `text`, which isn't empty, begins with; 0 when it begins with
/// none (an overlong form, a surrogate).
std::size_t utf8_length(std::string_view text);

bool has_only_utf8(std::string_view text);

/// Whether a terminal might act on this character instead of showing it: C0, DEL, C1, marks for the
/// direction of writing, line and paragraph separators. `character` is one of utf8_length().
bool acts_on_terminal(std::string_view character);

enum class LineBreaks { escape, keep };

/// `text` with what acts on terminals as \n, \t, \xNN or \uNNNN, and with bytes that are no UTF-8 as
/// \xNN. With LineBreaks::keep line breaks and tabs stay.
std::string printable_text(std::string_view text, LineBreaks line_breaks = LineBreaks::escape);

/// Any bytes as UTF-8, and back: bytes that are no UTF-8 become \xNN. Text that has such a code itself
/// gets its backslashes doubled; all other text is its own name.
std::string utf8_name(std::string_view bytes);
std::string bytes_of_utf8_name(std::string_view name);

}  // namespace infeed::detail
