#include <infeed/records/record_reader.h>
#include <infeed/records/sequence_example_schema.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {
namespace {

struct Clip {
  std::int64_t label = 0;
  std::vector<std::string> frames;
  std::vector<std::array<float, 2>> points;
  std::vector<std::vector<std::int32_t>> tokens;
};

SequenceExampleSchema<Clip> clip_schema() {
  return SequenceExampleSchema<Clip>()
      .context("label", &Clip::label)
      .list("frames", &Clip::frames)
      .list("points", &Clip::points)
      .list("tokens", &Clip::tokens);
}

const Clip kClip = {9, {"one", "", "three"}, {{1, 2}, {3, 4}}, {{1, 2, 3}, {}, {4}}};

/// Returns a SequenceExample with these frames and nothing else.
std::string with_frames(const std::function<void(FeatureListBuilder&)>& fill) {
  SequenceExampleBuilder builder;
  builder.context().integers("label", 1);
  builder.list("points");
  fill(builder.list("frames"));
  return builder.encode();
}

TEST(SequenceExampleSchema, goes_both_ways) {
  const auto schema = clip_schema();
  const Clip clip = schema.parse(schema.encode(kClip));
  EXPECT_EQ(clip.label, 9);
  EXPECT_EQ(clip.frames, kClip.frames);
  EXPECT_EQ(clip.points, kClip.points);
  EXPECT_EQ(clip.tokens, kClip.tokens);
  EXPECT_THAT(schema.names(), ElementsAre("label", "frames", "points", "tokens"));
}

TEST(SequenceExampleSchema, the_bytes_are_sorted_and_an_example_reads_the_context) {
  SequenceExampleBuilder forth, back;
  forth.context().integers("a", 1).bytes("b", "x");
  back.context().bytes("b", "x").integers("a", 1);
  forth.list("l").integers(1);
  forth.list("m").floats(1.5F);
  back.list("m").floats(1.5F);
  back.list("l").integers(1);
  EXPECT_EQ(forth.encode(), back.encode());
  EXPECT_EQ(summarise_example(forth.encode()).size(), 2U);
  back.list("m");
  EXPECT_EQ(error_of([&] { back.encode(); }).message(), "feature list 'm' was given twice");
}

TEST(SequenceExampleSchema, every_kind_of_step) {
  struct Steps {
    std::vector<bool> flags;
    std::vector<std::uint8_t> small;
    std::vector<double> reals;
    std::vector<Record> views;
    std::vector<std::array<std::uint8_t, 2>> pixels;
    std::vector<std::vector<std::uint8_t>> blobs;
    std::vector<std::array<std::string, 2>> pairs;
    std::vector<std::vector<std::string>> words;
    std::vector<std::optional<std::int64_t>> holes;
    std::optional<std::vector<float>> maybe;
  };
  const auto schema = SequenceExampleSchema<Steps>()
                          .list("flags", &Steps::flags)
                          .list("small", &Steps::small)
                          .list("reals", &Steps::reals)
                          .list("views", &Steps::views)
                          .list("pixels", &Steps::pixels)
                          .list("blobs", &Steps::blobs)
                          .list("pairs", &Steps::pairs)
                          .list("words", &Steps::words)
                          .list("holes", &Steps::holes)
                          .list("maybe", &Steps::maybe);
  Steps in;
  in.flags = {true, false};
  in.small = {0, 255};
  in.reals = {0.5, -1};
  in.views = {Record("seen")};
  in.pixels = {{1, 2}, {3, 4}};
  in.blobs = {{1}, {}, {2, 3}};
  in.pairs = {{"a", "b"}};
  in.words = {{}, {"c", "d", "e"}};
  in.holes = {1, std::nullopt, 3};
  for (const bool has_maybe : {false, true}) {
    if (has_maybe) in.maybe.emplace();
    const Steps out = schema.parse(schema.encode(in));
    EXPECT_EQ(out.flags, in.flags);
    EXPECT_EQ(out.small, in.small);
    EXPECT_EQ(out.reals, in.reals);
    ASSERT_EQ(out.views.size(), 1U);
    EXPECT_EQ(out.views[0].bytes(), "seen");
    EXPECT_EQ(out.pixels, in.pixels);
    EXPECT_EQ(out.blobs, in.blobs);
    EXPECT_EQ(out.pairs, in.pairs);
    EXPECT_EQ(out.words, in.words);
    EXPECT_EQ(out.holes, in.holes);
    EXPECT_EQ(out.maybe, in.maybe);
  }
}

TEST(SequenceExampleSchema, what_may_be_missing) {
  struct Loose {
    std::vector<std::int64_t> given = {1};
    std::vector<std::vector<float>> ragged = {{1}};
    std::optional<std::vector<std::string>> maybe = std::vector<std::string>{"x"};
    float weight = 0;
  };
  const auto schema = SequenceExampleSchema<Loose>()
                          .context("weight", &Loose::weight, 1.5F)
                          .list("given", &Loose::given, {.allow_missing = true})
                          .list("ragged", &Loose::ragged)
                          .list("maybe", &Loose::maybe);
  const Loose loose = schema.parse("");
  EXPECT_TRUE(loose.given.empty());
  EXPECT_TRUE(loose.ragged.empty());
  EXPECT_EQ(loose.maybe, std::nullopt);
  EXPECT_EQ(loose.weight, 1.5F);
}

TEST(SequenceExampleSchema, messages_teach) {
  const auto message = [](const std::string& bytes) {
    return error_of([&] { clip_schema().parse(bytes); }).message();
  };
  EXPECT_EQ(message(with_frames([](auto& frames) { frames.bytes("x").integers(3); })),
            "step 1 of feature list 'frames' holds integers, but bytes are wanted");
  EXPECT_EQ(message(with_frames([](auto& frames) {
              frames.bytes("x").bytes("y").bytes(std::vector<std::string>{"a", "b"});
            })),
            "step 2 of feature list 'frames' holds 2 values, but 1 is wanted");
  EXPECT_EQ(message(with_frames([](auto& frames) { frames.nothing(); })),
            "step 0 of feature list 'frames' holds no list of values");
  SequenceExampleBuilder other;
  other.context().integers("label", 1);
  other.list("frame").bytes("x");
  other.list("tokens");
  EXPECT_EQ(message(other.encode()),
            "feature list 'frames' is required but could not be found; the record has the feature "
            "lists 'frame' (1 step of bytes), 'tokens' (0 steps); where it may be missing, say "
            "{.allow_missing = true}");
  EXPECT_EQ(message(ExampleBuilder().integers("label", 1).encode()),
            "feature list 'frames' is required but could not be found; the record has no feature "
            "lists; where it may be missing, say {.allow_missing = true}");
  EXPECT_EQ(message(""),
            "feature 'label' is required but could not be found; the record has no features");
  EXPECT_THAT(message("rubbish"), HasSubstr("the record is not a valid Example"));
  EXPECT_EQ(error_of([] {
              SequenceExampleSchema<Clip>().list("x", &Clip::frames).list("x", &Clip::tokens);
            }).message(),
            "feature list 'x' is given twice, as feature lists 0 and 1 (from 0 on); leave one out, "
            "or give it another name");
}

TEST(SequenceExampleSchema, errors_of_a_record_say_where_it_lies) {
  const TemporaryFolder folder;
  const auto schema = clip_schema();
  const auto file = folder.write(
      "x", test::frame({schema.encode(kClip),
                        with_frames([](FeatureListBuilder& frames) { frames.integers(3); })}));
  RecordReader reader(file);
  Record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(schema.parse(record).frames, kClip.frames);
  ASSERT_TRUE(reader.next(record));
  const Error error = error_of([&] { schema.parse(record); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.record(), 1U);
  EXPECT_EQ(error.offset(), record.offset());
}

TEST(SequenceExampleSchema, rows_are_appended_to_columns_and_an_error_leaves_them) {
  const auto schema = clip_schema();
  RowColumn<std::int64_t> labels;
  RowColumn<std::vector<std::string>> frames;
  RowColumn<std::vector<std::array<float, 2>>> points;
  RowColumn<std::vector<std::vector<std::int32_t>>> tokens;
  const std::array<void*, 4> columns = {&labels, &frames, &points, &tokens};
  schema.append_row(Record(schema.encode(kClip)), 0, columns);
  SequenceExampleBuilder bad;  // fails in the last column
  bad.context().integers("label", 3);
  bad.list("frames").bytes("lost");
  bad.list("points").floats(std::vector<float>{5, 6});
  bad.list("tokens").integers(1).floats(1.0F);
  EXPECT_EQ(error_of([&] { schema.append_row(Record(bad.encode()), 1, columns); }).message(),
            "step 1 of feature list 'tokens' holds floats, but integers are wanted");
  schema.append_row(Record(schema.encode({7, {"four"}, {}, {{5}}})), 1, columns);
  EXPECT_THAT(labels.values.values(), ElementsAre(9, 7));
  EXPECT_THAT(frames.values.values(), ElementsAre("one", "", "three", "four"));
  EXPECT_THAT(frames.row_splits.values(), ElementsAre(0, 3, 4));
  EXPECT_THAT(points.row_splits.values(), ElementsAre(0, 2, 2));
  EXPECT_THAT(tokens.values.values(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(tokens.inner_splits.values(), ElementsAre(0, 3, 3, 4, 5));
  EXPECT_THAT(tokens.row_splits.values(), ElementsAre(0, 3, 4));
  EXPECT_THAT(
      error_of([&] { schema.append_row(Record(), 2, std::span(columns).first(1)); }).message(),
      HasSubstr("1 columns are given, but the schema has 4"));
}

TEST(ExampleSchema, rows_of_a_fixed_length_sequence) {
  struct Track {
    std::vector<std::array<float, 3>> points;
    std::vector<std::array<std::int16_t, 2>> pairs;
  };
  const auto schema =
      ExampleSchema<Track>().feature("points", &Track::points).feature("pairs", &Track::pairs);
  const Track in = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8}}};
  const Track out = schema.parse(schema.encode(in));
  EXPECT_EQ(out.points, in.points);
  EXPECT_EQ(out.pairs, in.pairs);
  EXPECT_TRUE(schema.parse("").points.empty());
  EXPECT_EQ(error_of([&] {
              schema.parse(ExampleBuilder().floats("points", std::array{1.F, 2.F}).encode());
            }).message(),
            "feature 'points' holds 2 values, which is no multiple of the 3 of a row");
}

TEST(SummariseFeatureLists, lists_what_is_there) {
  SequenceExampleBuilder builder;
  builder.list("z");
  builder.list("a").integers(1).integers(std::vector<std::int64_t>{1, 2, 3}).floats(1.0F).nothing();
  const auto lists = summarise_feature_lists(builder.encode());
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].name, "a");
  EXPECT_EQ(lists[0].steps, 4U);
  EXPECT_EQ(lists[0].kind, FeatureKind::integers);
  EXPECT_EQ(lists[1].steps, 0U);
  EXPECT_EQ(lists[1].kind, std::nullopt);
}

}  // namespace
}  // namespace infeed
