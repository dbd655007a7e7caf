#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

Stream values_of(const Slots& in) {
  Stream stream;
  for (const Slot& slot : in) {
    if (!slot.fails) stream.push_back(show(slot));
  }
  return stream;
}

/// Returns the code of a test source's errors.
std::string code_of_broken() {
  Iterator<std::int64_t> iterator = failing_range(1, 0).iterate();
  return std::string(to_string(error_of([&] { iterator.next(); }).code()));
}

std::string only_errors(const Slots& in, const std::string& code) {
  return "!! skip_errors: all of the first " + std::to_string(in.size()) +
         " elements failed, and nothing is left; the last one: " + code + ": " +
         message_of_broken(in.back().value);
}

TEST(SkipErrors, PassesTheSuite) {
  const std::string code = code_of_broken();
  run_stage_suite([](auto dataset) { return dataset | skip_errors(); },
                  [&](const Slots& in) {
                    Stream stream = values_of(in);
                    if (stream.empty() && !in.empty()) stream.push_back(only_errors(in, code));
                    return stream;
                  });
}

TEST(SkipErrors, PassesTheSuiteWithACount) {
  const std::string code = code_of_broken();
  run_stage_suite_on<std::int64_t>(
      [](auto dataset) { return dataset | skip_errors({.count_max = 2}); },
      [&](const Slots& in) {
        Stream stream;
        std::size_t errors = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (!in[i].fails) {
            stream.push_back(show(in[i]));
          } else if (++errors > 2) {
            stream.push_back(
                "!! skip_errors: 3 of " + std::to_string(i + 1) +
                " elements failed, more than is allowed (count_max 2); the last one: " + code +
                ": " + message_of_broken(in[i].value));
            return stream;
          }
        }
        if (stream.empty() && !in.empty()) stream.push_back(only_errors(in, code));
        return stream;
      });
}

/// 0 .. count-1, of which those with fails(i) throw.
template <class Fails>
auto failing(std::int64_t count, Fails fails) {
  return range(count) | map([fails](std::int64_t x) {
           if (fails(x)) {
             throw Error(ErrorCode::data_loss, "no " + std::to_string(x))
                 .at_file("shard \"7\"")
                 .at_offset(static_cast<std::uint64_t>(100 * x))
                 .at_record(static_cast<std::uint64_t>(x));
           }
           return x;
         });
}

TEST(SkipErrors, TooLargeAShareEndsThePass) {
  const auto tenth = failing(5000, [](std::int64_t x) { return x % 10 == 9; });
  Iterator<std::int64_t> iterator =
      (tenth | skip_errors({.share_max = 0.05, .share_after = 200})).iterate();
  EXPECT_EQ(take_stream(iterator, 180).size(), 180);
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message(),
            "skip_errors: 20 of 200 elements failed, more than is allowed (share_max 0.05); the "
            "last one: data_loss: no 199");
  EXPECT_EQ(error.file(), "shard \"7\"");
  EXPECT_EQ(error.offset(), 19900);
  EXPECT_EQ(error.record(), 199);
  EXPECT_TRUE(error.is_terminal());
  EXPECT_EQ(error_of([&] { iterator.next(); }).message(), error.message());
}

TEST(SkipErrors, AShareIsJudgedAtTheEndHoweverShortThePass) {
  const auto few = failing(10, [](std::int64_t x) { return x == 4; });
  const Stream stream = stream_of(few | skip_errors({.share_max = 0.05}));
  ASSERT_EQ(stream.size(), 10);
  EXPECT_THAT(stream.back(), StartsWith("!! skip_errors: 1 of 10 elements failed"));
  EXPECT_EQ(stream_of(few | skip_errors({.share_max = 0.1})).size(), 9);
}

TEST(SkipErrors, CountsEachPassAnew) {
  const auto two = failing(10, [](std::int64_t x) { return x > 7; });
  const auto make = [&] { return two | skip_errors({.count_max = 2}) | repeat(3); };
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 24; ++i) expected.push_back(i % 8);
  run_source_suite(make, numbers(expected));
}

TEST(SkipErrors, WritesTheQuarantineFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.jsonl", "{\"from\": \"before\"}\n");
  const auto dataset = failing(6, [](std::int64_t x) { return x % 3 == 1; }) |
                       shuffle({.buffer = 6, .seed = 1}) | skip_errors({.quarantine_file = file}) |
                       repeat(4);
  EXPECT_EQ(stream_of(dataset).size(), 16);
  EXPECT_EQ(stream_of(dataset).size(), 16);
  std::istringstream lines(read_whole(file));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 3) << "each error once";
  EXPECT_EQ(all[0], "{\"from\": \"before\"}");
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all[0],
              StartsWith("{\"code\": \"data_loss\", \"message\": \"no 1\", \"stage\": \"repeat < "
                         "skip_errors < shuffle < map\", \"file\": \"shard \\\"7\\\"\", "
                         "\"offset\": 100, \"record\": 1, \"position\": "));
}

TEST(SkipErrors, AQuarantineThatCannotBeWrittenEndsThePass) {
  const TemporaryFolder folder;
  const auto dataset = failing(6, [](std::int64_t x) { return x == 3; }) |
                       skip_errors({.quarantine_file = folder.file("absent/bad.jsonl")});
  const Stream stream = stream_of(dataset);
  ASSERT_EQ(stream.size(), 4);
  EXPECT_THAT(stream[3], HasSubstr("the quarantine of skip_errors: cannot create: folder '" +
                                   folder.file("absent") + "' does not exist"));
}

TEST(SkipErrors, TellsTheUser) {
  std::vector<std::pair<std::uint64_t, std::string>> told;
  const auto dataset =
      failing(9, [](std::int64_t x) { return x % 4 == 2; }) |
      skip_errors({.on_error = [&told](const Error& error, std::uint64_t position) {
        told.emplace_back(position, error.message());
      }});
  EXPECT_EQ(stream_of(dataset).size(), 7);
  EXPECT_EQ(told, (std::vector<std::pair<std::uint64_t, std::string>>{{2, "no 2"}, {6, "no 6"}}));
  const auto stops = failing(9, [](std::int64_t x) { return x % 4 == 2; }) |
                     skip_errors({.on_error = [](const Error&, std::uint64_t) {
                       throw std::runtime_error("enough");
                     }});
  EXPECT_EQ(stream_of(stops), (Stream{"0", "1", "!! enough"}));
}

TEST(SkipErrors, RefusesAnImpossibleShare) {
  const Error error = error_of([] { range(1) | skip_errors({.share_max = 2}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "skip_errors: share_max is 2; give a share of all elements, 0 to 1");
}

}  // namespace
}  // namespace infeed::test
