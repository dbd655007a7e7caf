#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/sequences.h"
#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

struct Sentence {
  std::int64_t number = 0;
  Sequence tokens;
};

SequenceExampleSchema<Sentence> schema() {
  return SequenceExampleSchema<Sentence>()
      .context("number", &Sentence::number)
      .list("tokens", &Sentence::tokens);
}

/// Every 25th has a step of another kind.
std::string sentence_bytes(std::int64_t n) {
  if (n % 25 != 7) return schema().encode({n, sequence_of(n)});
  SequenceExampleBuilder builder;
  builder.context().integers("number", n);
  builder.list("tokens").integers(n).floats(1.0F);
  return builder.encode();
}

std::string write_sentences(const TemporaryFolder& folder, std::int64_t count) {
  RecordWriter writer(folder.file("sentences"));
  for (std::int64_t n = 0; n < count; ++n) writer.write(sentence_bytes(n));
  writer.close();
  return folder.file("sentences");
}

/// Returns the batches of `size` sentences of a file of `count`, each behind the error of its bad
/// rows; `finish` pads.
template <class Finish>
Stream model(std::int64_t count, std::int64_t size, const Finish& finish) {
  Stream stream;
  for (std::int64_t begin = 0; begin < count; begin += size) {
    Rows rows;
    const std::int64_t end = std::min(count, begin + size);
    std::int64_t bad = 0;
    for (std::int64_t n = begin; n < end; ++n) {
      n % 25 == 7 ? void(++bad) : rows.push_back(sequence_of(n));
    }
    const std::string text =
        "step 1 of feature list 'tokens' holds floats, but integers are wanted";
    if (bad == 1) stream.push_back("! " + text);
    if (bad > 1) {
      stream.push_back(fmt::format("! {} of {} rows of a batch failed, the first with: {}", bad,
                                   end - begin, text));
    }
    finish(rows);
    if (!rows.empty()) stream.push_back(show(rows));
  }
  return stream;
}

auto tokens_as_rows() {
  return map([](const auto& batch) { return rows_of(batch.column(&Sentence::tokens)); });
}

TEST(ParseRaggedBatch, PassesTheSuite) {
  const TemporaryFolder folder;
  const std::string file = write_sentences(folder, 130);
  for (const std::int64_t size : {1, 4, 60, 1000}) {
    for (const int parallelism : {1, 3}) {
      SCOPED_TRACE(fmt::format("size {} parallelism {}", size, parallelism));
      run_source_suite(
          [&] {
            return records(file) |
                   parse_ragged_batch(schema(), size, {.parallelism = parallelism}) |
                   tokens_as_rows();
          },
          model(130, size, [](Rows&) {}));
    }
  }
}

TEST(ParsePaddedBatch, PassesTheSuite) {
  const TemporaryFolder folder;
  const std::string file = write_sentences(folder, 130);
  for (const std::int64_t size : {1, 4, 60}) {
    SCOPED_TRACE(size);
    run_source_suite(
        [&] {
          return records(file) |
                 parse_padded_batch(schema(), size, {.parallelism = 2, .padding = -1}) |
                 tokens_as_rows();
        },
        model(130, size, [](Rows& rows) { pad_rows(rows, longest_of(rows), -1); }));
  }
}

TEST(ParseRaggedBatch, gives_what_parse_and_ragged_batch_give) {
  struct Mixed {
    std::vector<std::vector<float>> boxes;
    std::string name;
    std::vector<std::string> words;
    std::vector<std::array<std::int32_t, 2>> pairs;
    std::vector<bool> flags;
  };
  const auto mixed = SequenceExampleSchema<Mixed>()
                         .list("words", &Mixed::words)
                         .list("boxes", &Mixed::boxes)
                         .context("flags", &Mixed::flags)
                         .context("name", &Mixed::name, "nobody")
                         .list("pairs", &Mixed::pairs, {.allow_missing = true});
  std::vector<Record> examples;
  for (int i = 0; i < 11; ++i) {
    const auto n = static_cast<std::size_t>(i);
    Mixed row{std::vector(n % 4, std::vector(n % 3, static_cast<float>(i))), std::to_string(i),
              std::vector(n % 5, std::string(n * 5, 'w')),
              std::vector(n % 2, std::array<std::int32_t, 2>{i, -i}),
              std::vector<bool>(n % 3, true)};
    examples.emplace_back(mixed.encode(row));
  }
  examples.emplace_back(SequenceExampleBuilder().encode());  // has no words
  auto straight = (slices(examples) | parse_ragged_batch(mixed, 4)).iterate();
  examples.pop_back();
  auto by_rows = (slices(examples) | parse(mixed) | ragged_batch(4)).iterate();
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  for (std::size_t size : {4, 4, 3}) {
    if (size == 3) {
      EXPECT_THAT(error_of([&] { straight.next(); }).message(),
                  HasSubstr("feature list 'words' is required but could not be found"));
    }
    const auto a = *straight.next();
    const auto b = *by_rows.next();
    ASSERT_EQ(a.size(), size);
    ASSERT_EQ(b.size(), size);
    EXPECT_TRUE(same(a.column(&Mixed::name), b.column(&Mixed::name)));
    EXPECT_TRUE(same(a.column(&Mixed::words).values(), b.column(&Mixed::words).values()));
    EXPECT_TRUE(same(a.column(&Mixed::words).row_splits(), b.column(&Mixed::words).row_splits()));
    EXPECT_TRUE(same(a.column(&Mixed::pairs).values(), b.column(&Mixed::pairs).values()));
    EXPECT_TRUE(same(a.column(&Mixed::flags).values(), b.column(&Mixed::flags).values()));
    const auto& boxes = a.column(&Mixed::boxes);
    EXPECT_TRUE(same(boxes.values(), b.column(&Mixed::boxes).values()));
    EXPECT_TRUE(same(boxes.inner_splits(), b.column(&Mixed::boxes).inner_splits()));
    EXPECT_TRUE(same(boxes.row_splits(), b.column(&Mixed::boxes).row_splits()));
    EXPECT_GT(a.bytes(), 0U);
  }
  EXPECT_FALSE(straight.next());
}

TEST(ParseRaggedBatch, steps_of_different_lengths_have_splits_of_their_own) {
  struct Boxes {
    std::vector<std::vector<std::int64_t>> boxes;
  };
  const auto boxes = SequenceExampleSchema<Boxes>().list("boxes", &Boxes::boxes);
  const std::vector<Record> examples = {Record(boxes.encode({{{1}, {}, {2, 3}}})),
                                        Record(boxes.encode({{}})),
                                        Record(boxes.encode({{{4, 5}}}))};
  const auto batch = *(slices(examples) | parse_ragged_batch(boxes, 3)).iterate().next();
  const auto& column = batch.column(&Boxes::boxes);
  EXPECT_THAT(column.values(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(column.inner_splits(), ElementsAre(0, 1, 1, 3, 5));
  EXPECT_THAT(column.row_splits(), ElementsAre(0, 3, 3, 4));
  EXPECT_EQ(column.row_size(0), 3U);
  EXPECT_THAT(column.inner(0, 2), ElementsAre(2, 3));
  EXPECT_THAT(column.inner(2, 0), ElementsAre(4, 5));
}

TEST(ParseRaggedBatch, takes_ragged_features_of_examples) {
  struct Grid {
    std::vector<std::vector<float>> rows;
    std::int64_t label = 0;
  };
  const auto grids = ExampleSchema<Grid>()
                         .ragged("values", RowSplits{"splits"}, &Grid::rows)
                         .feature("label", &Grid::label);
  const std::vector<Record> examples = {Record(grids.encode({{{1}, {2, 3}}, 4})),
                                        Record(grids.encode({{{5}}, 6}))};
  const auto batch = *(slices(examples) | parse_ragged_batch(grids, 2)).iterate().next();
  EXPECT_THAT(batch.column(&Grid::rows).values(), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(batch.column(&Grid::rows).inner_splits(), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(batch.column(&Grid::label), ElementsAre(4, 6));
}

TEST(ParsePaddedBatch, takes_examples_too_and_refuses_what_is_longer_than_its_width) {
  const auto examples = ExampleSchema<Sentence>()
                            .feature("number", &Sentence::number)
                            .feature("tokens", &Sentence::tokens);
  std::vector<Record> records;
  for (const std::size_t length : {2, 5, 0}) {
    records.emplace_back(examples.encode({1, Sequence(length, 7)}));
  }
  auto iterator =
      (slices(records) | parse_padded_batch(examples, 3, {.widths = {3}, .padding = -1})).iterate();
  EXPECT_EQ(
      error_of([&] { iterator.next(); }).message(),
      "parse_padded_batch: a sequence has 5 values, but is to be padded to 3; cut it, or make "
      "the width larger");
  const auto batch = *iterator.next();
  EXPECT_THAT(batch.column(&Sentence::tokens).values(), ElementsAre(7, 7, -1, -1, -1, -1));
  EXPECT_THAT(batch.column(&Sentence::tokens).lengths(), ElementsAre(2, 0));
  EXPECT_THAT(batch.column(&Sentence::number), ElementsAre(1, 1));
  EXPECT_FALSE(iterator.next());
}

TEST(ParseRaggedBatch, a_member_without_a_feature_is_refused) {
  const auto half = SequenceExampleSchema<Sentence>().list("tokens", &Sentence::tokens);
  EXPECT_THAT(
      error_of([&] { slices(std::vector<Record>{}) | parse_ragged_batch(half, 2); }).message(),
      HasSubstr("parse_ragged_batch: member 0 of "));
}

}  // namespace
}  // namespace infeed::test
