#include "file_sum.h"

#include <algorithm>
#include <vector>

#include <infeed/records/crc32c.h>
#include <infeed/records/file.h>

namespace infeed::tools {

FileSum sum_file(const std::string& file) {
  constexpr std::uint64_t kStepBytes = std::uint64_t{1} << 20;
  const File in = File::open_to_read(file);
  const std::uint64_t size = in.size_bytes().value_or(kStepBytes);
  std::vector<char> step(std::clamp<std::uint64_t>(size, 1, kStepBytes));
  FileSum sum;
  while (true) {
    const std::size_t got = in.read_at(sum.bytes, step);
    if (got == 0) return sum;
    sum.crc32c = extend_crc32c(sum.crc32c, {step.data(), got});
    sum.bytes += got;
  }
}

}  // namespace infeed::tools
