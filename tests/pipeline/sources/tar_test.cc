#include "infeed/pipeline/tar.h"

#include <fmt/format.h>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

static_assert(detail::kHasPayload<TarSample>, "a memory limit counts what it holds");
static_assert(kHasElementCodec<TarSample>, "a file cache can write it");

using test::tar_of;

class TarSource : public ::testing::Test {
 protected:
  static std::string samples(int first, int count) {
    std::vector<std::pair<std::string, std::string>> members;
    for (int i = first; i < first + count; ++i) {
      members.emplace_back(fmt::format("s/{}.txt", i), std::to_string(i));
      // Some are larger than one read.
      members.emplace_back(fmt::format("s/{}.bin", i), std::string(i % 7 == 3 ? 300'000 : 90, 'b'));
    }
    return tar_of(members);
  }
  static std::int64_t value_of_sample(const TarSample& sample) {
    EXPECT_NE(sample.find("bin"), nullptr);
    EXPECT_EQ(sample.find("bin")->bytes().find_first_not_of('b'), std::string_view::npos);
    const auto number = std::stoll(std::string(sample.find("txt")->bytes()));
    EXPECT_EQ(sample.key, fmt::format("s/{}", number));
    return number;
  }
  Dataset<std::int64_t> values(TarSourceOptions options = {}) const {
    return tar(folder_.file("*.tar*"), std::move(options)) | map(&value_of_sample);
  }
  static Stream counted(std::int64_t count) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i;
    return numbers(values);
  }

  const TemporaryFolder folder_;
};

TEST_F(TarSource, PassesTheSuite) {
  folder_.write("0.tar", samples(0, 20));
  folder_.write("1.tar.gz", gzip(samples(20, 20)));
  folder_.write("2.tar", samples(40, 20));
  EXPECT_TRUE(values().cardinality().is_unknown());
  run_source_suite([&] { return values(); }, counted(60));
}

TEST_F(TarSource, PassesTheSuiteWithErrors) {
  const std::string twice = tar_of({{"s/5.txt", "5"}, {"s/5.bin", "b"}, {"s/5.bin", "b"}});
  folder_.write("0.tar", samples(0, 5));
  folder_.write("1.tar", twice.substr(0, twice.size() - 1024) + samples(6, 4));
  folder_.write("2.tar", samples(10, 5).substr(0, 9000));
  folder_.write("3.tar", std::string(5000, 'x'));
  folder_.write("4.tar.gz", gzip(samples(20, 5)));
  const std::string packed = read_whole(folder_.file("4.tar.gz"));
  folder_.write("4.tar.gz", packed.substr(0, packed.size() / 2));
  folder_.write("5.tar", samples(30, 5));
  folder_.write("6.tar", tar_of({{"s/35.txt", "35"},
                                 {"s/35.bin", "b"},
                                 {"s/36.txt", "36"},
                                 {"s/36.bin", "b"},
                                 {"s/35.x", ""}}));
  const auto make = [&] { return values(); };
  const Stream all = stream_of(make());
  EXPECT_THAT(all, Contains(HasSubstr("the member 's/5.bin' comes twice in one sample")));
  EXPECT_THAT(all, Contains(HasSubstr("the tar file is cut")));
  EXPECT_THAT(all, Contains(HasSubstr("this is no tar file")));
  EXPECT_THAT(all, Contains("34"));
  EXPECT_THAT(all, Contains(HasSubstr("'s/35.x' belongs to the sample 's/35'")));
  run_source_suite(make, all);
  run_source_suite([&] { return make() | skip_errors(); }, stream_of(make() | skip_errors()));
}

TEST_F(TarSource, WhatIsLeftOutIsCounted) {
  folder_.write("0.tar", tar_of({{"s/._0.txt", "fork"},
                                 {"s/0.TXT", "0"},
                                 {"s/._0.bin", "fork"},
                                 {"s/0.bin", "b"},
                                 {"README", "text"}}));
  folder_.write("1.tar", tar_of({{".DS_Store", "x"}, {"s/1.txt", "1"}, {"s/1.bin", "b"}}));
  const auto make = [&] { return values(); };
  run_source_suite(make, counted(2));
  auto iterator = make().iterate();
  while (iterator.next()) {
  }
  const PipelineStatistics statistics = iterator.statistics();
  EXPECT_EQ(statistics.stages.back().count("hidden_members"), 3U);
  EXPECT_EQ(statistics.stages.back().count("unnamed_members"), 1U);
  EXPECT_EQ(statistics.stages.back().count("special_members"), 0U);
  EXPECT_THAT(statistics.table(),
              HasSubstr("members left out by tar: 3 hidden, 1 without an extension\n"));
}

TEST_F(TarSource, ALargeSampleBehindSmallOnesIsCounted) {
  constexpr std::size_t kLarge = 1'000'000;
  for (int small = 1; small < 40; ++small) {
    std::vector<std::pair<std::string, std::string>> members;
    for (int i = 0; i < 40; ++i) {
      members.emplace_back(fmt::format("s/{}.bin", i), std::string(i == small ? kLarge : 90, 'b'));
    }
    folder_.write("0.tar", tar_of(members));
    // As in generate_test.cc: a thread that lost its core hands over before the sample.
    std::uint64_t peak_bytes = 0;
    for (int run = 0; run < 5 && peak_bytes < kLarge; ++run) {
      auto iterator = tar({folder_.file("0.tar")}).iterate();
      while (iterator.next()) {
      }
      peak_bytes = iterator.memory().peak_bytes();
    }
    EXPECT_GE(peak_bytes, kLarge) << small << " small ones before it";
  }
}

TEST_F(TarSource, SeveralAtOnce) {
  for (int f = 0; f < 3; ++f) folder_.write(fmt::format("{}.tar", f), samples(10 * f, 10));
  Stream found = stream_of(
      files(folder_.file("*.tar")) |
      interleave([](const std::string& file) { return tar({file}); }, {.cycle_length = 3}) |
      map(&value_of_sample));
  EXPECT_EQ(found.size(), 30);
  EXPECT_EQ(found[1], "10");
  EXPECT_EQ(error_of([&] { tar(folder_.file("gone-*")); }).code(), ErrorCode::not_found);
  EXPECT_THAT(error_of([&] { tar({"x"}, {.format = {.member_bytes_max = -1}}); }).message(),
              HasSubstr("member_bytes_max"));
}

}  // namespace
}  // namespace infeed::test
