#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/device/tape.h>

// Where replicas that run at the same time add up what they hold, within a step.

namespace infeed::detail {

class ReplicaMeeting : public Collective {
 public:
  struct Ended {};

  explicit ReplicaMeeting(std::int32_t replicas);

  /// Before a step, with the replicas that take part in it.
  void begin(std::vector<std::int32_t> replicas);
  /// Waits for the others; the order of addition is the replicas'. Throws Ended when one of them gave
  /// up, whose error is the step's, and Error failed_precondition when one has left the step that
  /// others wait in, or when they bring other numbers of values.
  void sum(std::int32_t replica, std::span<float> values) override;
  void leave();
  void give_up();

 private:
  /// All are here who still come.
  void end_round();
  void check() const;

  HandOff hand_off_;
  WaitPoint changed_{hand_off_};
  std::vector<std::span<float>> brought_;
  std::vector<std::int32_t> coming_;
  std::int32_t here_ = 0;  ///< wait in this round
  std::int32_t left_ = 0;
  std::uint64_t round_ = 0;
  bool is_uneven_ = false;
  bool has_failed_ = false;
};

}  // namespace infeed::detail
