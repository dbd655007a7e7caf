#pragma once

#include <string>
#include <string_view>

/// Why: a result file that another program waits for is either whole or not there.
namespace infeed::tools {

/// Throws now what replace_file() would throw later: it is checked before a minute of work that the
/// folder is there and may be written to. Leaves nothing behind.
void check_can_write(const std::string& file);

/// Writes `.NAME.partial` beside `file`, syncs it and renames it. A name that is a device or a pipe
/// is written directly. Errors: not_found, permission_denied, resource_exhausted, with the file.
void replace_file(const std::string& file, std::string_view bytes);

}  // namespace infeed::tools
