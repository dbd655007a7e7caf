#include "infeed/pipeline/hand_over.h"

#include "engine/threads/clock.h"

namespace infeed {

HandOver::HandOver() : due_ticks_(detail::ticks_now() + detail::hand_over_ticks()), out_(nullptr) {}

HandOver::HandOver(const Chunk& out)
    : due_ticks_(detail::ticks_now() + detail::hand_over_ticks()),
      out_(out.type().payload_bytes_run != nullptr ? &out : nullptr),
      looked_at_(out.size()) {}

bool HandOver::is_due() {
  if (out_ != nullptr && out_->size() > looked_at_) {
    payload_bytes_ +=
        out_->type().payload_bytes_run(out_->value(looked_at_), out_->size() - looked_at_);
    looked_at_ = out_->size();
    if (payload_bytes_ >= detail::kChunkPayloadBytesMax) return true;
  }
  return detail::ticks_now() > due_ticks_;
}

}  // namespace infeed
