#include <algorithm>
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <infeed/feed.h>
#include <infeed/infeed.h>

#include "feed/fed_job.h"
#include "feed/feed_messages.h"

/// Trainers that wait while their workers are slow.
namespace infeed::test {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::IsEmpty;

/// A worker told only the trainer that it worked for that it lives. The other one took it for silent.
TEST(WaitingTrainers, HearOfAWorkerThatWorksForAnother) {
  const auto slow_share_of = [](const World& share, const std::string&) -> Batches {
    if (share.rank == 0) std::this_thread::sleep_for(milliseconds(1'600));  // opens many files
    return range(24) | shard({.count = share.size, .index = share.rank}) | map([](std::int64_t i) {
             std::this_thread::sleep_for(milliseconds(100));
             return i;
           }) |
           batch(1) | in_columns();
  };
  LocalWorld world(3);  // two trainers, one worker
  const auto errors = world.run([&](Communicator& rank) {
    const int own = rank.world().rank;
    if (own == 2) {
      serve_steps(rank, slow_share_of, {.trainers = {0, 1}, .sign_of_life = milliseconds(20)});
      return;
    }
    const std::shared_ptr<void> dismissed(nullptr, [&](void*) { dismiss_workers(rank, {2}); });
    Feeder feeder(
        rank,
        {.workers = {2}, .share = {own, 2}, .range_steps = 6, .silent_after = milliseconds(800)});
    EXPECT_EQ(take_rest(feeder).size(), 12U);
    EXPECT_EQ(feeder.workers()[0].state, FedWorkerState::answers);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

/// Keeps messages of a rank until another one lets them go.
class Held {
 public:
  void keep(WatchedRank::Forward forward) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(forward));
  }
  void release_first() {
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) return;
    kept_.front()();
    kept_.erase(kept_.begin());
  }
  void release_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& forward : kept_) forward();
    kept_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<WatchedRank::Forward> kept_;
};

/// A worker that was asked first where the data begins, and was late, went on with the seeds that it had
/// drawn itself: some rows came twice, and others never.
TEST(WaitingTrainers, GetOneOrderThoughTheFirstWorkerWasLate) {
  std::atomic<int> opened{0};
  const auto drawn = [&]() -> Batches {
    if (opened++ == 0) std::this_thread::sleep_for(milliseconds(100));  // says that it is alive
    return range(200) | shuffle({.buffer = 50}) | batch(4) | in_columns();
  };
  Held held;
  std::atomic<bool> is_released{false};
  const FedJob job{
      .workers = 2,
      .pipeline = drawn,
      .options = {.range_steps = 4, .ranges_ahead = 1, .silent_after = milliseconds(300)},
      .on_send = [&](int rank) -> WatchedRank::OnSend {
        if (rank == 1) {
          return [&](int, const WatchedRank::Forward& forward) {
            held.keep(forward);
            if (is_released) held.release_all();
          };
        }
        return [&](int, const WatchedRank::Forward& forward) {
          if (!is_released) held.release_first();  // so it isn't silent any more
          is_released = true;
          forward();
        };
      }};
  const auto errors = job.run([&](Feeder& feeder) {
    std::vector<std::int64_t> values;
    while (const auto batch = feeder.next()) {
      const auto rows = batch->column("value").values<std::int64_t>();
      values.insert(values.end(), rows.begin(), rows.end());
    }
    std::sort(values.begin(), values.end());
    std::vector<std::int64_t> all(200);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(values, all);
    EXPECT_GT(feeder.workers()[0].steps, 0U);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

/// The steps of the one that was asked instead were dropped, and it was taken for silent.
TEST(WaitingTrainers, GetStepsThatAReplacedWorkerCouldNotSend) {
  Held held;
  std::atomic<bool> is_released{false};
  const auto say_alive = [](Communicator& rank) {
    const std::string bytes = detail::bytes_of(detail::StepAnswer{});
    rank.send(0, detail::kFeedAnswerTag, std::as_bytes(std::span(bytes)));
  };
  LocalWorld world(4);
  const auto errors = world.run([&](Communicator& rank) {
    const int own = rank.world().rank;
    if (own == 0) {
      const std::shared_ptr<void> dismissed(nullptr, [&](void*) {
        dismiss_workers(rank, {1, 2, 3});
      });
      Feeder feeder(rank, {.workers = {1, 2, 3},
                           .range_steps = 3,
                           .ranges_ahead = 1,
                           .silent_after = milliseconds(1'000)});
      EXPECT_EQ(take_rest(feeder).size(), 90U);
      EXPECT_EQ(feeder.workers()[0].state, FedWorkerState::answers);
      EXPECT_EQ(feeder.workers()[0].ranges_replaced, 0U);
      EXPECT_EQ(feeder.workers()[1].ranges_replaced, 1U);
      return;
    }
    int sent = 0;
    WatchedRank watched(rank, [&](int, const WatchedRank::Forward& forward) {
      ++sent;
      if (own == 1 && sent == 8) held.release_all();  // behind its steps 0 to 2 and 9 to 11
      if (own == 2 && sent == 4) throw Error(ErrorCode::unavailable, "step 12 can't be sent");
      if (own == 2 && sent == 5) return held.keep(forward);
      // Its step 6. It says so often that it lives that no moment is without a message.
      for (int i = 0; own == 3 && !is_released; ++i) {
        ASSERT_LT(i, 4'000) << "nobody was asked in the place of the silent one";
        std::this_thread::sleep_for(milliseconds(5));
        say_alive(rank);
      }
      forward();
      if (own == 1 && sent == 10) is_released = true;  // its steps 12 to 14, in the other's place
    });
    serve_steps(watched,
                [](const World&, const std::string&) -> Batches {
                  return range(90) | batch(1) | in_columns();
                },
                {.trainers = {0}, .sign_of_life = std::chrono::hours(1)});
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
}  // namespace infeed::test
