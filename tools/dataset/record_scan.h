#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <infeed/records/record.h>
#include <infeed/records/record_reader.h>

/// Reading a record file to its end despite damage.
namespace infeed::tools {

struct RecordScan {
  std::uint64_t records = 0;  ///< whole ones
  std::uint64_t payload_bytes = 0;
  std::vector<DamagedRange> damaged;
  Compression compression = Compression::none;
  std::optional<std::uint64_t> file_bytes;  ///< none: a pipe
};

/// Verifies everything and goes on behind damage. `visit` gets each whole record; if it returns
/// false, the scan ends. Throws the errors of opening the file.
RecordScan scan_records(const std::string& file,
                        const std::function<bool(const Record&)>& visit = {},
                        const UrlOptions& url = {});

/// "record 61 at bytes 48210 to 49010: its checksum ..."
std::string describe(const DamagedRange& range);

}  // namespace infeed::tools
