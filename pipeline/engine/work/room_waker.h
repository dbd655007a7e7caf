#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace infeed::detail {

/// Those of a run that work ahead and may have found no room in the memory account. Whoever takes an
/// element tells its maker that there is room again. A limit that was raised tells all of them.
///
/// Invariants: mutex_ guards wakers_, and is held while one runs. So a waker takes no lock under which
/// a RoomWaker is made or destroyed, and changes no limit.
class RoomWakers {
 public:
  void wake() {
    const std::lock_guard lock(mutex_);
    for (const auto& wake_one : wakers_) wake_one();
  }

 private:
  friend class RoomWaker;
  std::mutex mutex_;
  std::list<std::function<void()>> wakers_;
};

/// Calls `wake` whenever there may be more room, in any thread, as long as this object lives. The
/// destructor waits for a call under way. A stage declares it after the members that `wake` uses.
class RoomWaker {
 public:
  RoomWaker(RoomWakers& all, std::function<void()> wake) : all_(all) {
    const std::lock_guard lock(all_.mutex_);
    place_ = all_.wakers_.insert(all_.wakers_.end(), std::move(wake));
  }
  ~RoomWaker() {
    const std::lock_guard lock(all_.mutex_);
    all_.wakers_.erase(place_);
  }
  RoomWaker(const RoomWaker&) = delete;
  RoomWaker& operator=(const RoomWaker&) = delete;

 private:
  RoomWakers& all_;
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace infeed::detail
