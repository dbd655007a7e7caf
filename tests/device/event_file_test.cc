#include "infeed/device/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>

#include "temporary_folder.h"

namespace infeed {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> records_of(const std::string& file) {
  RecordReader reader(file);
  std::vector<std::string> records;
  for (Record record; reader.next(record);) records.emplace_back(record.bytes());
  return records;
}

TEST(EventFile, StartsWithItsVersionAndCanBeReadWhileItGrows) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.file("logs/train"));
  EXPECT_THAT(events.path(), testing::HasSubstr("/logs/train/events.out.tfevents."));
  std::vector<std::string> records = records_of(events.path());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].size(), 9u + 2u + 13u);
  EXPECT_EQ(records[0].substr(9),
            "\x1a\x0d"
            "brain.Event:2");
  for (int step = 0; step < 3; ++step) {
    events.scalar("loss", step, 0.5);
    EXPECT_EQ(records_of(events.path()).size(), static_cast<std::size_t>(step) + 2);
  }
}

TEST(EventFile, AScalarIsTheseBytes) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  events.scalar_at(1.5, "loss", 300, 0.25);
  const std::string expected =
      "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f"s  // wall_time = 1.5
      "\x10\xac\x02"s                          // step = 300
      "\x2a\x0d"s                              // summary
      "\x0a\x0b"s                              // value
      "\x0a\x04loss"s                          // tag
      "\x15\x00\x00\x80\x3e"s;                 // simple_value = 0.25
  EXPECT_EQ(records_of(events.path()).at(1), expected);
}

TEST(EventFile, TwoWritersNeverShareAFile) {
  const TemporaryFolder folder;
  EventFileWriter first(folder.path()), second(folder.path());
  EXPECT_NE(first.path(), second.path());
  EventFileWriter moved(std::move(first));
  moved.scalar("a", 0, 1);
  EXPECT_EQ(records_of(moved.path()).size(), 2u);
}

TEST(EventFile, AFolderThatCannotBeMadeSaysSo) {
  const TemporaryFolder folder;
  write_whole(folder.file("taken"), "a file");
  try {
    EventFileWriter events(folder.file("taken/logs"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.file(), folder.file("taken/logs"));
    EXPECT_THAT(error.message(), testing::StartsWith("cannot create the folder for event files: "));
  }
}

}  // namespace
}  // namespace infeed
