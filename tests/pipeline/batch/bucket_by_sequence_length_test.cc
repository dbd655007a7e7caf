#include <infeed/infeed.h>

#include "pipeline/suite/sequences.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

const auto kLength = [](const Sequence& sequence) { return sequence.size(); };

Stream bucket_model(const Slots& in, const BucketOptions& options) {
  Stream stream;
  std::vector<Rows> buckets(options.batch_sizes.size());
  const auto give = [&](std::size_t bucket) {
    Rows& rows = buckets[bucket];
    const std::size_t width = options.pad_to_boundary
                                  ? static_cast<std::size_t>(options.boundaries[bucket] - 1)
                                  : longest_of(rows);
    pad_rows(rows, width, -1);
    stream.push_back(show(rows));
    rows.clear();
  };
  for (const Slot& slot : in) {
    if (slot.fails) {
      stream.push_back(show(slot));
      continue;
    }
    const Sequence sequence = sequence_of(slot.value);
    const auto length = static_cast<std::int64_t>(sequence.size());
    std::size_t bucket = 0;
    while (bucket < options.boundaries.size() && length >= options.boundaries[bucket]) ++bucket;
    if (options.pad_to_boundary && bucket == options.boundaries.size()) {
      stream.push_back(
          fmt::format("! bucket_by_sequence_length: a sequence is not below the last boundary "
                      "({}), so there is "
                      "none to pad it to; add a boundary, or filter it out",
                      options.boundaries.back()));
      continue;
    }
    buckets[bucket].push_back(sequence);
    if (static_cast<std::int64_t>(buckets[bucket].size()) == options.batch_sizes[bucket]) {
      give(bucket);
    }
  }
  for (std::size_t bucket = 0; bucket < buckets.size() && !options.drop_remainder; ++bucket) {
    if (!buckets[bucket].empty()) give(bucket);
  }
  return stream;
}

struct BucketedPair {
  std::vector<std::int32_t> source;
  std::vector<std::int64_t> target;
};

TEST(BucketBySequenceLength, EachFieldMayHaveItsOwnWidthAndPadding) {
  const std::vector<BucketedPair> pairs = {{{1, 2}, {3}}, {{4}, {5, 6}}, {{7}, {1, 2, 3, 4}}};
  const auto length = [](const BucketedPair& pair) { return pair.source.size(); };
  auto iterator = (slices(pairs) | bucket_by_sequence_length(length, {.boundaries = {4},
                                                                      .batch_sizes = {2, 1},
                                                                      .pad_to_boundary = true,
                                                                      .widths = {-1, 3},
                                                                      .paddings = {0, -100}}))
                      .iterate();
  const auto batch = *iterator.next();
  EXPECT_THAT(batch.column(&BucketedPair::source).values(), ElementsAre(1, 2, 0, 4, 0, 0));
  EXPECT_THAT(batch.column(&BucketedPair::target).values(), ElementsAre(3, -100, -100, 5, 6, -100));
  EXPECT_THAT(error_of([&] { iterator.next(); }).message(),
              HasSubstr("a sequence has 4 values, but is to be padded to 3"));
}

TEST(BucketBySequenceLength, GivesRaggedBatchesToo) {
  const auto ragged = range(1, 5) | map(sequence_of) |
                      bucket_by_sequence_length<Ragged>(kLength, {.batch_sizes = {2}});
  const RaggedBatch<Sequence> first = *ragged.iterate().next();
  EXPECT_THAT(first.sequences().row_splits(),
              ElementsAre(0, std::ssize(sequence_of(1)),
                          std::ssize(sequence_of(1)) + std::ssize(sequence_of(2))));
  EXPECT_THAT(error_of([] {
                slices(std::vector<Sequence>()) |
                    bucket_by_sequence_length<Ragged>(kLength, {.batch_sizes = {2}, .padding = 1});
              }).message(),
              HasSubstr("ragged batches have no padding"));
}

TEST(BucketBySequenceLength, PassesTheSuite) {
  for (const bool pad : {false, true}) {
    for (const bool drop : {false, true}) {
      SCOPED_TRACE(fmt::format("pad {} drop {}", pad, drop));
      const BucketOptions options{.boundaries = {2, 5},
                                  .batch_sizes = {3, 2, 4},
                                  .pad_to_boundary = pad,
                                  .padding = -1,
                                  .drop_remainder = drop};
      run_stage_suite_on<std::int64_t>(
          [&](const Dataset<std::int64_t>& dataset) {
            return dataset | to_sequences() | bucket_by_sequence_length(kLength, options) |
                   to_rows();
          },
          [&](const Slots& in) { return bucket_model(in, options); });
    }
  }
}

TEST(BucketBySequenceLength, GivesTensorFlowsBatches) {
  std::vector<Sequence> sequences;
  for (const std::int64_t n : {1, 5, 2, 7, 3, 9, 1, 1}) {
    sequences.emplace_back(static_cast<std::size_t>(n), n);
  }
  const auto batches =
      slices(sequences) |
      bucket_by_sequence_length(kLength, {.boundaries = {3, 6}, .batch_sizes = {2, 2, 2}}) |
      to_rows();
  run_source_suite([&] { return batches; },
                   {"{{1 0} {2 2}}", "{{5 5 5 5 5} {3 3 3 0 0}}",
                    "{{7 7 7 7 7 7 7 0 0} {9 9 9 9 9 9 9 9 9}}", "{{1} {1}}"});
}

TEST(BucketBySequenceLength, RefusesWhatCannotBe) {
  const auto with = [](std::vector<std::int64_t> boundaries, std::vector<std::int64_t> sizes) {
    return error_of([&] {
             bucket_by_sequence_length(
                 kLength, {.boundaries = std::move(boundaries), .batch_sizes = std::move(sizes)});
           })
        .message();
  };
  const std::string rest =
      "; boundaries must be above 0 and ascend, batch_sizes be at least 1 and one more than the "
      "boundaries";
  EXPECT_EQ(with({5, 3}, {1, 1, 1}),
            "bucket_by_sequence_length: boundaries are [5, 3] and batch_sizes [1, 1, 1]" + rest);
  EXPECT_EQ(with({3}, {1}),
            "bucket_by_sequence_length: boundaries are [3] and batch_sizes [1]" + rest);
  EXPECT_EQ(with({0}, {1, 1}),
            "bucket_by_sequence_length: boundaries are [0] and batch_sizes [1, 1]" + rest);
}

}  // namespace
}  // namespace infeed::test
