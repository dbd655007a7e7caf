#include "infeed/records/detail/record_frame.h"

#include "infeed/records/crc32c.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {

static_assert(RecordFrame::kBytesBefore == kHeaderBytes &&
              RecordFrame::kBytesAfter == kFooterBytes);

RecordFrame::RecordFrame(std::string_view payload) {
  store_header(before_.data(), payload.size());
  store_little(after_.data(), mask_crc32c(crc32c(payload)));
}

}  // namespace infeed::detail
