#include <utility>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "pipeline/suite/test_sources.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(Checkpoint, IsTextThatAPersonCanRead) {
  const auto dataset = range(100'000) | shuffle({.buffer = 10'000, .seed = 42}) | repeat(2) |
                       batch(128, {.drop_remainder = true}) | prefetch(4);
  auto iterator = dataset.iterate();
  take_stream(iterator, 3);
  EXPECT_EQ(iterator.checkpoint().to_text(),
            "infeed-checkpoint 1\n"
            "position 3\n"
            "epoch 0\n"
            "errors 0\n"
            "stage range(start=0, step=1, count=100000)\n"
            "stage shuffle(buffer=10000, seed=87654321, seed2=42, reshuffle=true)\n"
            "stage repeat(2)\n"
            "stage batch(128, drop_remainder)\n"
            "checksum b7a8555e\n");
}

TEST(Checkpoint, HasALineForAllThatIsThere) {
  const Checkpoint checkpoint{
      .position = 5,
      .epoch = 2,
      .errors = 1,
      .taken = {60, 4},
      .order_hash = 0xabc,
      .signature = {"range", "filter"},
      .bookmarks = {{.stage = 1, .given = 9},
                    {.stage = 0, .given = 3, .state = {4}},
                    {.stage = 1, .pass = 3, .given = 7, .inputs = {8, 9}, .state = {1, 2}}}};
  const std::string text = checkpoint.to_text();
  EXPECT_EQ(text.substr(0, text.find("checksum ")),
            "infeed-checkpoint 1\n"
            "position 5\n"
            "epoch 2\n"
            "errors 1\n"
            "taken 60 by 4\n"
            "order 0000000000000abc\n"
            "stage range\n"
            "bookmark given=3 pass=0 state=4\n"
            "stage filter\n"
            "bookmark given=9 pass=0\n"
            "bookmark given=7 pass=3 inputs=8,9 state=1,2\n");
  const Checkpoint read = Checkpoint::from_text(text);
  EXPECT_EQ(read.to_text(), text);
  ASSERT_EQ(read.bookmarks.size(), 3U);
  EXPECT_EQ(read.bookmarks[0], checkpoint.bookmarks[1]) << "they come by their stages";
  EXPECT_EQ(read.bookmarks[1], checkpoint.bookmarks[0]);
  EXPECT_EQ(read.bookmarks[2], checkpoint.bookmarks[2]);
}

TEST(Checkpoint, LeavesOutNoNumberButNothing) {
  const Checkpoint ones{.position = 1,
                        .epoch = 1,
                        .errors = 1,
                        .errors_taken = 1,
                        .taken = {0, 1},
                        .order_hash = 1,
                        .signature = {"range", "map 'checksum 12345678'"}};
  const std::string text = ones.to_text();
  EXPECT_EQ(text.substr(0, text.find("checksum ")),
            "infeed-checkpoint 1\n"
            "position 1\n"
            "epoch 1\n"
            "errors 1\n"
            "errors_taken 1\n"
            "taken 0 by 1\n"
            "order 0000000000000001\n"
            "stage range\n"
            "stage map '");
  EXPECT_EQ(Checkpoint::from_text(text), ones) << "a name may hold any word";
}

TEST(Checkpoint, OfALaterVersionIsRefused) {
  const Error error = error_of([] { Checkpoint::from_text("infeed-checkpoint 2\nposition 3\n"); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the checkpoint has format version 2, and this infeed knows versions up to 1; use the "
            "infeed that wrote it, or a newer one");
  EXPECT_EQ(error_of([] { Checkpoint::from_text("infeed-checkpoint 0\n"); }).code(),
            ErrorCode::invalid_argument);
}

TEST(Checkpoint, IsUnderAKilobyteHoweverFarItIs) {
  const auto dataset = range(1'000'000) | shard({.count = 8, .index = 7}) |
                       map([](std::int64_t x, Rng& rng) { return x + rng.below(3); }) |
                       shuffle({.buffer = 10'000}) | repeat() | skip(3) | take(1'000'000) |
                       batch(128) | prefetch();
  auto iterator = dataset.iterate();
  take_stream(iterator, 100);
  EXPECT_LT(iterator.checkpoint().to_text().size(), 1024);
}

TEST(Checkpoint, GoesThroughTextUnchanged) {
  SeededRandom random;
  for (int round = 0; round < 200; ++round) {
    Checkpoint checkpoint{.position = random() >> random.below(64),
                          .epoch = random() >> random.below(64),
                          .errors = random() >> random.below(64),
                          .order_hash = random() >> random.below(64),
                          .signature = {}};
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      checkpoint.signature.push_back("stage " + std::to_string(random()) + " (a, b)");
    }
    EXPECT_EQ(Checkpoint::from_text(checkpoint.to_text()), checkpoint);
  }
}

TEST(Checkpoint, MayLackTheLastLineBreak) {
  const Checkpoint checkpoint{.position = 3, .signature = {"range"}};
  std::string text = checkpoint.to_text();
  text.pop_back();
  EXPECT_EQ(Checkpoint::from_text(text), checkpoint);
}

TEST(Checkpoint, BadTextIsRefusedWithTheLine) {
  const auto message = [](std::string_view text) {
    const Error error = error_of([&] { Checkpoint::from_text(text); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  EXPECT_EQ(message(""), "checkpoint, line 1: found '', expected 'infeed-checkpoint 1'");
  EXPECT_EQ(message("infeed-checkpoint two\n"),
            "checkpoint, line 1: found 'infeed-checkpoint two', expected 'infeed-checkpoint 1'");
  EXPECT_EQ(message("infeed-checkpoint 1\nposition seven\n"),
            "checkpoint, line 2: found 'position seven', expected a whole number after the name");
  EXPECT_EQ(message("infeed-checkpoint 1\nposition\n"),
            "checkpoint, line 2: found 'position', expected a whole number after the name");
  EXPECT_EQ(message("infeed-checkpoint 1\nposition -1\n"),
            "checkpoint, line 2: found 'position -1', expected a whole number after the name");
  EXPECT_EQ(message("infeed-checkpoint 1\nposition 99999999999999999999\n"),
            "checkpoint, line 2: found 'position 99999999999999999999', expected a whole number "
            "after the name");
  EXPECT_EQ(message("infeed-checkpoint 1\nepoch 0\n\nplace 7\n"),
            "checkpoint, line 4: found 'place 7', expected position, epoch, errors, "
            "errors_taken, taken, order, "
            "stage, bookmark or checksum");
  EXPECT_EQ(message("infeed-checkpoint 1\ntaken 60\n"),
            "checkpoint, line 2: found 'taken 60', expected 'taken ELEMENTS by SHARDS'");
  EXPECT_EQ(message("infeed-checkpoint 1\norder 12z\n"),
            "checkpoint, line 2: found 'order 12z', expected a whole number after the name");
  const std::string filter = "infeed-checkpoint 1\nstage filter\n";
  EXPECT_EQ(
      message(filter + "bookmark given=1 pass=0 inputs=2,\n"),
      "checkpoint, line 3: found 'bookmark given=1 pass=0 inputs=2,', expected a number at its "
      "end");
  EXPECT_EQ(message(filter + "bookmark given=1 pass=0 inputs=2 more\n"),
            "checkpoint, line 3: found 'bookmark given=1 pass=0 inputs=2 more', expected 'bookmark "
            "given=N pass=N inputs=N,... state=N,...'");
  EXPECT_EQ(
      message(filter + "bookmark given=1 pass=0 inputs=2,,3\n"),
      "checkpoint, line 3: found 'bookmark given=1 pass=0 inputs=2,,3', expected a whole number "
      "after the name");
  EXPECT_EQ(
      message("infeed-checkpoint 1\nstage range checksum 12345678\n"),
      "checkpoint, line 2: found 'range checksum 12345678', expected the checksum in a line of "
      "its own");
}

TEST(Checkpoint, EveryChangedByteIsNoticed) {
  const Checkpoint checkpoint{.position = 61'440, .epoch = 2, .signature = {"range(0, 100000)"}};
  const std::string good = checkpoint.to_text();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char c : {'0', '7', ' ', '\n', 'x'}) {
      std::string bad = good;
      if (std::exchange(bad[at], c) == c) continue;
      try {
        EXPECT_EQ(Checkpoint::from_text(bad), checkpoint) << bad;
      } catch (const Error& error) {
        // Another digit is the number of a later version.
        const bool is_later = at == good.find('\n') - 1 && c == '7';
        EXPECT_EQ(error.code(),
                  is_later ? ErrorCode::failed_precondition : ErrorCode::invalid_argument);
      }
    }
  }
  std::string bad = good;
  bad.replace(bad.find("61440"), 5, "61441");
  EXPECT_THAT(error_of([&] { Checkpoint::from_text(bad); }).message(),
              HasSubstr("by the lines before: one of them is damaged, so take an older"));
  EXPECT_EQ(error_of([&] { Checkpoint::from_text(good + "errors 1\n"); }).message(),
            "checkpoint, line 7: found 'errors 1', expected nothing behind the checksum");
}

TEST(Checkpoint, ThoseOfBeforeHaveNoChecksum) {
  EXPECT_EQ(Checkpoint::from_text("infeed-checkpoint 1\nposition 3\nstage range\n"),
            (Checkpoint{.position = 3, .signature = {"range"}}));
}

TEST(Checkpoint, SaysWhatOtherShardsTookBefore) {
  const Checkpoint checkpoint{.position = 3, .taken = {60, 4}, .signature = {"range"}};
  EXPECT_EQ(Checkpoint::from_text(checkpoint.to_text()), checkpoint);
  for (const char* const bad : {"taken 60", "taken 60 by", "taken by 4", "taken -1 by 4"}) {
    EXPECT_EQ(
        error_of([&] { Checkpoint::from_text(std::string("infeed-checkpoint 1\n") + bad); }).code(),
        ErrorCode::invalid_argument)
        << bad;
  }
}

TEST(Checkpoint, RandomTextNeverDoesHarm) {
  SeededRandom random;
  const std::string good = (range(10) | batch(3)).iterate().checkpoint().to_text();
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (std::uint64_t i = random.below(4) + 1; i > 0 && !text.empty(); --i) {
      const std::size_t at = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, random.below(5));
          break;
        default:
          text.resize(at + 1);
      }
    }
    try {
      const Checkpoint read = Checkpoint::from_text(text);
      if (read.position < 100) (range(10) | batch(3)).iterate({.resume = read});
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::invalid_argument ||
                  error.code() == ErrorCode::failed_precondition)
          << error.what();
    }
  }
}

/// Shuffles of another epoch have another order.
TEST(Checkpoint, OfAnotherEpochIsRefused) {
  const auto dataset = range(20) | shuffle({.buffer = 20, .seed = 1}) | batch(5);
  auto iterator = dataset.iterate({.epoch = 0});
  iterator.next();
  const Checkpoint saved = iterator.checkpoint();
  const Error error = error_of([&] { dataset.iterate({.resume = saved, .epoch = 3}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(
      error.message(),
      "the checkpoint is of epoch 0, but epoch 3 is asked for; leave the epoch out, or begin it "
      "without a checkpoint");
  EXPECT_TRUE(dataset.iterate({.resume = saved, .epoch = 0}).next());
}

TEST(Checkpoint, OfAnotherPipelineIsRefusedWithTheDifference) {
  const Checkpoint taken =
      (range(10) | shuffle({.buffer = 4, .seed = 1}) | batch(2)).iterate().checkpoint();
  const auto message = [&taken](const auto& dataset) {
    const Error error = error_of([&] { dataset.iterate({.resume = taken}); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    return error.message();
  };
  const std::string advice = "; resume with the pipeline that it was taken from, or start anew";
  EXPECT_EQ(message(range(10) | shuffle({.buffer = 4, .seed = 2}) | batch(2)),
            "the checkpoint belongs to another pipeline: its stage 1 is 'shuffle(buffer=4, "
            "seed=87654321, seed2=1, reshuffle=true)', this one's is 'shuffle(buffer=4, "
            "seed=87654321, seed2=2, reshuffle=true)'" +
                advice);
  EXPECT_EQ(message(range(11) | shuffle({.buffer = 4, .seed = 1}) | batch(2)),
            "the checkpoint belongs to another pipeline: its stage 0 is 'range(start=0, step=1, "
            "count=10)', this one's is 'range(start=0, step=1, count=11)'" +
                advice);
  EXPECT_EQ(message(range(10) | shuffle({.buffer = 4, .seed = 1}) | batch(2) | take(3)),
            "the checkpoint belongs to another pipeline: its stage 3 is '(none)', this one's is "
            "'take(3)'" +
                advice);
  EXPECT_EQ(message(range(10) | shuffle({.buffer = 4, .seed = 1})),
            "the checkpoint belongs to another pipeline: its stage 2 is 'batch(2)', this one's is "
            "'(none)'" +
                advice);
}

TEST(Checkpoint, BehindTheEndOfTheDataIsRefused) {
  Checkpoint checkpoint = range(10).iterate().checkpoint();
  checkpoint.position = 11;
  const Error error = error_of([&] { range(10).iterate({.resume = checkpoint}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(
      error.message(),
      "the checkpoint was taken after 11 elements, but the dataset now ends after 10; the data "
      "has changed since");
}

TEST(Checkpoint, CountsWhatWasTakenNotWhatWasReadAhead) {
  auto iterator = (range(1000) | prefetch(100)).iterate();
  take_stream(iterator, 7);
  EXPECT_EQ(iterator.checkpoint().position, 7);
  EXPECT_EQ(iterator.peek().front(), 7);
  EXPECT_EQ(iterator.checkpoint().position, 7);
  iterator.take(1);
  EXPECT_EQ(iterator.checkpoint().position, 8);
}

TEST(Checkpoint, ParallelismAndDepthMayChangeBetweenRuns) {
  const auto make = [](int parallelism, int depth) {
    return range(100) | map([](std::int64_t x) { return 3 * x; }, {.parallelism = parallelism}) |
           shuffle({.buffer = 10, .seed = 1}) | prefetch(depth);
  };
  const Stream whole = stream_of(make(1, 1));
  auto iterator = make(4, 9).iterate();
  take_stream(iterator, 41);
  auto resumed = make(1, 2).iterate({.resume = iterator.checkpoint()});
  EXPECT_EQ(take_stream(resumed), Stream(whole.begin() + 41, whole.end()));
}

TEST(Checkpoint, CarriesTheEpoch) {
  const auto make = [] { return range(50) | shuffle({.buffer = 50, .seed = 1}); };
  const auto dataset = make();
  stream_of(dataset);
  auto second = dataset.iterate();
  take_stream(second, 20);
  const Checkpoint checkpoint = second.checkpoint();
  EXPECT_EQ(checkpoint.epoch, 1);
  const auto elsewhere = make();
  auto resumed = elsewhere.iterate({.resume = checkpoint});
  EXPECT_EQ(take_stream(resumed), take_stream(second));
  // Later iterations go on counting behind it.
  EXPECT_EQ(elsewhere.iterate().checkpoint().epoch, 2);
  EXPECT_EQ(stream_of(elsewhere), stream_of(make(), {.epoch = 3}));
}

TEST(Checkpoint, AResumeCallsNoFunctionForWhatItPassesOver) {
  std::atomic<int> calls = 0;
  const auto dataset = range(100'000) | map([&calls](std::int64_t x) {
                         ++calls;
                         return x;
                       }) |
                       batch(10) | repeat();
  Checkpoint checkpoint = dataset.iterate().checkpoint();
  checkpoint.position = 12'345'678;
  auto resumed = dataset.iterate({.resume = checkpoint});
  EXPECT_EQ((*resumed.next())[0], 56780);
  EXPECT_LE(calls, static_cast<int>(kChunkElementsMax)) << "but for the first chunk behind it";
}

TEST(Checkpoint, AfterAnErrorTheResumeLooksAtEachElement) {
  // Batches shift behind an error, so multiplying would be wrong.
  const auto make = [] { return failing_range(100, 13) | batch(4); };
  const Stream whole = stream_of(make());
  for (std::size_t place = 0; place <= whole.size(); ++place) {
    auto iterator = make().iterate();
    take_stream(iterator, place);
    const Checkpoint checkpoint = iterator.checkpoint();
    auto resumed = make().iterate({.resume = checkpoint});
    EXPECT_GE(resumed.checkpoint().errors, checkpoint.errors);
    EXPECT_EQ(take_stream(resumed),
              Stream(whole.begin() + static_cast<std::ptrdiff_t>(place), whole.end()));
  }
}

TEST(Checkpoint, ADriverThatAResumeStartedAssumesNothing) {
  // The shuffle's resume pulls through prefetch, whose driver then works ahead, over errors that
  // had not been seen when the checkpoint was taken; behind shard the batches are skipped.
  const auto make = [] {
    return failing_range(10'000, 9001) | batch(2) | shard({.count = 100, .index = 0}) |
           prefetch(30) | shuffle({.buffer = 3, .seed = 1});
  };
  const Stream whole = stream_of(make());
  Checkpoint checkpoint = make().iterate().checkpoint();
  checkpoint.position = 20;
  auto resumed = make().iterate({.resume = checkpoint});
  EXPECT_EQ(take_stream(resumed), Stream(whole.begin() + 20, whole.end()));
}

}  // namespace
}  // namespace infeed::test
