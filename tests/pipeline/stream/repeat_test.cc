#include <string>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"

namespace infeed::test {
namespace {

Stream repeated(const Slots& in, std::int64_t count) {
  Stream stream;
  for (std::int64_t pass = 0; pass < count; ++pass) {
    for (const Slot& slot : in) stream.push_back(show(slot));
  }
  return stream;
}

TEST(Repeat, PassesTheSuite) {
  for (const std::int64_t count : {0, 1, 3}) {
    SCOPED_TRACE(count);
    run_stage_suite([count](auto dataset) { return dataset | repeat(count); },
                    [count](const Slots& in) { return repeated(in, count); });
  }
}

TEST(Repeat, ForEverPassesTheSuite) {
  run_stage_suite_on<std::int64_t>([](auto dataset) { return dataset | repeat() | take(100); },
                                   [](const Slots& in) {
                                     Stream stream = repeated(in, 100);
                                     stream.resize(std::min<std::size_t>(stream.size(), 100));
                                     return stream;
                                   });
}

/// Lengths wrapped: a run could not be resumed, or went on at another element.
TEST(Repeat, MoreElementsThanCanBeCountedAreInfinite) {
  EXPECT_TRUE((range(4) | repeat(std::int64_t{1} << 62)).cardinality().is_infinite());
  EXPECT_EQ((range(2) | repeat(std::int64_t{1} << 62)).cardinality().count(),
            std::uint64_t{1} << 63);
  const auto dataset = range(3) | repeat(6'148'914'691'236'517'206) | repeat();
  auto iterator = dataset.iterate();
  for (int i = 0; i < 4; ++i) iterator.next();
  auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(resumed.next(), iterator.next());
}

TEST(Repeat, OfRepeatPassesTheSuite) {
  run_stage_suite_on<std::int64_t>([](auto dataset) { return dataset | repeat(2) | repeat(2); },
                                   [](const Slots& in) { return repeated(in, 4); });
}

TEST(Repeat, AnEmptyPassEndsAnEndlessOne) {
  EXPECT_EQ(stream_of(range(0) | repeat()), Stream());
  EXPECT_EQ(stream_of(range(10) | filter([](std::int64_t) { return false; }) | repeat()), Stream());
}

TEST(Repeat, KnowsItsLength) {
  EXPECT_EQ((range(10) | repeat(3)).cardinality(), Cardinality::finite(30));
  EXPECT_EQ((range(10) | repeat(0)).cardinality(), Cardinality::finite(0));
  EXPECT_TRUE((range(10) | repeat()).cardinality().is_infinite());
  EXPECT_EQ((range(0) | repeat()).cardinality(), Cardinality::finite(0));
  EXPECT_TRUE((counter() | repeat(2)).cardinality().is_infinite());
  EXPECT_EQ((counter() | repeat(0)).cardinality(), Cardinality::finite(0));
}

TEST(Repeat, EachPassHasAnEpochOfItsOwn) {
  // Two passes in one iteration, or one pass in each of two iterations: the same orders.
  const auto shuffled = range(10) | shuffle({.buffer = 10, .seed = 1});
  const Stream both = stream_of(shuffled | repeat(4));
  Stream apart;
  for (int pass = 0; pass < 4; ++pass) {
    for (std::string& element : stream_of(shuffled)) apart.push_back(std::move(element));
  }
  EXPECT_EQ(both, apart);
  // As TensorFlow's, whose repeat takes the seeds of one pass more than it reads: the second
  // iteration of repeat(2) has the passes 3 and 4.
  const auto twice = shuffled | repeat(2);
  const Stream passes = stream_of(shuffled | repeat(5));
  EXPECT_EQ(stream_of(twice), Stream(passes.begin(), passes.begin() + 20));
  EXPECT_EQ(stream_of(twice), Stream(passes.begin() + 30, passes.end()));
}

TEST(Repeat, OpensPassesThatNobodyReadsAsTensorFlowDoes) {
  const auto in_pass = [](std::uint64_t pass) {
    return stream_of(range(10) | shuffle({.buffer = 4, .seed = 5}), {.epoch = pass});
  };
  const auto both = [](Stream first, const Stream& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  const auto shuffled = range(10) | shuffle({.buffer = 4, .seed = 5});
  // repeat(2) opens three passes, and repeat(1) behind it opens repeat(2) once more, which opens
  // the first of three unread passes.
  const auto nested = shuffled | repeat(2) | repeat(1);
  EXPECT_EQ(stream_of(nested), both(in_pass(0), in_pass(1)));
  EXPECT_EQ(stream_of(nested), both(in_pass(4), in_pass(5)));
  EXPECT_EQ(stream_of(nested), both(in_pass(8), in_pass(9)));
  // A shuffle opens its input when it is read, so the unread pass stays above it.
  const auto same_each_time = shuffle({.buffer = 4, .seed = 6, .reshuffle_each_iteration = false});
  const auto hidden = shuffled | same_each_time | repeat(1);
  const auto plain = shuffled | same_each_time;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream_of(hidden), stream_of(plain));
}

TEST(Repeat, ResumesInAFarPass) {
  const auto dataset = range(10) | shuffle({.buffer = 4, .seed = 5}) | repeat();
  Checkpoint checkpoint = dataset.iterate().checkpoint();
  checkpoint.position = 10'000'000'000'003;
  auto far = dataset.iterate({.resume = checkpoint});
  // The thousand-billionth pass, taken on its own.
  const auto once = range(10) | shuffle({.buffer = 4, .seed = 5});
  const Stream pass = stream_of(once, {.epoch = 1'000'000'000'000});
  EXPECT_EQ(take_stream(far, 7), Stream(pass.begin() + 3, pass.end()));
}

struct Number {
  std::int64_t number;
};

/// The first rows of a pass are pulled, behind one that was read in blocks. Their places were looked
/// for among the pass before's, as if its records had been pulled, too.
TEST(Repeat, TracesRowsOfEachPassBehindOneReadInBlocks) {
  constexpr std::uint64_t kRecords = 20;
  constexpr std::uint64_t kRows = 8;
  const TemporaryFolder folder;
  const std::string file = folder.file("numbers.tfrecord");
  RecordWriter writer(file);
  for (std::uint64_t i = 0; i < kRecords; ++i) writer.write(std::to_string(i));
  writer.close();
  const auto write = [](const Record& record, const Row<Number>& row) {
    row.column(&Number::number) = std::stoi(std::string(record.bytes()));
  };
  const auto batches =
      records(file) | repeat(3) | batch_into<Number>(kRows, write, {.parallelism = 1});
  auto iterator = batches.iterate();
  iterator.next();
  const Checkpoint behind_first = iterator.checkpoint();
  for (const bool is_resumed : {false, true}) {
    for (std::uint64_t step = 1; step < 7; ++step) {
      SCOPED_TRACE(step);
      IterateOptions options;
      if (is_resumed) options.resume = behind_first;
      const auto found = batches.at(step, options);
      const auto numbers = found.element.column(&Number::number);
      ASSERT_EQ(found.rows.size(), kRows);
      for (std::size_t row = 0; row < kRows; ++row) {
        ASSERT_TRUE(found.rows[row].place) << row << ": " << found.rows[row].why();
        const std::uint64_t record = found.rows[row].place->record;
        EXPECT_EQ(record, (step * kRows + row) % kRecords);
        EXPECT_EQ(numbers[row], static_cast<std::int64_t>(record));
      }
    }
  }
}

}  // namespace
}  // namespace infeed::test
