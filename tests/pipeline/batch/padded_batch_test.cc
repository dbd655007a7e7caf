#include <cmath>
#include <string>
#include <type_traits>

#include <infeed/infeed.h>

#include "pipeline/suite/sequences.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

struct WeightedSentence {
  std::vector<std::int32_t> tokens;
  std::int64_t label;
  std::vector<float> weights;
};

WeightedSentence sentence_of(std::int64_t n) {
  return {std::vector<std::int32_t>(static_cast<std::size_t>(n % 3), static_cast<std::int32_t>(n)),
          n, std::vector<float>(static_cast<std::size_t>(n % 2), 0.5F)};
}

struct Padding {
  std::int64_t size;
  std::int64_t width;  ///< -1: the longest
  bool drop_remainder;
};

Stream padded_model(const Slots& in, const Padding& shape) {
  Stream stream;
  Rows rows;
  const auto give = [&] {
    pad_rows(rows, shape.width < 0 ? longest_of(rows) : static_cast<std::size_t>(shape.width), -1);
    stream.push_back(show(rows));
    rows.clear();
  };
  for (const Slot& slot : in) {
    const Sequence sequence = sequence_of(slot.value);
    const auto length = static_cast<std::int64_t>(sequence.size());
    if (slot.fails) {
      stream.push_back(show(slot));
    } else if (shape.width >= 0 && length > shape.width) {
      stream.push_back(
          fmt::format("! padded_batch: a sequence has {} values, but is to be padded to {}; cut "
                      "it, or make the "
                      "width larger",
                      length, shape.width));
    } else {
      rows.push_back(sequence);
      if (static_cast<std::int64_t>(rows.size()) == shape.size) give();
    }
  }
  if (!rows.empty() && !shape.drop_remainder) give();
  return stream;
}

TEST(PaddedBatch, PassesTheSuite) {
  for (const Padding& shape :
       {Padding{1, -1, false}, Padding{4, -1, false}, Padding{4, -1, true}, Padding{3, 6, false},
        Padding{3, 4, false}, Padding{1000, 2, false}}) {
    SCOPED_TRACE(fmt::format("size {} width {}", shape.size, shape.width));
    run_stage_suite_on<std::int64_t>(
        [&](const Dataset<std::int64_t>& dataset) {
          return dataset | to_sequences() |
                 padded_batch(shape.size, {.widths = {shape.width},
                                           .padding = -1,
                                           .drop_remainder = shape.drop_remainder}) |
                 to_rows();
        },
        [&](const Slots& in) { return padded_model(in, shape); });
  }
}

TEST(PaddedBatch, MakesOneColumnAField) {
  const auto batches = range(1, 5) | map(sentence_of) | padded_batch(4, {.widths = {4, -1}});
  const auto batch = *batches.iterate().next();
  ASSERT_EQ(batch.size(), 4);
  const Padded<std::int32_t>& tokens = batch.column(&WeightedSentence::tokens);
  EXPECT_EQ(tokens.width(), 4);
  EXPECT_EQ(std::vector<std::int32_t>(tokens.values().begin(), tokens.values().end()),
            (std::vector<std::int32_t>{1, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0}));
  EXPECT_EQ(std::vector<std::int64_t>(tokens.lengths().begin(), tokens.lengths().end()),
            (std::vector<std::int64_t>{1, 2, 0, 1}));
  const std::span<const std::int64_t> labels = batch.column(&WeightedSentence::label);
  EXPECT_EQ(std::vector<std::int64_t>(labels.begin(), labels.end()),
            (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(batch.column<2>().width(), 1);
  EXPECT_EQ(batch.column<2>().values()[0], 0.5F);
  for (const void* column : {static_cast<const void*>(tokens.values().data()),
                             static_cast<const void*>(labels.data())}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column) % 64, 0);
  }
  EXPECT_GE(batch.bytes(), 4 * (4 * 4 + 8 + 4));
}

TEST(PaddedBatch, PadsTextsWithEmptyOnes) {
  const auto batches = range(3) | map([](std::int64_t n) {
                         return std::vector<std::string>(static_cast<std::size_t>(n), "word");
                       }) |
                       padded_batch(3);
  const auto batch = *batches.iterate().next();
  EXPECT_EQ(batch.sequences().row(1)[0], "word");
  EXPECT_EQ(batch.sequences().row(1)[1], "");
}

TEST(PaddedBatch, CountsItsRows) {
  auto iterator = (range(1000) | map([](std::int64_t) { return std::vector<double>(1000); }) |
                   padded_batch(100))
                      .iterate({.memory_bytes_max = 200'000});
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::resource_exhausted);
}

TEST(PaddedBatch, PassesOverBatchesWithoutReading) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto batches = range(1'000'000) | map([calls](std::int64_t n) {
                         ++*calls;
                         return sequence_of(n);
                       }) |
                       padded_batch(10) | to_rows();
  Checkpoint checkpoint = batches.iterate().checkpoint();
  checkpoint.position = 90'000;
  EXPECT_EQ((*batches.iterate({.resume = checkpoint}).next())[1][0], 900'001);
  EXPECT_LE(*calls, static_cast<int>(kChunkElementsMax));
}

struct Translation {
  std::vector<std::int32_t> source;
  std::vector<std::int64_t> target;
};

TEST(PaddedBatch, EachFieldMayHaveItsOwnPadding) {
  const std::vector<Translation> pairs = {{{1, 2}, {3}}, {{4}, {5, 6}}};
  const auto batch = *(slices(pairs) | padded_batch(2, {.widths = {3, -1}, .paddings = {-1, -100}}))
                          .iterate()
                          .next();
  EXPECT_THAT(batch.column(&Translation::source).values(), ElementsAre(1, 2, -1, 4, -1, -1));
  EXPECT_THAT(batch.column(&Translation::target).values(), ElementsAre(3, -100, 5, 6));
  EXPECT_EQ(error_of([&] {
              slices(pairs) | padded_batch(2, {.paddings = {1, 2, 3}});
            }).message(),
            "padded_batch: paddings are [1, 2, 3], but the elements have 2 sequences; give one "
            "value each");
}

TEST(PaddedBatch, APaddingIsAValueOfTheSequence) {
  struct Flags {
    std::vector<float> scores;
    std::vector<std::uint8_t> flags;
  };
  const auto with = [](PaddedBatchOptions options) {
    return error_of([&] { slices(std::vector<Flags>(1)) | padded_batch(1, std::move(options)); })
        .message();
  };
  EXPECT_EQ(
      with({.padding = -1}),
      "padded_batch: the padding -1 is no value of sequence 1 of the elements (unsigned whole "
      "numbers of 8 bits); give each sequence its own with paddings");
  for (const double none : {256.0, 0.5, 1e300, std::nan("")}) {
    EXPECT_THAT(with({.paddings = {0, none}}), HasSubstr("is no value of sequence 1"));
  }
  const auto batch = *(slices(std::vector<Flags>(1)) |
                       padded_batch(1, {.widths = {1, 1}, .paddings = {-0.5, 255}}))
                          .iterate()
                          .next();
  EXPECT_THAT(batch.column(&Flags::scores).values(), ElementsAre(-0.5F));
  EXPECT_THAT(batch.column(&Flags::flags).values(), ElementsAre(255));
}

/// Beyond their range floats were filled up with infinity.
TEST(PaddedBatch, APaddingIsInTheRangeOfFloats) {
  const auto padded = []<class U>(U, double padding) {
    const auto batch = *(slices(std::vector<std::vector<U>>(1)) |
                         padded_batch(1, {.widths = {1}, .padding = padding}))
                            .iterate()
                            .next();
    using Wide = std::conditional_t<sizeof(U) == 2, float, U>;
    return static_cast<double>(static_cast<Wide>(batch.sequences().values().front()));
  };
  const auto expect_range = [&]<class U>(U type, double most, const std::string& bits) {
    EXPECT_EQ(padded(type, most), most);
    EXPECT_EQ(padded(type, -most), -most);
    EXPECT_TRUE(std::isinf(padded(type, INFINITY)));
    EXPECT_TRUE(std::isnan(padded(type, NAN)));
    for (const double beyond : {1.1 * most, -1.1 * most}) {
      EXPECT_THAT(
          error_of([&] { padded(type, beyond); }).message(),
          HasSubstr("is no value of sequence 0 of the elements (floats of " + bits + " bits)"));
    }
  };
  expect_range(float16(), 65504, "16");
  expect_range(bfloat16(), 0x1.fep127, "16");
  expect_range(float(), 0x1.fffffep127, "32");
  EXPECT_EQ(padded(double(), 1e300), 1e300);
}

TEST(PaddedBatch, PadsNumbersOf16Bits) {
  struct Row {
    std::vector<bfloat16> ids;
    std::vector<float16> scores;
  };
  const std::vector<Row> rows = {{{bfloat16(1)}, {}}, {{}, {float16(2)}}};
  const auto batch = *(slices(rows) | padded_batch(2, {.paddings = {-100, 0.5}})).iterate().next();
  EXPECT_THAT(batch.column(&Row::ids).values(), ElementsAre(bfloat16(1), bfloat16(-100)));
  EXPECT_THAT(batch.column(&Row::scores).values(), ElementsAre(float16(0.5F), float16(2)));
}

TEST(PaddedBatch, RefusesWhatCannotBe) {
  const auto with = [](std::int64_t size, std::vector<std::int64_t> widths) {
    return error_of([&] {
             range(3) | map(sentence_of) | padded_batch(size, {.widths = std::move(widths)});
           })
        .message();
  };
  EXPECT_EQ(with(0, {}), "padded_batch: size is 0; give at least 1");
  EXPECT_EQ(with(2, {5}),
            "padded_batch: widths are [5], but the elements have 2 sequences; give one width each, "
            "-1 for the longest of the batch");
}

}  // namespace
}  // namespace infeed::test
