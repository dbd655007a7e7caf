#include <array>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

struct Sample {
  std::array<std::uint8_t, 16> image{};
  std::int64_t label = 0;
};
std::int64_t value_of(const Sample& sample) {
  for (const std::uint8_t pixel : sample.image) {
    EXPECT_EQ(pixel, static_cast<std::uint8_t>(sample.label));
  }
  return sample.label;
}

ExampleSchema<Sample> schema() {
  return ExampleSchema<Sample>().feature("image", &Sample::image).feature("label", &Sample::label);
}

Sample sample_of(std::int64_t label) {
  Sample sample{.image = {}, .label = label};
  sample.image.fill(static_cast<std::uint8_t>(label));
  return sample;
}

std::string write_samples(const TemporaryFolder& folder, std::int64_t count) {
  RecordWriter writer(folder.file("samples"));
  for (std::int64_t i = 0; i < count; ++i) {
    writer.write(i % 50 == 7 ? ExampleBuilder().integers("label", std::array{i}).encode()
                             : schema().encode(sample_of(i)));
  }
  writer.close();
  return folder.file("samples");
}

TEST(Parse, PassesTheSuite) {
  const TemporaryFolder folder;
  const std::string file = write_samples(folder, 200);
  Iterator<Sample> iterator = (records(file) | parse<Sample>(schema())).iterate();
  Stream expected = take_stream(iterator, 7);
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.record(), 7);
  EXPECT_THAT(error.message(), HasSubstr("feature 'image' is required"));
  expected.clear();
  for (std::int64_t i = 0; i < 200; ++i) {
    expected.push_back(i % 50 == 7 ? "! " + error.message() : std::to_string(i));
  }
  for (const int parallelism : {1, 3, autotune}) {
    SCOPED_TRACE(parallelism);
    run_source_suite(
        [&] { return records(file) | parse<Sample>(schema(), {.parallelism = parallelism}); },
        expected);
  }
}

TEST(Parse, TakesSerialisedExamplesInStrings) {
  std::vector<std::string> examples{schema().encode(sample_of(3)), "not an Example",
                                    schema().encode(sample_of(5))};
  const Stream stream = stream_of(slices(std::move(examples)) | parse<Sample>(schema()));
  ASSERT_EQ(stream.size(), 3);
  EXPECT_EQ(stream[0], "3");
  EXPECT_TRUE(stream[1].starts_with("! "));
  EXPECT_EQ(stream[2], "5");
}

TEST(Parse, ACheckpointIsBoundToTheFeatures) {
  const auto samples = slices({schema().encode(sample_of(1)), schema().encode(sample_of(2))});
  Iterator<Sample> iterator = (samples | parse<Sample>(schema())).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(checkpoint.signature.back(), "parse(image, label)");
  const auto only_label = ExampleSchema<Sample>().feature("label", &Sample::label);
  const Error error =
      error_of([&] { (samples | parse<Sample>(only_label)).iterate({.resume = checkpoint}); });
  EXPECT_THAT(error.message(), HasSubstr("parse(label)"));
}

TEST(Parse, MembersOfTypeRecordPointIntoTheBlock) {
  struct View {
    Record image;
  };
  const TemporaryFolder folder;
  const std::string file = write_samples(folder, 3);
  const auto views =
      records(file) | parse<View>(ExampleSchema<View>().feature("image", &View::image));
  std::int64_t label = 0;
  for (const View& view : views.iterate()) {
    EXPECT_EQ(view.image.size(), 16);
    EXPECT_EQ(view.image.bytes()[0], static_cast<char>(label++));
    EXPECT_EQ(view.image.file(), file);
  }
  EXPECT_EQ(label, 3);
}

}  // namespace
}  // namespace infeed::test
