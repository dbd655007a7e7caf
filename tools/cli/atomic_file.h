#pragma once

#include <string>
#include <string_view>

#include <infeed/records/record_writer.h>

/// Why: a result file that another program waits for is either whole or not there.
namespace infeed::tools {

/// Throws now what replace_file() would throw later: it is checked before a minute of work that the
/// folder is there and may be written to. Leaves nothing behind.
void check_can_write(const std::string& file);

/// Writes `.NAME.partial` beside `file` and renames it; synced, it also outlasts a power cut. A
/// name that is a device or a pipe is written directly. Errors: not_found, permission_denied,
/// resource_exhausted, data_loss, with the file.
void replace_file(const std::string& file, std::string_view bytes,
                  Durability durability = Durability::synced);

}  // namespace infeed::tools
