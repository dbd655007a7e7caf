#include "infeed/records/file_sum.h"

#include "infeed/error.h"
#include "infeed/records/byte_stream.h"
#include "infeed/records/crc32c.h"
#include "infeed/records/page_buffer.h"

namespace infeed {

FileSum sum_file(const std::string& file, const std::stop_token& stop) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 20;
  ByteStream in(file, Compression::none, {.stop = stop});
  const PageBuffer step(kStepBytes);
  FileSum sum;
  while (const std::size_t got = in.read(step)) {
    if (stop.stop_requested()) {
      throw Error(ErrorCode::cancelled, "stopped before the file was read").at_file(file);
    }
    sum.crc32c = extend_crc32c(sum.crc32c, {step.data(), got});
    sum.bytes += got;
  }
  return sum;
}

}  // namespace infeed
