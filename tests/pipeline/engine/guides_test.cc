// Runs the code of pipeline/resume.md, embed.md and from_tfdata.md.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/pipeline/testing.h>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

namespace guides {
#include "embed_guide.h"
#include "resume_guide.h"
}  // namespace guides

/// Stands for a kill.
struct Killed {};

TEST(Guides, ATrainingThatIsKilledGoesOn) {
  const TemporaryFolder folder;
  // Described anew for each run, as in another process: a dataset counts its iterations.
  const auto described = [] {
    return range(100'000) | shuffle({.buffer = 100, .seed = 1}) | repeat() | batch(8);
  };
  std::vector<std::int64_t> straight;
  guides::train(described(), folder.file("straight"), 450,
                [&](const auto& batch) { straight.push_back(batch.values()[0]); });
  std::vector<std::int64_t> taken;
  for (const std::size_t killed_at : std::vector<std::size_t>{250, 399, 450}) {
    const auto step = [&](const auto& batch) {
      if (taken.size() == killed_at) throw Killed();
      taken.push_back(batch.values()[0]);
    };
    try {
      guides::train(described(), folder.file("killed"), 450, step);
    } catch (const Killed&) {
      taken.resize(taken.size() / 100 * 100);  // the model is of the last save, too
    }
  }
  EXPECT_EQ(taken, straight);
}

TEST(Guides, ARunThatIsEmbedded) {
  std::stop_source stop;
  const auto numbers = range(1000) | map([](std::int64_t x) {
                         if (x == 7) throw Error(ErrorCode::invalid_argument, "seven");
                         return x;
                       });
  auto iterator = numbers.iterate(guides::options_for(stop.get_token(), Executor::threads(2)));
  std::vector<std::string> said;
  std::int64_t sum = 0;
  guides::train_on_what_can_be_read(
      iterator, [&](std::int64_t x) { sum += x; },
      [&](const char* text) { said.emplace_back(text); });
  EXPECT_EQ(sum, 999 * 500 - 7);
  EXPECT_THAT(said, ::testing::ElementsAre(::testing::HasSubstr("seven")));

  auto stopped = (range(10) | repeat()).iterate(guides::options_for(stop.get_token(), nullptr));
  stop.request_stop();
  EXPECT_THROW(guides::train_on_what_can_be_read(
                   stopped, [](std::int64_t) {}, [](const char*) {}),
               Error);
}

TEST(Guides, AnEventLoop) {
  auto iterator = range(1000).iterate();
  std::int64_t sum = 0;
  pollfd descriptor{iterator.ready_descriptor(), POLLIN, 0};
  do {
    ASSERT_EQ(poll(&descriptor, 1, 60'000), 1);
  } while (guides::take_what_is_ready(iterator, [&](std::int64_t x) { sum += x; }));
  EXPECT_EQ(sum, 999 * 500);
}

TEST(Guides, FromTfData) {
  const TemporaryFolder folder;
  for (int file = 0; file < 2; ++file) {
    RecordWriter writer(folder.file(fmt::format("images.tfrecord-{}", file)));
    for (int i = 0; i < 50; ++i) {
      ExampleBuilder example;
      std::string image(48, '\0');
      for (std::size_t at = 0; at < image.size(); ++at) image[at] = static_cast<char>(at);
      writer.write(example.bytes("image", image).integers("label", 50 * file + i).encode());
    }
    writer.close();
  }
  const InFolder there(folder.path());
#include "from_tfdata_guide.h"
  std::vector<int> of_label(100);
  int turned = 0;
  int count = 0;
  for (const auto& batch : batches.iterate()) {
    EXPECT_EQ(batch.size(), 32);
    for (std::size_t row = 0; row < batch.size(); ++row, ++count) {
      ++of_label.at(static_cast<std::size_t>(batch.column(&Sample::label)[row]));
      const int first = batch.column(&Sample::image)[row][0];
      EXPECT_THAT(first, ::testing::AnyOf(0, 47));
      turned += first == 47 ? 1 : 0;
    }
  }
  EXPECT_EQ(count, 300 / 32 * 32);
  EXPECT_EQ(*std::max_element(of_label.begin(), of_label.end()), 3);
  EXPECT_NEAR(turned, count / 2, 50);
}

}  // namespace
}  // namespace infeed::test
