#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Why: names and values come from files and servers that anybody may have made. On a terminal a
/// control character moves the cursor or sets the title, and a mark for the direction of writing
/// shows "gpj.exe" as another name. All text for a terminal passes here.
namespace infeed::detail {

/// Returns the bytes of the UTF-8 character that `text`, which isn't empty, begins with. Returns 0
/// when it begins with none (an overlong form, a surrogate).
std::size_t utf8_length(std::string_view text);

bool has_only_utf8(std::string_view text);

/// True if a terminal might act on this character instead of showing it: C0, DEL, C1, marks for the
/// direction of writing, line and paragraph separators. `character` has utf8_length() bytes.
bool acts_on_terminal(std::string_view character);

enum class LineBreaks { escape, keep };

/// Returns `text` with characters that act on terminals as `\n`, `\t`, `\xNN` or `\uNNNN`, and with
/// bytes that aren't UTF-8 as `\xNN`. LineBreaks::keep keeps line breaks and tabs.
std::string printable_text(std::string_view text, LineBreaks line_breaks = LineBreaks::escape);

/// Converts any bytes to UTF-8 and back: bytes that aren't UTF-8 become `\xNN`. Text that has such
/// a code itself gets its backslashes doubled; all other text stays as it is.
std::string utf8_name(std::string_view bytes);
std::string bytes_of_utf8_name(std::string_view name);

}  // namespace infeed::detail
