#include "train/replica_meeting.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <infeed/error.h>

namespace infeed::detail {

ReplicaMeeting::ReplicaMeeting(std::int32_t replicas)
    : brought_(static_cast<std::size_t>(replicas)) {}

void ReplicaMeeting::begin(std::vector<std::int32_t> replicas) {
  const auto lock = hand_off_.lock();
  coming_ = std::move(replicas);
  here_ = 0;
  left_ = 0;
  is_uneven_ = false;
  has_failed_ = false;
}

void ReplicaMeeting::check() const {
  if (has_failed_) throw Ended{};
  if (!is_uneven_) return;
  throw Error(ErrorCode::failed_precondition,
              "the replicas don't add up the same values in this step: each must take the same way "
              "through the model");
}

void ReplicaMeeting::end_round() {
  const auto values_of = [&](std::int32_t replica) -> std::span<float>& {
    return brought_[static_cast<std::size_t>(replica)];
  };
  const std::span<float> first = values_of(coming_.front());
  is_uneven_ = left_ > 0 || std::ranges::any_of(coming_, [&](std::int32_t replica) {
                 return values_of(replica).size() != first.size();
               });
  if (!is_uneven_) {
    std::vector<float> sums(first.size(), 0);
    for (const std::int32_t replica : coming_) {
      std::ranges::transform(sums, values_of(replica), sums.begin(), std::plus<>());
    }
    for (const std::int32_t replica : coming_) std::ranges::copy(sums, values_of(replica).begin());
  }
  here_ = 0;
  ++round_;
  changed_.wake_all();
}

void ReplicaMeeting::sum(std::int32_t replica, std::span<float> values) {
  auto lock = hand_off_.lock();
  check();
  brought_[static_cast<std::size_t>(replica)] = values;
  ++here_;
  const std::uint64_t round = round_;
  if (here_ + left_ == std::ssize(coming_)) end_round();
  changed_.wait(lock, [&] { return round_ != round || has_failed_; });
  check();
}

void ReplicaMeeting::leave() {
  const auto lock = hand_off_.lock();
  ++left_;
  if (here_ > 0 && here_ + left_ == std::ssize(coming_)) end_round();
}

void ReplicaMeeting::give_up() {
  const auto lock = hand_off_.lock();
  ++left_;
  has_failed_ = true;
  changed_.wake_all();
}

}  // namespace infeed::detail
