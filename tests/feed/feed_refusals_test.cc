#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/feed.h>
#include <infeed/infeed.h>

#include "feed/fed_job.h"
#include "feed/feed_messages.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(FeedRefusals, RefusesByNameWhatCantBeAskedByStep) {
  const auto refused = [](const auto& dataset, std::uint64_t every = 1024) {
    return error_of([&] { check_can_be_asked_by_step(*dataset.node(), every); }).message();
  };
  EXPECT_THAT(refused(lines({"no-such-file.txt"}) | batch(3)),
              HasSubstr("lines can't be asked by step: how many elements it has isn't known"));
  const auto add_up = [](const std::int64_t& sum, std::int64_t x) {
    return std::pair(sum + x, sum + x);
  };
  EXPECT_THAT(refused(range(9) | scan(std::int64_t{0}, add_up)),
              HasSubstr("scan can't be asked by step: what it gives depends on all"));
  EXPECT_THAT(refused(range(9) | filter(is_wanted, {.name = "wanted"}), 0),
              HasSubstr("filter 'wanted' can't be asked by step: bookmark_every is 0"));
  const auto length = [](const std::vector<std::int64_t>& sequence) { return sequence.size(); };
  const auto buckets =
      slices(std::vector<std::vector<std::int64_t>>{{1}, {2, 3}}) |
      bucket_by_sequence_length(length, {.boundaries = {2}, .batch_sizes = {1, 1}});
  EXPECT_THAT(refused(buckets, 0), HasSubstr("bucket_by_sequence_length can't be asked by step"));
  EXPECT_THAT(refused(range(9) | batch(2) | rebatch(3), 0),
              HasSubstr("rebatch can't be asked by step"));
  const auto by_size = [](std::int64_t x) { return x; };
  const auto sampled = sample_from_datasets({range(9), range(9)}, {.seed = 1}, by_size);
  EXPECT_THAT(refused(sampled, 0), HasSubstr("sample_from_datasets can't be asked by step"));
  EXPECT_THAT(refused(range(9) | unique(), 1024),
              HasSubstr("unique can't be asked by step: what it gives depends on all"));
  const auto twice = [](std::int64_t x) { return 2 * x; };
  EXPECT_THAT(
      refused(range(9) | map(twice, {.parallelism = 2, .ordered = false})),
      HasSubstr("map can't be asked by step: its elements come in another order each time"));
  check_can_be_asked_by_step(*(range(9) | map(twice, {.ordered = false})).node());
  check_can_be_asked_by_step(*sampled.node());
  check_can_be_asked_by_step(*sample_from_datasets({range(9), range(9)}, {.seed = 1}).node(), 0);
  const FedJob job{.workers = 2, .pipeline = [] {
                     return range(9) | filter(is_wanted) | batch(2) | in_columns();
                   }};
  EXPECT_THAT(job.run([](Feeder& feeder) { EXPECT_EQ(take_rest(feeder).size(), 3U); }),
              Each(IsEmpty()));
  FedJob without = job;
  without.iterate.bookmark_every = 0;
  EXPECT_THAT(without.run([](Feeder& feeder) {
    const Error error = error_of([&] { feeder.next(); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_THAT(error.message(), HasSubstr("filter can't be asked by step"));
  }),
              Each(IsEmpty()));
}

TEST(FeedRefusals, RefusesOptionsThatCantBe) {
  LocalWorld world(1);
  const auto refused = [&](FeedOptions options) {
    return error_of([&] { Feeder(world.at(0), std::move(options)); }).message();
  };
  EXPECT_THAT(refused({}), HasSubstr("workers is empty"));
  EXPECT_THAT(refused({.workers = {3, 3}}), HasSubstr("twice"));
  EXPECT_THAT(refused({.workers = {3}, .range_steps = 0}), HasSubstr("range_steps"));
  EXPECT_THAT(refused({.workers = {3}, .silent_after = std::chrono::milliseconds(0)}),
              HasSubstr("silent_after"));
  EXPECT_THAT(error_of([&] { serve_steps(world.at(0), {}, {}); }).message(),
              HasSubstr("trainers is empty"));
}

TEST(FeedRefusals, RefusesADamagedAnswerByItsRank) {
  using detail::AnswerKind;
  for (const AnswerKind damaged : {AnswerKind::place, AnswerKind::error, AnswerKind::end}) {
    LocalWorld world(2);
    const auto errors = world.run([damaged](Communicator& rank) {
      if (rank.world().rank == 0) {
        Feeder feeder(rank, {.workers = {1}});
        const Error error = error_of([&] { feeder.next(); });
        EXPECT_TRUE(error.is_terminal());
        EXPECT_EQ(error.code(), ErrorCode::data_loss);
        EXPECT_THAT(error.message(),
                    HasSubstr("rank 1 sent a damaged message: checkpoint, line 1"));
        EXPECT_EQ(error_of([&] { feeder.next(); }).message(), error.message());
        return;
      }
      // The first request is for the place at the start.
      for (AnswerKind kind = AnswerKind::place;; kind = damaged) {
        const auto asked = rank.receive_any(std::chrono::seconds(60));
        const std::string place = kind == damaged ? "no checkpoint" : Checkpoint().to_text();
        std::string answer = detail::bytes_of(detail::StepAnswer{
            .run = detail::read_request(*asked).run, .kind = kind, .place = place});
        if (kind == AnswerKind::place) detail::append_cardinality(Cardinality::finite(9), answer);
        if (kind == AnswerKind::error)
          detail::append_error(Error(ErrorCode::data_loss, "broken"), answer);
        rank.send(0, detail::kFeedAnswerTag, std::as_bytes(std::span(answer)));
        if (kind == damaged) return;
      }
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

/// It came while the worker made steps for another trainer, which was told that its own was damaged.
TEST(FeedRefusals, ADamagedRequestEndsTheWorkerAndIsNoTrainersStep) {
  LocalWorld world(3);
  const auto send = [&world](int from, std::string_view bytes) {
    world.at(from).send(0, detail::kFeedRequestTag, std::as_bytes(std::span(bytes)));
  };
  send(1, detail::bytes_of(detail::StepRequest{.run = 1, .steps = 3, .share = {0, 1}}));
  const auto open = [&](const World&, const std::string&) {
    send(2, "no request");
    return range(9) | batch(1) | in_columns();
  };
  const Error error = error_of([&] { serve_steps(world.at(0), open, {.trainers = {1, 2}}); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.message(), HasSubstr("rank 2 sent a damaged message"));
  while (auto message = world.at(1).receive_any(std::chrono::nanoseconds(0))) {
    EXPECT_NE(detail::ReceivedAnswer(*std::move(message)).head().kind, detail::AnswerKind::failed);
  }
}

}  // namespace
}  // namespace infeed::test
