#include "engine/threads/thread_budget.h"

#include <algorithm>

namespace infeed::detail {

int ThreadBudget::take_for_pool(int wanted) {
  if (!is_limited_) return wanted;
  const std::lock_guard lock(mutex_);
  has_pool_ = true;
  const int taken = std::clamp((left_ + 1) / 2, 1, wanted);
  left_ -= taken;
  return taken;
}

int ThreadBudget::take_one() {
  if (!is_limited_) return 1;
  const std::lock_guard lock(mutex_);
  if (left_ <= (has_pool_ ? 0 : 1)) return 0;
  --left_;
  return 1;
}

int ThreadBudget::take_half(int wanted) {
  if (wanted <= 0) return 0;
  if (!is_limited_) return wanted;
  const std::lock_guard lock(mutex_);
  const int free = std::max(0, left_ - (has_pool_ ? 0 : 1));
  const int taken = std::min(wanted, (free + 1) / 2);
  left_ -= taken;
  return taken;
}

void ThreadBudget::give_back(int count) {
  const std::lock_guard lock(mutex_);
  left_ += count;
}

}  // namespace infeed::detail
