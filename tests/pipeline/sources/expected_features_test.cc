#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stream.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {

struct Tagged {
  std::vector<std::int64_t> tags;
  std::int64_t label = 0;
};
static std::int64_t value_of(const Tagged& tagged) {
  return 1000 * static_cast<std::int64_t>(tagged.tags.size()) + tagged.label;
}

namespace test {
namespace {

ExampleSchema<Tagged> schema(const std::string& tags = "tags") {
  return ExampleSchema<Tagged>().feature(tags, &Tagged::tags).feature("label", &Tagged::label);
}
ExampleSchema<Tagged> schema_with_default() {
  return ExampleSchema<Tagged>()
      .feature("tags", &Tagged::tags, {})
      .feature("label", &Tagged::label);
}

/// Labels 0, 1, ...; only record number `tagged` has the feature.
std::vector<std::string> examples(std::size_t count, std::optional<std::size_t> tagged,
                                  std::vector<std::int64_t> tags = {1}) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < count; ++i) {
    ExampleBuilder builder;
    builder.integers("label", static_cast<std::int64_t>(i));
    if (tagged == i) builder.integers("tags", std::span<const std::int64_t>(tags));
    list.push_back(builder.encode());
  }
  return list;
}

/// Returns how many elements came before the error, and the error.
template <class T>
std::pair<std::size_t, std::optional<Error>> run_to_error(Iterator<T>& iterator) {
  std::size_t count = 0;
  try {
    while (iterator.next()) ++count;
    return {count, std::nullopt};
  } catch (const Error& error) {
    return {count, error};
  }
}
template <class T>
std::pair<std::size_t, std::optional<Error>> run_to_error(const Dataset<T>& dataset) {
  Iterator<T> iterator = dataset.iterate();
  return run_to_error(iterator);
}

TEST(ExpectedFeatures, AMisspeltVectorEndsThePassBehindAThousandRecords) {
  for (const int parallelism : {1, 3}) {
    SCOPED_TRACE(parallelism);
    const auto dataset = slices(examples(2000, 3)) |
                         parse<Tagged>(schema("tgas"), {.parallelism = parallelism}) | prefetch();
    const auto [count, error] = run_to_error(dataset);
    EXPECT_EQ(count, 1000);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error->message(),
              "parse: feature 'tgas' is in none of the first 1000 records, which would all become "
              "empty vectors; did you mean 'tags'?; the records have the features 'tags', 'label'; "
              "where it may be missing, say so: .feature(\"tgas\", &T::member, {})");
    EXPECT_EQ(error->stage(), "prefetch < parse");
  }
}

TEST(ExpectedFeatures, OneOfTheFirstThousandIsEnough) {
  for (const std::size_t tagged : {0, 998, 999}) {
    EXPECT_EQ(stream_of(slices(examples(2000, tagged)) | parse<Tagged>(schema())).size(), 2000);
  }
  const auto [count, error] = run_to_error(slices(examples(2000, 1000)) | parse<Tagged>(schema()));
  EXPECT_EQ(count, 1000);
  EXPECT_TRUE(error.has_value());
}

TEST(ExpectedFeatures, AShorterPassIsJudgedAtItsEnd) {
  const auto [count, error] = run_to_error(slices(examples(7, {})) | parse<Tagged>(schema()));
  EXPECT_EQ(count, 7);
  ASSERT_TRUE(error.has_value());
  EXPECT_THAT(error->message(),
              AllOf(HasSubstr("first 7 records"), HasSubstr("the records have the feature 'label'"),
                    Not(HasSubstr("did you mean"))));
  EXPECT_EQ(stream_of(slices(std::vector<std::string>{}) | parse<Tagged>(schema())), Stream{});
}

TEST(ExpectedFeatures, WhatMayBeMissingIsNotLookedFor) {
  EXPECT_EQ(stream_of(slices(examples(2000, {})) | parse<Tagged>(schema_with_default())).size(),
            2000);
  EXPECT_TRUE(schema_with_default().expected().empty());
  struct Maybe {
    std::optional<std::vector<float>> values;
    std::array<float, 2> fixed;
    std::vector<std::uint8_t> image;
  };
  EXPECT_TRUE(ExampleSchema<Maybe>()
                  .feature("values", &Maybe::values)
                  .feature("fixed", &Maybe::fixed)
                  .feature("image", &Maybe::image)
                  .expected()
                  .empty())
      << "what a record must have is an error of each record";
}

TEST(ExpectedFeatures, AnEmptyListIsThere) {
  const auto dataset = slices(examples(2000, 4, {})) | parse<Tagged>(schema());
  EXPECT_EQ(stream_of(dataset).size(), 2000);
}

TEST(ExpectedFeatures, RecordsThatAreNoExamplesDoNotCount) {
  std::vector<std::string> list(1500, "not an Example");
  EXPECT_EQ(stream_of(slices(list) | parse<Tagged>(schema())).size(), 1500);
  list.push_back(examples(1, 0)[0]);
  EXPECT_EQ(stream_of(slices(list) | parse<Tagged>(schema())).back(), "1000");
}

TEST(ExpectedFeatures, AResumeEndsAsTheRunBeforeIt) {
  for (const bool behind_others : {false, true}) {
    const auto make = [&](std::optional<std::size_t> tagged) {
      auto input = slices(examples(6000, tagged));
      return (behind_others ? input | take(6000) | prefetch() : input) | parse<Tagged>(schema());
    };
    for (const std::size_t at : {0, 1, 500, 999, 1000}) {
      Iterator<Tagged> iterator = make({}).iterate();
      take_stream(iterator, at);
      Iterator<Tagged> resumed = make({}).iterate({.resume = iterator.checkpoint()});
      const auto [count, error] = run_to_error(resumed);
      EXPECT_EQ(count, 1000 - at);
      EXPECT_TRUE(error.has_value()) << at;
    }
    for (const std::size_t at : {1, 500, 1000, 1001, 3999, 5000}) {
      Iterator<Tagged> iterator = make(5).iterate();
      take_stream(iterator, at);
      Iterator<Tagged> resumed = make(5).iterate({.resume = iterator.checkpoint()});
      EXPECT_EQ(run_to_error(resumed).first, 6000 - at) << "only record 5 has it";
    }
  }
}

/// Only one of five is an Example, so that the thousandth one comes behind 4,000 elements, where nobody
/// looks any more.
TEST(ExpectedFeatures, BehindFourThousandElementsNothingIsJudged) {
  std::vector<std::string> list = examples(8000, {});
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i % 5 != 0) list[i] = "no Example";
  }
  const auto dataset = slices(list) | parse(schema());
  auto straight = dataset.iterate();
  const Stream all = take_stream(straight);
  ASSERT_EQ(all.size(), 8000U) << all.back();
  for (const std::size_t position : {3999U, 4001U, 4600U, 5100U, 7000U}) {
    SCOPED_TRACE(position);
    auto before = dataset.iterate();
    take_stream(before, position);
    auto resumed = dataset.iterate({.resume = before.checkpoint()});
    EXPECT_EQ(take_stream(resumed),
              Stream(all.begin() + static_cast<std::ptrdiff_t>(position), all.end()));
    auto skipped = (dataset | skip(static_cast<std::int64_t>(position))).iterate();
    EXPECT_EQ(take_stream(skipped).size(), 8000 - position);
  }
  auto mixed = (dataset | global_shuffle({.seed = 7})).iterate();
  EXPECT_EQ(take_stream(mixed).size(), 8000U);
}

/// A resume behind the four thousandth element, from where on nobody looks, would go on where the run
/// itself had ended.
TEST(ExpectedFeatures, ThePullThatPassesFourThousandElementsLooksNoFurther) {
  std::vector<std::string> list = examples(5000, {});
  std::fill(list.begin() + 800, list.begin() + 3900, "no Example");
  EXPECT_EQ(stream_of(slices(list) | parse<Tagged>(schema())).size(), 5000);
  // The thousandth Example is the last element that counts.
  list[800] = list[4000];
  std::fill(list.begin() + 801, list.begin() + 3801, "no Example");
  std::copy_n(list.begin() + 4001, 199, list.begin() + 3801);
  const auto [count, error] = run_to_error(slices(list) | parse<Tagged>(schema()) | skip_errors());
  EXPECT_EQ(count, 1000);
  EXPECT_TRUE(error.has_value());
}

/// Another host had seen the feature, which none of the next thousand records has.
TEST(ExpectedFeatures, APassThatOtherHostsBeganIsNotJudged) {
  const auto share = [](std::int64_t count, std::int64_t index) {
    return slices(examples(9000, 3)) | shard({.count = count, .index = index}) |
           parse<Tagged>(schema());
  };
  Iterator<Tagged> before = share(2, 1).iterate();
  take_stream(before, 50);
  for (const std::int64_t index : {0, 1, 2}) {
    SCOPED_TRACE(index);
    const auto dataset = share(3, index);
    Iterator<Tagged> resharded =
        dataset.iterate({.resume = reshard_checkpoint(before.checkpoint(), dataset)});
    const auto [count, error] = run_to_error(resharded);
    EXPECT_EQ(count, (8900 + 2 - index) / 3);
    EXPECT_FALSE(error.has_value());
  }
}

TEST(ExpectedFeatures, PassingOverTheFirstOnesLooksAtThem) {
  const auto skipped = [](std::optional<std::size_t> tagged, std::int64_t count) {
    return run_to_error(slices(examples(9000, tagged)) | parse<Tagged>(schema()) | skip(count));
  };
  for (const std::int64_t count : {999, 1001, 5000}) {
    EXPECT_EQ(skipped(3, count).first, 9000 - count);
    EXPECT_TRUE(skipped({}, count).second.has_value()) << count;
    EXPECT_EQ(skipped({}, count).first, count < 1000 ? 1000 - count : 0);
  }
}

TEST(ExpectedFeatures, AResumeBehindAZipThatAnotherInputEndsIsNotJudgedByWhatTheRunNeverSaw) {
  for (const std::size_t records : {20, 1500}) {
    const auto make = [&] {
      return zip(slices(examples(records, {})) | parse<Tagged>(schema()), range(7)) |
             map([](const std::tuple<Tagged, std::int64_t>& both) { return std::get<1>(both); }) |
             repeat(400);
    };
    for (const std::size_t at : {5, 30, 2000}) {
      SCOPED_TRACE(at);
      auto iterator = make().iterate();
      take_stream(iterator, at);
      auto resumed = make().iterate({.resume = iterator.checkpoint()});
      EXPECT_EQ(run_to_error(resumed).first, 2800 - at);
    }
  }
}

TEST(ExpectedFeatures, EachPassIsJudged) {
  const auto dataset = slices(examples(30, {})) | parse<Tagged>(schema());
  for (int pass = 0; pass < 2; ++pass) EXPECT_TRUE(run_to_error(dataset).second.has_value());
  EXPECT_EQ(stream_of(slices(examples(30, 2)) | parse<Tagged>(schema()) | repeat(3)).size(), 90);
}

TEST(ExpectedFeatures, RandomAccessIsJudgedByTheFirstPositions) {
  const auto shuffled = [](std::optional<std::size_t> tagged) {
    return run_to_error(slices(examples(3000, tagged)) | parse<Tagged>(schema()) |
                        global_shuffle({.seed = 1}));
  };
  EXPECT_EQ(shuffled(700).first, 3000);
  EXPECT_EQ(shuffled({}).first, 0);
  EXPECT_TRUE(shuffled({}).second.has_value());
}

TEST(ExpectedFeatures, HaveNoLineOfTheirOwn) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.file("r"));
  for (const std::string& example : examples(10, 0)) writer.write(example);
  writer.close();
  Iterator<Tagged> iterator = (records(folder.file("r")) | parse<Tagged>(schema())).iterate();
  take_stream(iterator);
  const auto stages = iterator.statistics().stages;
  ASSERT_EQ(stages.size(), 2);
  EXPECT_EQ(stages[1].path, "parse < records");
  EXPECT_EQ(stages[1].elements, 10);
  EXPECT_EQ(iterator.checkpoint().signature.size(), 2);
}

Dataset<Record> as_records(const std::vector<std::string>& list) {
  return slices(list) | map([](const std::string& bytes) { return Record(bytes); });
}

TEST(ExpectedFeatures, HoldForBatches) {
  const auto input = as_records(examples(1500, 3));
  const auto typo = schema("tagz");
  const auto message = [](const auto& dataset) {
    const auto [count, error] = run_to_error(dataset);
    EXPECT_EQ(count, 10);
    return error ? error->message() : std::string();
  };
  EXPECT_THAT(message(input | parse_batch(typo, 100)), HasSubstr("parse_batch: feature 'tagz'"));
  EXPECT_THAT(message(input | parse_ragged_batch(typo, 100)),
              HasSubstr("parse_ragged_batch: feature 'tagz'"));
  EXPECT_THAT(message(input | parse_padded_batch(typo, 100, {.parallelism = 2})),
              HasSubstr("parse_padded_batch: feature 'tagz'"));
  EXPECT_EQ(run_to_error(input | parse_batch(schema(), 100)).first, 15);
}

/// It said "when  had given 999 more elements".
TEST(ExpectedFeatures, AResumeThatFindsTooFewNamesTheStageBefore) {
  const auto dataset = as_records(examples(10, 0)) | parse_padded_batch(schema(), 4);
  auto iterator = dataset.iterate();
  iterator.next();
  Checkpoint checkpoint = iterator.checkpoint();
  ASSERT_THAT(checkpoint.signature.back(), HasSubstr("parse_padded_batch"));
  checkpoint.errors = 1;
  checkpoint.bookmarks = {{.stage = checkpoint.signature.size() - 1, .given = 1, .inputs = {999}}};
  const Error error = error_of([&] { dataset.iterate({.resume = checkpoint}); });
  EXPECT_EQ(error.message(),
            "the checkpoint was taken when map had given 999 more elements, but there are 10 left; "
            "the data has changed since");
  EXPECT_EQ(error.stage(), "parse_padded_batch");
}

TEST(ExpectedFeatures, OfSequenceExamplesAndRaggedFeatures) {
  struct Clip {
    std::vector<float> times;
    std::vector<std::vector<float>> boxes;
  };
  SequenceExampleBuilder builder;
  builder.context().floats("time", 1.0F);
  builder.list("bboxes").floats(2.0F);
  const auto input = slices(std::vector<std::string>{builder.encode()});
  const auto message = [&](const SequenceExampleSchema<Clip>& clip) {
    const auto [count, error] = run_to_error(input | parse<Clip>(clip));
    return error ? error->message() : std::string();
  };
  using Schema = SequenceExampleSchema<Clip>;
  EXPECT_THAT(message(Schema().context("times", &Clip::times)),
              AllOf(HasSubstr("parse: feature 'times' is in none of the first 1 record,"),
                    HasSubstr("the records have the feature 'time' and the feature list 'bboxes'"),
                    HasSubstr(".context(\"times\", &T::member, {})")));
  EXPECT_THAT(message(Schema().list("boxes", &Clip::boxes)),
              AllOf(HasSubstr("feature list 'boxes'"), HasSubstr("did you mean 'bboxes'?"),
                    HasSubstr(".list(\"boxes\", &T::member, {.allow_missing = true})")));
  EXPECT_EQ(message(Schema()
                        .context("times", &Clip::times, {})
                        .list("boxes", &Clip::boxes, {.allow_missing = true})),
            "");
  const auto ragged = ExampleSchema<Clip>().ragged("b", RowLengths{"n"}, &Clip::boxes);
  EXPECT_EQ(ragged.expected().features, std::vector<std::string>{"b"});
  const auto optional = ExampleSchema<Clip>().ragged("b", RowLengths{"n"}, &Clip::boxes, {{1.0F}});
  EXPECT_TRUE(optional.expected().empty());
  EXPECT_EQ(optional.parse(builder.encode()).boxes, (std::vector<std::vector<float>>{{1.0F}}));
}

}  // namespace
}  // namespace test
}  // namespace infeed
