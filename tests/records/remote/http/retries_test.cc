#include "remote/http/retries.h"

#include <chrono>
#include <cstddef>
#include <gtest/gtest.h>
#include <optional>
#include <set>

#include "seeded_random.h"

namespace infeed::detail {
namespace {

using namespace std::chrono_literals;

TEST(Retries, PausesDoubleUpToALimitAndAreHalfDrawnAtRandom) {
  test::SeededRandom random;
  const UrlOptions options{.retry_delay = 100ms, .retry_delay_max = 350ms};
  for (const auto& [tries, longest] :
       {std::pair(0U, 100ms), std::pair(1U, 200ms), std::pair(2U, 350ms), std::pair(99U, 350ms)}) {
    std::set<std::chrono::milliseconds> drawn;
    for (int i = 0; i < 100; ++i) drawn.insert(pause_before_retry({}, tries, options, random));
    EXPECT_GE(*drawn.begin(), longest / 2);
    EXPECT_LE(*drawn.rbegin(), longest);
    EXPECT_GT(drawn.size(), 10U);
  }
}

TEST(Retries, PausesAreAsTheServerWantsUpToTheSameLimit) {
  test::SeededRandom random;
  const UrlOptions options{.retry_delay = 100ms, .retry_delay_max = 350ms};
  EXPECT_EQ(pause_before_retry({.pause = 300ms}, 0, options, random), 300ms);
  EXPECT_EQ(pause_before_retry({.pause = 1h}, 0, options, random), 350ms);
  EXPECT_GE(pause_before_retry({.pause = 0ms}, 0, options, random), 50ms);
}

Transfer range_of(std::size_t size) {
  return Transfer(Transfer::Kind::range, 0, size, NamesAndValues());
}

TEST(Retries, TriesAreCountedSinceTheLastProgress) {
  const UrlOptions options{.retries = 2, .retry_delay = 0ms, .retry_delay_max = 0ms};
  Retries retries(options);
  Transfer transfer = range_of(1 << 20);
  const HttpFailure passing{.may_pass = true};
  EXPECT_TRUE(retries.plan_another(transfer, passing));
  EXPECT_FALSE(transfer.progress.is_steady);
  EXPECT_TRUE(retries.plan_another(transfer, passing));
  EXPECT_FALSE(retries.plan_another(transfer, passing));
  transfer.filled_bytes += (64 << 10) - 1;
  EXPECT_FALSE(retries.plan_another(transfer, passing)) << "too little has come";
  transfer.filled_bytes += 64 << 10;
  EXPECT_TRUE(retries.plan_another(transfer, passing));
  EXPECT_EQ(transfer.progress.tries, 1U);
  EXPECT_FALSE(retries.plan_another(transfer, {})) << "one that stays";
  transfer.progress.tries = 2;
  transfer.progress.attempts = 1;
  EXPECT_TRUE(retries.plan_another(transfer, passing)) << "the other request goes on";
  EXPECT_EQ(transfer.progress.tries, 2U);
}

TEST(Retries, ManyShortAnswersAreTooMany) {
  const UrlOptions options;
  const Retries retries(options);
  Transfer transfer = range_of(1 << 20);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(retries.allow_short_answer(transfer)) << i;
  EXPECT_FALSE(retries.allow_short_answer(transfer));
  transfer.filled_bytes = (64 << 10) - 1;
  EXPECT_FALSE(retries.allow_short_answer(transfer));
  transfer.filled_bytes = 64 << 10;
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(retries.allow_short_answer(transfer)) << i;
  EXPECT_FALSE(retries.allow_short_answer(transfer));
  transfer.progress.attempts = 1;
  EXPECT_TRUE(retries.allow_short_answer(transfer)) << "the other request goes on";
}

/// A server behind a balancer may not have the object yet, while another sends it.
TEST(Retries, AFinalFailureOfOneRequestLetsTheOtherGoOn) {
  const UrlOptions options;
  Retries retries(options);
  Transfer transfer = range_of(1000);
  transfer.progress.attempts = 1;
  EXPECT_TRUE(retries.plan_another(transfer, {ErrorCode::not_found, "404"}));
  EXPECT_EQ(transfer.progress.tries, 0U);
  transfer.progress.attempts = 0;
  EXPECT_FALSE(retries.plan_another(transfer, {ErrorCode::not_found, "404"}));
}

TEST(Retries, ASecondRequestIsDueWhenTheFirstIsUnusuallySlow) {
  const UrlOptions options{.hedge_percentile = 0.5, .hedge_delay_min = 1h};
  Retries retries(options);
  Transfer transfer = range_of(1000);
  transfer.progress.attempts = 1;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(retries.second_request_at(transfer), std::nullopt) << "few ranges have come";
    Transfer done = range_of(i == 0 ? 999 : 1000);
    done.progress.began = Transfer::Clock::now();
    retries.note_filled(done);
  }
  EXPECT_EQ(retries.second_request_at(transfer), std::nullopt) << "one of them was smaller";
  Transfer failed = range_of(1000);
  failed.progress.is_steady = false;
  retries.note_filled(failed);
  Transfer opening(Transfer::Kind::opening, 0, 1000, NamesAndValues());
  retries.note_filled(opening);
  EXPECT_EQ(retries.second_request_at(transfer), std::nullopt);
  Transfer done = range_of(1000);
  done.progress.began = Transfer::Clock::now();
  retries.note_filled(done);
  transfer.progress.began = Transfer::Clock::now();
  EXPECT_EQ(retries.second_request_at(transfer), transfer.progress.began + 1h);
  transfer.progress.is_hedged = true;
  EXPECT_EQ(retries.second_request_at(transfer), std::nullopt);
  transfer.progress.is_hedged = false;
  transfer.progress.attempts = 2;
  EXPECT_EQ(retries.second_request_at(transfer), std::nullopt);
  opening.progress.attempts = 1;
  EXPECT_EQ(retries.second_request_at(opening), std::nullopt);
}

TEST(ResponseTimes, TheRankIsThatOfThePart) {
  ResponseTimes times;
  for (int i = 1; i <= 10; ++i) times.add(100, i * 1s);
  EXPECT_EQ(times.of(100, 0.0), 1s);
  EXPECT_EQ(times.of(100, 0.5), 6s);
  EXPECT_EQ(times.of(100, 0.95), 10s);
  EXPECT_EQ(times.of(100, -1), 1s);
  EXPECT_EQ(times.of(100, 1), std::nullopt);
  EXPECT_EQ(times.of(101, 0.5), std::nullopt) << "none was as large";
  for (int i = 0; i < 64; ++i) times.add(100, 1h);
  EXPECT_EQ(times.of(100, 0.0), 1h) << "the latest 64 count";
}

}  // namespace
}  // namespace infeed::detail
