#include "dataset/record_scan.h"

#include <array>
#include <fmt/format.h>

#include <infeed/error.h>

namespace infeed::tools {

RecordScan scan_records(const std::string& file, const std::function<bool(const Record&)>& visit,
                        const UrlOptions& url) {
  RecordReader reader(file, {.damage = DamagePolicy::skip_and_resynchronise, .url = url});
  RecordScan scan;
  std::array<Record, 256> records;
  bool goes_on = true;
  while (goes_on) {
    const std::size_t count = reader.read(records);
    if (url.stop.stop_requested()) {
      throw Error(ErrorCode::cancelled, "stopped before the file was read").at_file(file);
    }
    if (count == 0) break;
    for (std::size_t i = 0; i < count && goes_on; ++i) {
      ++scan.records;
      scan.payload_bytes += records.at(i).size();
      if (visit) goes_on = visit(records.at(i));
    }
  }
  scan.damaged = reader.damaged();
  scan.compression = reader.compression();
  scan.file_bytes = reader.file_bytes();
  return scan;
}

std::string describe(const DamagedRange& range) {
  return fmt::format("record {} at bytes {} to {}: {}", range.record, range.begin, range.end,
                     range.message);
}

}  // namespace infeed::tools
