#include <fmt/format.h>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class LeaveOut : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int file = 0; file < 2; ++file) {
      files_.push_back(folder_.file(fmt::format("{}.tfrecord", file)));
      RecordWriter writer(files_.back());
      for (int i = 0; i < 100; ++i) writer.write(fmt::format("{}/{}", file, i));
      writer.close();
    }
  }

  auto rows(std::vector<RecordPlace> left_out) const {
    return records(files_) | leave_out(std::move(left_out), {.instead = "blank"}) |
           shuffle({.buffer = 50, .seed = 1}) |
           map([](const Record& record) { return std::string(record.bytes()); });
  }

  TemporaryFolder folder_;
  std::vector<std::string> files_;
};

TEST_F(LeaveOut, Suite) {
  Stream expected;
  for (int file = 0; file < 2; ++file) {
    for (int i = 0; i < 100; ++i)
      expected.push_back(
          fmt::format("{}", file == 1 && i >= 20 && i < 25 ? 9000 : 1000 * file + i));
  }
  run_source_suite(
      [&] {
        return records(files_) |
               leave_out({{.file = files_[1], .record = 20, .count = 5}}, {.instead = "9/0"}) |
               map([](const Record& record) {
                 const std::string text(record.bytes());
                 return std::int64_t{1000} * (text[0] - '0') + std::stoll(text.substr(2));
               });
      },
      expected);
}

/// A run goes on without some rows, and all others keep their places.
TEST_F(LeaveOut, KeepsThePlacesOfAllOthersFromACheckpointOn) {
  const std::vector<std::string> whole = rows({}).collect();
  auto run = rows({}).iterate();
  for (int i = 0; i < 60; ++i) run.next();
  const auto found = rows({}).at(77, {.resume = run.checkpoint()});
  ASSERT_TRUE(found.rows[0].place) << found.rows[0].why();
  std::vector<std::string> expected(whole.begin() + 60, whole.end());
  ASSERT_EQ(expected[17], found.element);
  expected[17] = "blank";
  const auto rest = rows({*found.rows[0].place}).collect({.resume = run.checkpoint()});
  EXPECT_EQ(rest, expected);
}

TEST_F(LeaveOut, ListsThatCantBeAreRefused) {
  const auto message = [&](std::uint64_t count) {
    return error_of([&] { rows({{.file = "a", .record = 3, .count = count}}); }).message();
  };
  EXPECT_THAT(message(0), HasSubstr("a has 0 records from record 3 on; give 1 or more"));
  EXPECT_THAT(message(~std::uint64_t{0}), HasSubstr("at most 1000000 in all"));
}

}  // namespace
}  // namespace infeed::test
