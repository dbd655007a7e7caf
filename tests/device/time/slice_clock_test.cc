#include "../../../device/time/slice_clock.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <vector>

#include <infeed/pipeline/philox.h>

#include "../../../device/time/lateness_counts.h"
#include "test_seed.h"

namespace infeed {
namespace {

/// A step of 10 us on a v5litepod-1 (one replica), a source of 1 us, and a queue of two batches.
/// The test sets when the pacing thread took each. In microseconds.
class PacedAccount {
 public:
  explicit PacedAccount(std::int32_t depth) : clock_(1, depth) {}

  StepEvent step(std::int64_t asked_us, std::int64_t ready_us, std::int64_t taken_us,
                 std::int64_t bytes = 0) {
    const detail::StepPart part{.examples = 1, .transfer_ps = transfer_ps(slice_.chip(), bytes)};
    StepEvent event = clock_.step({&part, 1}, {.time = {.compute_ps = 10'000'000}},
                                  {.asked_ps = 1'000'000 * asked_us,
                                   .ready_ps = 1'000'000 * ready_us,
                                   .taken_ps = 1'000'000 * taken_us})[0];
    for (std::int64_t* const ps : {&event.begin_ps, &event.infeed_wait_ps, &event.transfer_ps,
                                   &event.idle_ps, &event.compute_ps}) {
      *ps /= 1'000'000;
    }
    return event;
  }

 private:
  const Slice slice_ = Slice::parse("v5litepod-1");
  detail::SliceClock clock_;
};

MATCHER_P4(IsStep, begin_us, wait_us, transfer_us, idle_us, "") {
  *result_listener << "begin " << arg.begin_ps << ", wait " << arg.infeed_wait_ps << ", transfer "
                   << arg.transfer_ps << ", idle " << arg.idle_ps;
  return arg.begin_ps == begin_us && arg.infeed_wait_ps == wait_us &&
         arg.transfer_ps == transfer_us && arg.idle_ps == idle_us;
}

TEST(SliceClock, ASlowSourceIsInfeedWait) {
  PacedAccount account(2);
  EXPECT_THAT(account.step(0, 25, 25), IsStep(0, 25, 0, 0));
  EXPECT_THAT(account.step(25, 50, 50), IsStep(35, 15, 0, 0));
  EXPECT_THAT(account.step(50, 75, 75), IsStep(60, 15, 0, 0));
  EXPECT_THAT(account.step(75, 77, 85), IsStep(85, 0, 0, 0));
}

TEST(SliceClock, AStoppedPacingThreadIsIdleNotInfeedWait) {
  PacedAccount account(2);
  // Steps from 1 to 11, 21; the host fills its queue of two and holds one more.
  EXPECT_THAT(account.step(0, 1, 1), IsStep(0, 1, 0, 0));
  EXPECT_THAT(account.step(1, 2, 11), IsStep(11, 0, 0, 0));
  // The thread should wake up at 21, to take batch 2 (and let the host begin with batch 5), but
  // does at 121. The batches that are there run in the past: 21 to 31, 41, 51.
  EXPECT_THAT(account.step(2, 3, 121), IsStep(21, 0, 0, 0));
  EXPECT_THAT(account.step(3, 4, 121), IsStep(31, 0, 0, 0));
  EXPECT_THAT(account.step(11, 12, 121), IsStep(41, 0, 0, 0));
  // Batch 5 is ready at 122, and would have been at 22.
  EXPECT_THAT(account.step(121, 122, 122), IsStep(51, 0, 0, 71));
  // From then on nothing is late.
  EXPECT_THAT(account.step(122, 123, 132), IsStep(132, 0, 0, 0));
  EXPECT_THAT(account.step(123, 124, 142), IsStep(142, 0, 0, 0));
}

/// The thread should have woken up at 21, and did at 121: as in the test before.
PacedAccount account_of_a_late_thread() {
  PacedAccount account(2);
  account.step(0, 1, 1);
  account.step(1, 2, 11);
  account.step(2, 3, 121);
  account.step(3, 4, 121);
  account.step(11, 12, 121);
  return account;
}

TEST(SliceClock, WhatTheSourceItselfTookStaysInfeedWait) {
  PacedAccount account = account_of_a_late_thread();
  // As before, but this batch takes 40: from 21 to 61 if the thread had been in time, where the step
  // before ends at 51. So 10 are waited for the input, and 100 for the thread.
  EXPECT_THAT(account.step(121, 161, 161), IsStep(51, 10, 0, 100));
}

TEST(SliceClock, ASlowSourceDoesNotLiveOnCreditOfALateThread) {
  PacedAccount account = account_of_a_late_thread();
  // Now batches take 12 for steps of 10. In time, batch 5 would have been there at 33, 18 before it
  // was due: nine more steps pass before the input is late by 2 each.
  EXPECT_THAT(account.step(121, 133, 133), IsStep(51, 0, 0, 82));
  std::int64_t idle_us = 0;
  std::int64_t wait_us = 0;
  for (std::int64_t i = 0; i < 30; ++i) {
    const std::int64_t asked_us = 133 + 12 * i;
    const StepEvent event = account.step(asked_us, asked_us + 12, asked_us + 12);
    EXPECT_EQ(event.infeed_wait_ps + event.idle_ps, 2);
    idle_us += event.idle_ps;
    wait_us += event.infeed_wait_ps;
  }
  EXPECT_EQ(idle_us, 18);
  EXPECT_EQ(wait_us, 42);
}

TEST(SliceClock, ATransferThatIsLateBecauseOfTheThreadIsIdle) {
  // 15 GB/s: 60,000 bytes take 4 us.
  PacedAccount account(1);
  EXPECT_THAT(account.step(0, 1, 1, 60'000), IsStep(0, 1, 4, 0));          // runs from 5 to 15
  EXPECT_THAT(account.step(1, 2, 115, 60'000), IsStep(15, 0, 0, 0));       // to 25; taken late
  EXPECT_THAT(account.step(2, 3, 115, 60'000), IsStep(25, 0, 0, 0));       // to 35
  EXPECT_THAT(account.step(115, 116, 116, 60'000), IsStep(35, 0, 0, 85));  // there at 120
}

TEST(SliceClock, ADeviceThatAsksIsIdleUntilItDoes) {
  PacedAccount account(0);
  EXPECT_THAT(account.step(0, 3, 3), IsStep(0, 3, 0, 0));
  EXPECT_THAT(account.step(63, 68, 68), IsStep(13, 5, 0, 50));
}

TEST(SliceClock, InstantsInTimeGiveWhatTheRecursionGives) {
  Philox words(test::test_seed(), 5);
  for (const std::int32_t depth : {0, 1, 2, 4}) {
    detail::SliceClock recursion(1, depth);
    detail::SliceClock instants(1, depth);
    std::vector<std::int64_t> taken_ps;
    std::int64_t ready_ps = 0;
    for (std::int64_t i = 0; i < 200; ++i) {
      const detail::StepPart part{
          .examples = 1, .service_ps = words() % 40, .transfer_ps = words() % 10};
      const std::int64_t end_ps = recursion.end_ps();
      const std::int64_t room_ps = depth == 0  ? end_ps
                                   : i > depth ? taken_ps[static_cast<std::size_t>(i - depth - 1)]
                                               : 0;
      const std::int64_t asked_ps = std::max(ready_ps, room_ps);
      ready_ps = asked_ps + part.service_ps;
      taken_ps.push_back(std::max(end_ps, ready_ps));
      const StepEvent expected = recursion.step({&part, 1}, {.time = {.compute_ps = 20}})[0];
      EXPECT_THAT(instants.step(
                      {&part, 1}, {.time = {.compute_ps = 20}},
                      {.asked_ps = asked_ps, .ready_ps = ready_ps, .taken_ps = taken_ps.back()})[0],
                  IsStep(expected.begin_ps, expected.infeed_wait_ps, expected.transfer_ps,
                         expected.idle_ps))
          << depth << ", " << i;
    }
  }
}

TEST(LatenessCounts, QuantilesAreRightToThreePercent) {
  LatenessCounts counts;
  EXPECT_EQ(counts.result().wakes, 0);
  EXPECT_EQ(counts.result().max_ns, 0);
  counts.add(-5);
  EXPECT_EQ(counts.result().p99_ns, 0);
  for (std::int64_t i = 1; i < 1000; ++i) counts.add(i * 1000);
  const WakeLateness late = counts.result();
  EXPECT_EQ(late.wakes, 1000);
  EXPECT_NEAR(static_cast<double>(late.p50_ns), 500'000, 15'000);
  EXPECT_NEAR(static_cast<double>(late.p99_ns), 990'000, 30'000);
  EXPECT_EQ(late.max_ns, 999'000);
  for (const std::int64_t ns : {0L, 1L, 31L, 32L, 63L, 64L, 65L, 1L << 40, (1L << 62) + 1}) {
    LatenessCounts one;
    one.add(ns);
    EXPECT_EQ(one.result().max_ns, ns);
    EXPECT_NEAR(static_cast<double>(one.result().p50_ns), static_cast<double>(ns),
                0.03 * static_cast<double>(ns));
  }
}

}  // namespace
}  // namespace infeed
