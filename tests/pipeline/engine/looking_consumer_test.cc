#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <infeed/infeed.h>
#include <infeed/records/column_schema.h>
#include <infeed/records/example.h>

#include "pipeline/suite/shown.h"
#include "pipeline/suite/stream.h"
#include "pipeline/suite/test_sources.h"
#include "thrown_error.h"

// A consumer that looks at something else while it waits, as Python's does at signals.
namespace infeed::test {
namespace {

Dataset<std::int64_t> gated_numbers(Gate& gate, std::size_t count = 20) {
  return gated<std::int64_t>(plain_slots(count), gate);
}

/// Takes an element of a source that gives none until the consumer has looked three times.
template <class T>
std::optional<std::string> first_of(const Dataset<T>& dataset, Gate& gate, int& looks) {
  const auto iterator = shown(dataset.iterate());
  auto first = iterator->next_looking([&] {
    if (++looks == 3) gate.release(1000);
  });
  gate.consumer_is_done();
  return first;
}

TEST(LookingConsumer, LooksWhileThePrefetchWaits) {
  Gate gate;
  int looks = 0;
  EXPECT_EQ(first_of(gated_numbers(gate) | prefetch(2), gate, looks), "0");
  EXPECT_GE(looks, 3);
}

/// Batches that come quickly are collected; when they stopped coming, nobody looked.
TEST(LookingConsumer, LooksWhileRowsThatCameQuicklyStop) {
  Gate gate;
  const auto example = [](std::int64_t x) {
    ExampleBuilder builder;
    builder.integers("x", x);
    return Record(builder.encode());
  };
  auto iterator = (gated_numbers(gate, 400) | map(example) |
                   parse_columns(ColumnSchema().column("x", DType::int64), 2, {.parallelism = 2}))
                      .iterate();
  int looks = 0;
  const auto take = [&](int looks_until_more) {
    const detail::WaitCheck check{.every = std::chrono::microseconds(50),
                                  .look =
                                      [&] {
                                        if (++looks == looks_until_more) gate.release(1000);
                                      },
                                  .may_work = true};
    ASSERT_TRUE(iterator.core_for_timer().refill(&check));
    EXPECT_EQ(iterator.next()->rows(), 2);
  };
  gate.release(200);
  for (int i = 0; i < 100; ++i) take(0);
  looks = 0;
  take(3);
  EXPECT_GE(looks, 3);
  gate.consumer_is_done();
}

TEST(LookingConsumer, LooksWhileTheThreadThatKeepsElementsReadyWaits) {
  Gate gate;
  int looks = 0;
  EXPECT_EQ(first_of(gated_numbers(gate) | map([](std::int64_t x) { return x + 1; }), gate, looks),
            "1");
  EXPECT_GE(looks, 3);
}

TEST(LookingConsumer, ALookMayThrowAndNothingIsLost) {
  Gate gate;
  const auto iterator = shown((gated_numbers(gate) | prefetch(2)).iterate());
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(iterator->next_looking([] { throw std::runtime_error("Ctrl-C"); }),
                 std::runtime_error);
  }
  EXPECT_EQ(iterator->position(), 0);
  gate.release(1000);
  const Stream rest = look_and_take_stream(*iterator);
  EXPECT_EQ(rest.size(), 20U);
  EXPECT_EQ(rest.front(), "0");
  gate.consumer_is_done();
}

TEST(LookingConsumer, ALookMayTakeTheElementItself) {
  Gate gate;
  const auto iterator = shown((gated_numbers(gate) | prefetch(2)).iterate());
  std::optional<std::string> inside;
  const auto outside = iterator->next_looking([&] {
    if (inside) return;
    gate.release(1000);
    inside = iterator->next();
  });
  EXPECT_EQ(inside, "0");
  EXPECT_EQ(outside, "1");
  gate.consumer_is_done();
}

TEST(LookingConsumer, ALookMayCancel) {
  Gate gate;
  const auto iterator = shown((gated_numbers(gate) | prefetch(2)).iterate());
  const Error error = error_of([&] { iterator->next_looking([&] { iterator->cancel(); }); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace infeed::test
