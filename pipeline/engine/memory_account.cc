#include "infeed/pipeline/memory_account.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace infeed {

MemoryAccount::MemoryAccount(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

std::uint64_t MemoryAccount::best_effort_limit_bytes() const {
  const std::uint64_t limit = limit_bytes();
  return std::min(limit == 0 ? UINT64_MAX : limit / 4,
                  best_effort_bound_bytes_.load(std::memory_order_relaxed));
}

std::uint64_t MemoryAccount::limit_for(std::uint64_t required_bytes) {
  return required_bytes == 0 ? 0 : required_bytes + (required_bytes - 1) / 3;
}

std::uint64_t MemoryAccount::required_limit_bytes() const {
  const std::uint64_t limit = limit_bytes();
  return limit == 0 ? UINT64_MAX : limit - limit / 4;
}

bool MemoryAccount::ask_for_room(const std::function<bool()>& has_enough) {
  const std::lock_guard lock(offers_mutex_);
  // Another offer's stage may take what one gave up: then there is more to ask for.
  for (bool has_freed = true; has_freed;) {
    if (has_enough()) return true;
    has_freed = false;
    for (const MemoryOffer* const offer : offers_) {
      const std::uint64_t before = required_bytes_.load(std::memory_order_relaxed);
      offer->give_up_();
      has_freed = has_freed || required_bytes_.load(std::memory_order_relaxed) < before;
      if (has_enough()) return true;
    }
  }
  return false;
}

void MemoryAccount::set_limit(std::uint64_t limit_bytes) {
  std::uint64_t held = 0;
  const auto fits = [&] {
    held = required_bytes_.load(std::memory_order_relaxed);
    return limit_bytes == 0 || held <= limit_bytes - limit_bytes / 4;
  };
  if (!fits() && !ask_for_room(fits)) {
    throw Error(ErrorCode::resource_exhausted,
                fmt::format("the memory limit can't be {} bytes from now on: the buffering stages "
                            "hold {} bytes; give at least {}, or 0 for no limit",
                            limit_bytes, held, limit_for(held)));
  }
  limit_bytes_.store(limit_bytes, std::memory_order_relaxed);
}

bool MemoryAccount::try_add(std::atomic<std::uint64_t>& held, std::uint64_t bytes,
                            std::uint64_t limit) {
  std::uint64_t before = held.load(std::memory_order_relaxed);
  do {
    if (bytes > limit || before > limit - bytes) return false;
  } while (!held.compare_exchange_weak(before, before + bytes, std::memory_order_acquire,
                                       std::memory_order_relaxed));
  note_in_use(bytes);
  return true;
}

void MemoryAccount::take_off(std::atomic<std::uint64_t>& held, std::uint64_t bytes) {
  // In this order, so that whoever gets the room isn't counted together with the bytes that left.
  in_use_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  held.fetch_sub(bytes, std::memory_order_release);
}

void MemoryAccount::note_in_use(std::uint64_t more_bytes) {
  const std::uint64_t now =
      in_use_bytes_.fetch_add(more_bytes, std::memory_order_relaxed) + more_bytes;
  std::uint64_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (peak < now && !peak_bytes_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

bool MemoryAccount::try_reserve_best_effort(std::uint64_t bytes) {
  if (try_add(best_effort_bytes_, bytes, best_effort_limit_bytes())) return true;
  refusals_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void MemoryAccount::hold_best_effort(std::uint64_t bytes) {
  best_effort_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  note_in_use(bytes);
}

void MemoryAccount::release_best_effort(std::uint64_t bytes) {
  take_off(best_effort_bytes_, bytes);
}

bool MemoryAccount::try_reserve_required(std::uint64_t bytes) {
  return try_add(required_bytes_, bytes, required_limit_bytes());
}

void MemoryAccount::reserve_required(std::uint64_t bytes, std::string_view stage) {
  if (try_reserve_required(bytes)) return;
  if (!ask_for_room([&] { return try_reserve_required(bytes); })) throw refusal(bytes, stage);
}

void MemoryAccount::reserve_dispensable(std::uint64_t bytes, std::string_view stage) {
  if (!try_reserve_required(bytes)) throw refusal(bytes, stage);
}

Error MemoryAccount::refusal(std::uint64_t bytes, std::string_view stage) const {
  const std::uint64_t in_use = required_bytes_.load(std::memory_order_relaxed);
  return Error(
      ErrorCode::resource_exhausted,
      fmt::format(
          "{} needs {} bytes more, but its memory limit allows the buffering stages "
          "{} bytes, of which {} are in use; raise memory_bytes_max from {} to at least {}, "
          "or make the buffers smaller",
          stage, bytes, required_limit_bytes(), in_use, limit_bytes(), limit_for(in_use + bytes)));
}

void MemoryAccount::release_required(std::uint64_t bytes) { take_off(required_bytes_, bytes); }

MemoryOffer::MemoryOffer(MemoryAccount& account, std::function<void()> give_up)
    : account_(account), give_up_(std::move(give_up)) {
  const std::lock_guard lock(account_.offers_mutex_);
  account_.offers_.push_back(this);
}

MemoryOffer::~MemoryOffer() {
  const std::lock_guard lock(account_.offers_mutex_);
  account_.offers_.remove(this);
}

}  // namespace infeed
