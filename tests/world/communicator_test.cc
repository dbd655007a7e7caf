#include <gmock/gmock.h>

#include <infeed/communicator.h>

#include "world/local_world.h"

namespace infeed {
namespace {

using test::LocalWorld;
using test::PlannedFailure;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns what rank `rank` gives: short, longer than one message's head, empty.
std::string text_of(int rank) {
  return std::string(static_cast<std::size_t>(rank * 40), static_cast<char>('a' + rank));
}

TEST(Communicator, GathersTextsOfAnyLengthByRank) {
  for (int size = 1; size <= 4; ++size) {
    LocalWorld world(size);
    const auto errors = world.run([&](Communicator& ranks) {
      for (int round = 0; round < 3; ++round) {
        const auto all = all_gather(ranks, text_of(ranks.world().rank), "names");
        ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
        for (int rank = 0; rank < size; ++rank) EXPECT_EQ(all[rank], text_of(rank));
      }
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST(Communicator, ExchangesDifferentBytesWithEachRank) {
  LocalWorld world(3);
  const auto errors = world.run([](Communicator& ranks) {
    const int own = ranks.world().rank;
    // Rank r sends rank s the number 10 * r + s, s times; so rank 0 gets nothing.
    std::vector<std::vector<char>> out(3), in(3);
    std::vector<std::span<const std::byte>> outgoing;
    std::vector<std::span<std::byte>> incoming;
    for (int rank = 0; rank < 3; ++rank) {
      out[rank].assign(rank, static_cast<char>(10 * own + rank));
      in[rank].resize(own);
      outgoing.push_back(std::as_bytes(std::span(out[rank])));
      incoming.push_back(std::as_writable_bytes(std::span(in[rank])));
    }
    ranks.exchange(outgoing, incoming, "step 1");
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(in[rank], std::vector<char>(own, static_cast<char>(10 * rank + own)));
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Communicator, NamesTheRankThatDiesOrFallsSilent) {
  for (const auto kind : {PlannedFailure::dies, PlannedFailure::falls_silent}) {
    LocalWorld world(4, {{.rank = 2, .kind = kind, .at_call = 5}});
    const auto errors = world.run([](Communicator& ranks) {
      for (int step = 0; step < 10; ++step) barrier(ranks, "step " + std::to_string(step));
    });
    for (const int rank : {0, 1, 3}) {
      EXPECT_THAT(errors[rank],
                  AllOf(HasSubstr("unavailable"), HasSubstr("rank 2 has not answered"),
                        HasSubstr("in 'step 5'")));
    }
    EXPECT_THAT(errors[2], HasSubstr("failed by plan"));
  }
}

TEST(Communicator, NamesTheRankThatDiffers) {
  LocalWorld world(4);
  const auto errors = world.run([](Communicator& ranks) {
    require_equal(ranks, "seed", "42");
    require_equal(ranks, "pipeline", ranks.world().rank == 2 ? "range(11)" : "range(10)");
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("failed_precondition"), HasSubstr("'pipeline'"),
                                 HasSubstr("rank 2 has 'range(11)', rank 0 has 'range(10)'"))));
}

TEST(Communicator, ShowsWhereLongTextsDiffer) {
  LocalWorld world(3);
  const auto errors = world.run([](Communicator& ranks) {
    std::string text(5'000, 'x');
    if (ranks.world().rank > 0) text[4'000] = 'y';
    require_equal(ranks, "files", text);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("xyx"), HasSubstr("..."), HasSubstr("too: 2"))));
  EXPECT_LT(errors[0].size(), 600);
}

TEST(Communicator, SendsMessagesInTheirOrder) {
  LocalWorld world(2);
  const auto errors = world.run([](Communicator& ranks) {
    const int other = 1 - ranks.world().rank;
    for (int i = 0; i < 100; ++i) ranks.send(other, i, std::as_bytes(std::span(&i, 1)));
    for (int i = 0; i < 100; ++i) {
      const auto message = ranks.receive_any(std::chrono::seconds(60));
      ASSERT_TRUE(message);
      EXPECT_EQ(message->source, other);
      EXPECT_EQ(message->tag, i);
      EXPECT_EQ(message->bytes.size(), sizeof i);
    }
    EXPECT_FALSE(ranks.receive_any(std::chrono::nanoseconds(0)));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Communicator, AbortEndsTheWaitOfTheOthers) {
  LocalWorld world(3);
  const auto errors = world.run([](Communicator& ranks) {
    if (ranks.world().rank == 1) ranks.abort("the disk is full");
    barrier(ranks, "step 1");
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 1 ended the job: the disk is full")));
}

TEST(Communicator, OneProcessTalksToItself) {
  const auto alone = no_communicator();
  EXPECT_EQ(alone->world(), World{});
  EXPECT_THAT(all_gather(*alone, "x", "names"), testing::ElementsAre("x"));
  require_equal(*alone, "seed", "42");
  alone->send(0, 7, {});
  EXPECT_EQ(alone->receive_any(std::chrono::seconds(0))->tag, 7);
  EXPECT_THROW(alone->send(1, 0, {}), Error);
  EXPECT_THROW(alone->abort("stop"), Error);
}

}  // namespace
}  // namespace infeed
