#include <algorithm>
#include <stdexcept>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Returns this shard's part of a Stream, or of Slots.
template <class Elements>
Elements sharded(const Elements& in, std::size_t count, std::size_t index) {
  Elements out;
  for (std::size_t i = index; i < in.size(); i += count) out.push_back(in[i]);
  return out;
}

TEST(Shard, PassesTheSuite) {
  // From 65 shards on the stage skips rather than drops.
  const std::vector<ShardOptions> cases = {{1, 0}, {2, 0},  {2, 1},   {3, 2},
                                           {7, 4}, {65, 3}, {100, 99}};
  for (const ShardOptions& options : cases) {
    SCOPED_TRACE(options.index);
    run_stage_suite(
        [options](auto dataset) { return dataset | shard(options); },
        [options](const Slots& in) { return show_all(sharded(in, options.count, options.index)); });
  }
}

std::int64_t fails_on_six(std::int64_t x) {
  if (x == 6) throw std::runtime_error("a six");
  return x;
}

std::int64_t augment(std::int64_t x, Rng& rng) { return 1'000'000 * x + rng.below(1'000'000); }

auto rows_of(std::uint64_t batch, std::uint64_t first, std::uint64_t rows) {
  return untyped_stage([=](NodePointer input) {
    return detail::make_own_rows(batch, first, rows, std::move(input));
  });
}

struct Rows {
  std::size_t batch;
  std::size_t first;
  std::size_t rows;
};

TEST(OwnRows, PassTheSuite) {
  // With 64 rows of others, or more, the stage skips rather than drops.
  for (const Rows& own :
       {Rows{2, 0, 2}, Rows{2, 1, 1}, Rows{7, 2, 3}, Rows{100, 0, 36}, Rows{100, 97, 3}}) {
    SCOPED_TRACE(fmt::format("{} of {} rows from {} on", own.rows, own.batch, own.first));
    run_stage_suite(
        [own](auto dataset) { return dataset | rows_of(own.batch, own.first, own.rows); },
        [own](const Slots& in) {
          Slots out;
          for (std::size_t i = 0; i < in.size(); ++i) {
            const std::size_t row = i % own.batch;
            if (row >= own.first && row < own.first + own.rows) out.push_back(in[i]);
          }
          return show_all(out);
        });
  }
}

/// Hands on its input, and adds up what is pulled.
class AddedUpStage final : public PassThroughStage {
 public:
  AddedUpStage(const StageContext& context, std::uint64_t& pulled, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), pulled_(pulled) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    const Pull result = input().pull(out, want);
    pulled_ += out.slots();
    return result;
  }

 private:
  std::uint64_t& pulled_;
};

class AddedUpNode final : public Node {
 public:
  AddedUpNode(bool skips_input, std::uint64_t& pulled, NodePointer input)
      : Node("added_up", input->type(), {input}), skips_input_(skips_input), pulled_(pulled) {}

  StageTraits traits() const override { return {.skips_input = skips_input_}; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<AddedUpStage>(context, pulled_, input().open(context));
  }

 private:
  const bool skips_input_;
  std::uint64_t& pulled_;
};

TEST(OwnRows, ReadNoRowsOfOthersBehindStagesThatSayThatTheySkipTheirInput) {
  for (const bool skips_input : {false, true}) {
    std::uint64_t pulled = 0;
    const auto added_up = untyped_stage([&](NodePointer input) -> NodePointer {
      return std::make_shared<AddedUpNode>(skips_input, pulled, std::move(input));
    });
    const auto rows = slices(std::vector<std::string>(12, "a record")) | added_up | skip(2) |
                      take(8) | repeat(2) | rows_of(4, 1, 2);
    EXPECT_EQ(rows.count(), 8U);
    EXPECT_EQ(pulled, skips_input ? 8U : 16U);
  }
}

TEST(OwnRows, AreNumberedAsInTheWholeStream) {
  const auto augmented = [](std::uint64_t first, std::uint64_t rows) {
    return stream_of(range(100) | shard({.count = 2, .index = 1}) | rows_of(10, first, rows) |
                     map(augment, {.seed = 3}));
  };
  const Stream whole =
      stream_of(range(100) | shard({.count = 2, .index = 1}) | map(augment, {.seed = 3}));
  Stream parts;
  for (const Rows& own : {Rows{10, 0, 1}, Rows{10, 1, 4}, Rows{10, 5, 5}}) {
    const Stream part = augmented(own.first, own.rows);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_THAT(parts, ::testing::UnorderedElementsAreArray(whole));
}

TEST(OwnRows, RefuseWhatIsNoPartOfABatch) {
  for (const Rows& wrong : {Rows{10, 8, 3}, Rows{10, 0, 0}, Rows{0, 0, 0}, Rows{10, 10, 1}}) {
    const Error error = error_of([&] { range(3) | rows_of(wrong.batch, wrong.first, wrong.rows); });
    EXPECT_EQ(error.message(),
              fmt::format("own_rows: {} rows from row {} on aren't rows of a batch of {}",
                          wrong.rows, wrong.first, wrong.batch));
  }
  EXPECT_EQ(
      error_of([] { range(9) | rows_of(3, 0, 2) | shard({.count = 2, .index = 0}); }).message(),
      "shard stands behind own_rows, whose elements can't be divided again; leave one of them "
      "out");
}

TEST(Shard, AllShardsTogetherAreTheInput) {
  std::vector<bool> seen(1000);
  for (std::uint64_t index = 0; index < 6; ++index) {
    for (const std::int64_t element :
         (range(1000) | shard({.count = 6, .index = index})).iterate()) {
      EXPECT_FALSE(seen[static_cast<std::size_t>(element)]);
      seen[static_cast<std::size_t>(element)] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 1000);
}

// --- Random numbers
// --------------------------------------------------------------------------------

/// Returns the elements of all hosts, in any order, from the place of `resume` on, which is that of
/// any number of hosts.
Stream of_all_hosts(std::uint64_t hosts, const auto& pipeline, const Checkpoint* resume = nullptr) {
  Stream all;
  for (std::uint64_t host = 0; host < hosts; ++host) {
    const auto dataset = pipeline(ShardOptions{.count = hosts, .index = host});
    IterateOptions options;
    if (resume != nullptr) options.resume = reshard_checkpoint(*resume, dataset);
    const Stream stream = stream_of(dataset, options);
    all.insert(all.end(), stream.begin(), stream.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Shard, AugmentationDoesNotDependOnTheNumberOfHosts) {
  for (const int parallelism : {1, 3}) {
    const auto pipeline = [parallelism](const ShardOptions& options) {
      return range(1000, 1600) | shard(options) |
             map(augment, {.parallelism = parallelism, .seed = 3}) | repeat(2);
    };
    const Stream expected = of_all_hosts(1, pipeline);
    for (const std::uint64_t hosts : {2, 3, 7, 100}) {
      EXPECT_EQ(of_all_hosts(hosts, pipeline), expected) << hosts << " hosts";
    }
  }
  // Without shard the number is the position, as before.
  const auto whole = range(1000, 1600) | map(augment, {.seed = 3});
  EXPECT_EQ(
      stream_of(whole | shard({.count = 3, .index = 1})),
      stream_of(range(1000, 1600) | shard({.count = 3, .index = 1}) | map(augment, {.seed = 3})));
}

TEST(Shard, OfAShardAndBeforeRepeatKeepsTheNumbers) {
  const auto twice = [](const ShardOptions& options) {
    return range(60) | shard({.count = 2, .index = 0}) | shard(options) | map(augment, {.seed = 3});
  };
  EXPECT_EQ(of_all_hosts(5, twice), of_all_hosts(1, twice));
  // Shards of one length: their passes end together.
  const auto repeated = [](const ShardOptions& options) {
    return range(60) | shard(options) | repeat(3) | map(augment, {.seed = 3});
  };
  EXPECT_EQ(of_all_hosts(4, repeated), of_all_hosts(1, repeated));
}

/// The hosts share the whole stream, or what a shard has left of it for training.
TEST(Shard, AReshardedRunRepeatsTheAugmentation) {
  for (const std::int64_t parts : {1, 5}) {
    SCOPED_TRACE(parts);
    const auto pipeline = [parts](const ShardOptions& options) {
      return range(600 * parts) | shard({.count = parts, .index = parts - 1}) | shard(options) |
             map(augment, {.seed = 3}) | repeat(2);
    };
    const Stream whole = of_all_hosts(1, pipeline);
    Stream taken;
    Checkpoint saved;
    for (std::uint64_t host = 0; host < 2; ++host) {
      auto iterator = pipeline(ShardOptions{.count = 2, .index = host}).iterate();
      for (std::string& element : take_stream(iterator, 390)) taken.push_back(std::move(element));
      saved = iterator.checkpoint();
    }
    for (const std::uint64_t hosts : {1, 3, 4}) {
      Stream all = of_all_hosts(hosts, pipeline, &saved);
      all.insert(all.end(), taken.begin(), taken.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, whole) << hosts << " hosts";
    }
  }
}

// --- Errors that other hosts have seen
// --------------------------------------------------------------------------------

/// Hosts that take no step read nothing. Those after them passed over an error as if it were a whole
/// batch.
TEST(Shard, LooksAtWhatNoHostOfTheCheckpointsHasRead) {
  const auto share = [](std::uint64_t hosts, std::uint64_t host) {
    return range(80) | map(fails_on_six) | batch(4) | shard({.count = hosts, .index = host});
  };
  const Stream whole = stream_of(share(1, 0));
  // The first of 4 hosts saw no error in its first batch. One host went on, and took nothing.
  Checkpoint first = share(4, 0).iterate().checkpoint();
  first.position = 1;
  const auto one = share(1, 0);
  const Checkpoint second = one.iterate({.resume = reshard_checkpoint(first, one)}).checkpoint();
  for (std::uint64_t host = 0; host < 3; ++host) {
    const auto dataset = share(3, host);
    for (const Checkpoint& saved : {first, second}) {
      EXPECT_EQ(stream_of(dataset, {.resume = reshard_checkpoint(saved, dataset)}),
                sharded(Stream(whole.begin() + 4, whole.end()), 3, host));
    }
  }
}

TEST(Shard, KnowsItsLength) {
  const auto length = [](std::int64_t size, std::uint64_t count, std::uint64_t index) {
    return (range(size) | shard({.count = count, .index = index})).cardinality().count();
  };
  EXPECT_EQ(length(10, 3, 0), 4);
  EXPECT_EQ(length(10, 3, 1), 3);
  EXPECT_EQ(length(10, 3, 2), 3);
  EXPECT_EQ(length(2, 3, 2), 0);
}

TEST(Shard, RefusesAnIndexThatIsNoShard) {
  for (const ShardOptions& wrong : {ShardOptions{3, 3}, ShardOptions{0, 0}}) {
    const Error error = error_of([&] { range(3) | shard(wrong); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(
        error.message(),
        fmt::format("shard: index {} of {} shards; the index must be less than the count, and "
                    "the count at least 1",
                    wrong.index.value(), wrong.count.value()));
  }
}

}  // namespace
}  // namespace infeed::test
