#include "infeed/device/infeed_queue.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "thrown_error.h"

namespace infeed {
namespace {

TEST(InfeedQueues, ReplicaIGetsItemsIAndIPlusN) {
  InfeedQueues<int> queues({.replicas = 3, .depth = 4});
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(queues.push(i));
  queues.close();
  for (int replica = 2; replica >= 0; --replica) {
    for (int round = 0; round < 3; ++round) EXPECT_EQ(queues.pop(replica), replica + 3 * round);
    EXPECT_EQ(queues.pop(replica), std::nullopt);
  }
}

TEST(InfeedQueues, EachReplicaKeepsItsItemsUnderThreads) {
  constexpr int kReplicas = 4, kItems = 4000;
  InfeedQueues<int> queues({.replicas = kReplicas, .depth = 3});
  std::atomic<bool> deeper{false};
  std::vector<std::vector<int>> got(kReplicas);
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < kReplicas; ++r) {
      threads.emplace_back([&, r] {
        while (const auto item = queues.pop(r)) {
          got[static_cast<std::size_t>(r)].push_back(*item);
          if (queues.size(r) > 3) deeper = true;
        }
      });
    }
    for (int i = 0; i < kItems; ++i) ASSERT_TRUE(queues.push(i));
    queues.close();
  }
  EXPECT_FALSE(deeper);
  for (int r = 0; r < kReplicas; ++r) {
    const auto& items = got[static_cast<std::size_t>(r)];
    ASSERT_EQ(items.size(), static_cast<std::size_t>(kItems / kReplicas));
    for (std::size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(items[i], r + static_cast<int>(i) * kReplicas);
    }
  }
}

TEST(InfeedQueues, WholeStepsGoThroughInOrder) {
  InfeedQueues<int> queues({.replicas = 2, .depth = 2});
  std::jthread feeder([&] {
    for (int i = 0; i < 1000; ++i) queues.push_step({2 * i, 2 * i + 1});
    queues.close();
  });
  std::vector<int> step;
  int number = 0;
  for (; queues.pop_step(step); ++number) {
    ASSERT_THAT(step, testing::ElementsAre(2 * number, 2 * number + 1));
  }
  EXPECT_EQ(number, 1000);
}

TEST(InfeedQueues, AnIncompleteRoundAtTheEndIsDropped) {
  InfeedQueues<int> queues({.replicas = 2, .depth = 2});
  queues.push(1);
  queues.close();
  std::vector<int> step;
  EXPECT_FALSE(queues.pop_step(step));
  EXPECT_TRUE(step.empty());
}

TEST(InfeedQueues, CloseWakesABlockedFeederAndKeepsWhatIsQueued) {
  InfeedQueues<int> queues({.replicas = 1, .depth = 1});
  ASSERT_TRUE(queues.push(1));
  std::atomic<bool> accepted{true};
  std::jthread feeder([&] { accepted = queues.push(2); });
  queues.close();
  feeder.join();
  EXPECT_FALSE(accepted);
  EXPECT_EQ(queues.pop(0), 1);
  EXPECT_EQ(queues.pop(0), std::nullopt);
}

using SharedQueues = InfeedQueues<std::shared_ptr<int>>;

/// Runs `blocked` on a thread, aborts, and returns the message of its error.
template <typename Blocked>
std::string message_after_abort(SharedQueues& queues, Blocked blocked) {
  std::string message = "nothing";
  {
    const std::jthread thread([&] {
      try {
        blocked();
      } catch (const Error& error) {
        message = error.message();
      }
    });
    queues.abort(std::make_exception_ptr(Error(ErrorCode::data_loss, "first")));
    queues.abort(std::make_exception_ptr(Error(ErrorCode::data_loss, "second")));
    queues.close();
  }
  return message;
}

TEST(InfeedQueues, AbortWakesABlockedReplica) {
  SharedQueues queues({.replicas = 2, .depth = 1});
  EXPECT_EQ(message_after_abort(queues, [&] { queues.pop(1); }), "first");
}

TEST(InfeedQueues, AbortWakesABlockedDevice) {
  SharedQueues queues({.replicas = 2, .depth = 1});
  queues.push(nullptr);  // half a step
  EXPECT_EQ(message_after_abort(queues,
                                [&] {
                                  std::vector<std::shared_ptr<int>> step;
                                  queues.pop_step(step);
                                }),
            "first");
}

TEST(InfeedQueues, AbortWakesABlockedFeederAndDropsItems) {
  auto item = std::make_shared<int>(1);
  SharedQueues queues({.replicas = 1, .depth = 1});
  queues.push(item);
  EXPECT_EQ(message_after_abort(queues, [&] { queues.push(item); }), "first");
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_THROW(queues.pop(0), Error);
  EXPECT_THROW(queues.push(nullptr), Error);
}

TEST(InfeedQueues, AbortWithoutAnErrorMeansCancelled) {
  SharedQueues queues({.replicas = 1, .depth = 1});
  queues.abort(nullptr);
  EXPECT_EQ(error_of([&] { queues.pop(0); }).code(), ErrorCode::cancelled);
}

TEST(InfeedQueues, WrongUseIsRefused) {
  EXPECT_THROW(InfeedQueues<int>({.replicas = 0, .depth = 1}), Error);
  EXPECT_THROW(InfeedQueues<int>({.replicas = 1, .depth = 0}), Error);
  InfeedQueues<int> queues({.replicas = 2, .depth = 2});
  EXPECT_THROW(queues.push_step({1}), Error);
  queues.push(1);
  EXPECT_THROW(queues.push_step({1, 2}), Error);
}

}  // namespace
}  // namespace infeed
