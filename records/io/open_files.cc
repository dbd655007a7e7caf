#include "io/open_files.h"

#include <algorithm>

namespace infeed::detail {

OpenFiles::OpenFiles(std::size_t files, std::size_t open_max)
    : open_max_(std::max<std::size_t>(open_max, 1)), slots_(files) {}

std::shared_ptr<const InputFile> OpenFiles::get(std::size_t number, const std::string& name) {
  Slot& slot = slots_[number];
  if (!slot.used.load(std::memory_order_relaxed)) slot.used.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.file != nullptr) return slot.file;
  }
  std::shared_ptr<const InputFile> opened = open_input_file(name);
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.file != nullptr) return slot.file;  // another thread was quicker
    slot.file = opened;
  }
  note_open(number);
  return opened;
}

void OpenFiles::note_open(std::size_t number) {
  const std::lock_guard lock(mutex_);
  // Goes round once at most: others may set the bits as quickly as they are cleared here.
  for (std::size_t looked_at = 0; open_.size() >= open_max_; ++looked_at) {
    const std::size_t front = open_.front();
    open_.pop_front();
    Slot& slot = slots_[front];
    if (slot.used.exchange(false, std::memory_order_relaxed) && looked_at < open_max_) {
      open_.push_back(front);
      continue;
    }
    const std::lock_guard slot_lock(slot.mutex);
    slot.file.reset();
  }
  open_.push_back(number);
}

}  // namespace infeed::detail
