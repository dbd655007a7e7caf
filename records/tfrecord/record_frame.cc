#include "infeed/records/detail/record_frame.h"

#include "tfrecord/framing.h"

namespace infeed::detail {

static_assert(RecordFrame::kBytesBefore == kHeaderBytes &&
              RecordFrame::kBytesAfter == kFooterBytes);

RecordFrame::RecordFrame(std::string_view payload) {
  store_header(before_.data(), payload.size());
  store_footer(after_.data(), payload);
}

}  // namespace infeed::detail
