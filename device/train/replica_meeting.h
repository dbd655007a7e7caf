#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/device/tape.h>

// A meeting of replicas that run at the same time, which add up values within a step.

namespace infeed::detail {

class ReplicaMeeting : public Collective {
 public:
  struct Ended {};

  explicit ReplicaMeeting(std::int32_t replicas);

  /// Called before a step, with the replicas that take part in it.
  void begin(std::vector<std::int32_t> replicas);
  /// Waits for the others; values are added in the replicas' order. Throws Ended if another replica
  /// gave up, whose error is the step's. Throws failed_precondition if one has left the step while
  /// others wait, or if the numbers of values differ.
  void sum(std::int32_t replica, std::span<float> values) override;
  void leave();
  void give_up();

 private:
  /// Adds up and wakes all, once every replica that still takes part is here.
  void end_round();
  void check() const;

  HandOff hand_off_;
  WaitPoint changed_{hand_off_};
  std::vector<std::span<float>> brought_;
  std::vector<std::int32_t> coming_;
  std::int32_t here_ = 0;  ///< replicas that wait in this round
  std::int32_t left_ = 0;
  std::uint64_t round_ = 0;
  bool is_uneven_ = false;
  bool has_failed_ = false;
};

}  // namespace infeed::detail
