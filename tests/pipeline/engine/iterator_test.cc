#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <poll.h>

#include <infeed/infeed.h>
#include <infeed/pipeline/detail/iterator_core.h>

#include "pipeline/suite/test_sources.h"
#include "thrown_error.h"

// An iterator's own work around its root: epochs, order hashes, and elements that are ready.
namespace infeed::test {
namespace {

using std::chrono::milliseconds;

TEST(NextEpoch, FollowsTheLatestThatBegan) {
  std::atomic<std::uint64_t> iterations{0};
  EXPECT_EQ(detail::next_epoch(iterations, {}), 0U);
  EXPECT_EQ(detail::next_epoch(iterations, {}), 1U);
  IterateOptions resumed{.resume = Checkpoint{.epoch = 2, .signature = {}}};
  EXPECT_EQ(detail::next_epoch(iterations, resumed), 2U);
  EXPECT_EQ(iterations, 3U);
  resumed.resume->epoch = 1;
  EXPECT_EQ(detail::next_epoch(iterations, resumed), 1U);
  EXPECT_EQ(iterations, 3U) << "it goes back for none";
  resumed.resume->epoch = 7;
  EXPECT_EQ(detail::next_epoch(iterations, resumed), 7U);
  EXPECT_EQ(detail::next_epoch(iterations, {}), 8U);
  iterations = 7;
  EXPECT_EQ(detail::next_epoch(iterations, resumed), 7U);
  EXPECT_EQ(iterations, 8U);
}

TEST(IteratorsEpoch, IsTheFirstOneIfNobodySays) {
  EXPECT_EQ(detail::IteratorCore(range(3).node(), {}).checkpoint().epoch, 0U);
  EXPECT_EQ(detail::IteratorCore(range(3).node(), {.epoch = 7}).checkpoint().epoch, 7U);
}

/// Takes all, errors included.
template <class T>
void take_all(Iterator<T>& iterator) {
  for (bool has_more = true; has_more;) {
    try {
      has_more = iterator.next().has_value();
    } catch (const Error&) {  // it takes the place of an element
    }
  }
}

std::uint64_t hash_of(const Dataset<std::int64_t>& dataset, IterateOptions options = {}) {
  options.order_hash = true;
  auto iterator = dataset.iterate(std::move(options));
  take_all(iterator);
  return iterator.order_hash();
}

TEST(IteratorsOrderHash, IsOfElementsAndErrorsInTheirOrder) {
  EXPECT_EQ(hash_of(range(0)), 0U);
  const auto failing = failing_range(3, 0);
  EXPECT_NE(hash_of(failing), hash_of(failing | skip_errors()));
  const auto with = [](ErrorCode code) {
    return range(3) | map([code](std::int64_t x) {
             if (x == 1) throw Error(code, "no");
             return x;
           });
  };
  EXPECT_NE(hash_of(with(ErrorCode::data_loss)), hash_of(with(ErrorCode::not_found)));
  EXPECT_EQ(hash_of(with(ErrorCode::data_loss)), hash_of(with(ErrorCode::data_loss)));
}

TEST(IteratorsOrderHash, GoesOnInAResume) {
  auto iterator = range(10).iterate({.order_hash = true});
  for (int i = 0; i < 4; ++i) iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_NE(checkpoint.order_hash, 0U);
  EXPECT_EQ(hash_of(range(10), {.resume = checkpoint}), hash_of(range(10)));
}

TEST(IteratorsOrderHash, IsMadeOnlyIfItIsAskedFor) {
  auto iterator = failing_range(3, 0).iterate();
  take_all(iterator);
  EXPECT_EQ(iterator.checkpoint().order_hash, 0U);
  const Error error = error_of([&] { (void)iterator.order_hash(); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "this iterator keeps no order_hash: begin it with iterate({.order_hash = true})");
}

TEST(IteratorsWatchdog, MayHaveALimitOfAMillisecond) {
  Gate gate;
  auto iterator = gated<std::int64_t>(plain_slots(3), gate).iterate({.watchdog = milliseconds(1)});
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::deadline_exceeded);
  EXPECT_THAT(error.message(), StartsWith("nothing has moved for 1 ms: "));
}

bool is_readable(int descriptor, milliseconds time = milliseconds(0)) {
  pollfd asked{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, static_cast<int>(time.count())) == 1;
}

/// The last element of a chunk was pulled with those before it.
TEST(IteratorsReadiness, IsThereWhileOneElementIsLeft) {
  Gate gate;
  gate.release(2);
  auto iterator = gated<std::int64_t>(plain_slots(9), gate).iterate();
  EXPECT_EQ(iterator.next(), 0);
  const int descriptor = iterator.ready_descriptor();
  EXPECT_TRUE(is_readable(descriptor));
  EXPECT_EQ(iterator.ready_descriptor(), descriptor) << "a host asks once";
  auto left = iterator.try_next();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(*left, 1);
  EXPECT_FALSE(iterator.try_next());
  EXPECT_FALSE(is_readable(descriptor));
  gate.release(1);
  EXPECT_TRUE(is_readable(descriptor, std::chrono::minutes(1)));
  EXPECT_EQ(*iterator.try_next(), 2);
}

/// A consumer that pulls itself is held to the number that it has said, too.
TEST(IteratorsPulls, BringOneElementEachBehindWhatWasSaid) {
  std::int64_t made = 0;
  const auto dataset = range(40) | map([&made](std::int64_t x) {
                         ++made;
                         return x;
                       });
  auto iterator = dataset.iterate({.executor = Executor::inline_()});
  read_ahead_until(iterator, 3);
  for (std::int64_t x = 0; x < 8; ++x) {
    EXPECT_EQ(iterator.next(), x);
    EXPECT_LE(made, std::max<std::int64_t>(3, x + 1));  // a map in a hurry hands over fewer
  }
}

}  // namespace
}  // namespace infeed::test
