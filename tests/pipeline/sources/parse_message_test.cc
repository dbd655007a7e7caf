#include <clicks.pb.h>
#include <lite_click.pb.h>
#include <orders.pb.h>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// The suite compares these numbers; it finds the function in the namespace of its argument.
namespace shop {
inline std::int64_t value_of(const Click& click) {
  EXPECT_EQ(click.user().name(), "user " + std::to_string(click.id()));
  return click.id();
}
}  // namespace shop

namespace infeed::test {
namespace {

shop::Click click_of(std::int64_t id) {
  shop::Click click;
  click.set_id(id);
  click.mutable_user()->set_name("user " + std::to_string(id));
  for (std::int64_t i = 0; i < id % 4; ++i) click.add_items()->set_price(0.5);
  return click;
}

/// Every fiftieth record from 7 on is cut inside the name.
std::string write_clicks(const TemporaryFolder& folder, std::int64_t count) {
  RecordWriter writer(folder.file("clicks"));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string bytes = click_of(i).SerializeAsString();
    writer.write(i % 50 == 7 ? bytes.substr(0, 6) : bytes);
  }
  writer.close();
  return folder.file("clicks");
}

TEST(ParseMessage, PassesTheSuite) {
  const TemporaryFolder folder;
  const std::string file = write_clicks(folder, 120);
  auto iterator = (records(file) | parse_message<shop::Click>()).iterate();
  take_stream(iterator, 7);
  const Error error = error_of([&] { iterator.next(); });
  Stream expected;
  for (std::int64_t i = 0; i < 120; ++i) {
    expected.push_back(i % 50 == 7 ? "! " + error.message() : std::to_string(i));
  }
  for (const int parallelism : {1, 3, autotune}) {
    SCOPED_TRACE(parallelism);
    run_source_suite(
        [&] { return records(file) | parse_message<shop::Click>({.parallelism = parallelism}); },
        expected);
  }
}

TEST(ParseMessage, AnErrorNamesFileOffsetAndRecord) {
  const TemporaryFolder folder;
  const std::string file = write_clicks(folder, 10);
  std::uint64_t offset = 0;
  for (const Record& record : records(file).iterate()) {
    if (record.number() == 7) offset = record.offset().value_or(0);
  }
  for (const int parallelism : {1, 3}) {
    auto iterator =
        (records(file) | parse_message<shop::Click>({.parallelism = parallelism})).iterate();
    for (int i = 0; i < 7; ++i) iterator.next();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.message(),
              "6 bytes are no shop.Click: the field at byte 2 of them is cut, or not in "
              "protobuf's wire format");
    EXPECT_EQ(error.file(), file);
    EXPECT_EQ(error.record(), 7);
    EXPECT_EQ(error.offset(), offset);
    EXPECT_EQ(iterator.next()->id(), 8);
  }
  std::int64_t count = 0;
  for (const shop::Click& click :
       (records(file) | parse_message<shop::Click>() | skip_errors()).iterate()) {
    EXPECT_NE(click.id(), 7);
    ++count;
  }
  EXPECT_EQ(count, 9);
}

TEST(ParseMessage, TellsDamageInsideAMessageFromItsOwn) {
  std::string bytes = click_of(3).SerializeAsString();
  // The user's name claims one byte more than the user has.
  bytes[5] = static_cast<char>(bytes[5] + 1);
  auto iterator =
      (slices(std::vector<std::string>{bytes}) | parse_message<shop::Click>()).iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(std::string(error.message()), HasSubstr("a message inside is not"));
  EXPECT_FALSE(error.record());
}

TEST(ParseMessage, AnEmptyRecordHasAllDefaults) {
  auto iterator = (slices(std::vector<std::string>{""}) | parse_message<shop::Click>()).iterate();
  EXPECT_EQ(iterator.next()->ByteSizeLong(), 0);
  EXPECT_FALSE(iterator.next());
}

TEST(ParseMessage, MissingRequiredFieldsAreNamed) {
  shop::Order order;
  order.set_count(2);
  const auto orders = slices(std::vector<std::string>{order.SerializePartialAsString()});
  auto iterator = (orders | parse_message<shop::Order>()).iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "a shop.Order lacks what its schema requires: id");
}

TEST(ParseMessage, TakesClassesOfTheLiteRuntime) {
  shop::LiteClick click;
  click.set_id(5);
  click.set_query("shoes");
  const auto bytes = slices(std::vector<std::string>{click.SerializeAsString(), "\x12"});
  auto iterator = (bytes | parse_message<shop::LiteClick>()).iterate();
  EXPECT_EQ(iterator.next()->query(), "shoes");
  EXPECT_THAT(std::string(error_of([&] { iterator.next(); }).message()),
              HasSubstr("1 bytes are no shop.LiteClick: the field at byte 0"));
  EXPECT_EQ(Payload<shop::LiteClick>::bytes(click), click.ByteSizeLong());
}

TEST(ParseMessage, ACheckpointIsBoundToTheType) {
  const auto bytes = slices(std::vector<std::string>{"", ""});
  auto iterator = (bytes | parse_message<shop::Click>()).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(checkpoint.signature.back(), "parse_message(shop.Click)");
  const Error error =
      error_of([&] { (bytes | parse_message<shop::User>()).iterate({.resume = checkpoint}); });
  EXPECT_THAT(std::string(error.message()), HasSubstr("parse_message(shop.User)"));
}

TEST(ParseMessage, AMessageCountsWhatItOwns) {
  shop::Click click = click_of(3);
  const std::size_t before = Payload<shop::Click>::bytes(click);
  click.set_picture(std::string(100'000, 'x'));
  EXPECT_GE(Payload<shop::Click>::bytes(click), before + 100'000);
  EXPECT_LE(Payload<shop::Click>::bytes(click), before + 110'000);
}

TEST(ParseMessage, MessagesAreWrittenToFileCaches) {
  const TemporaryFolder folder;
  const auto clicks = records(write_clicks(folder, 60)) | parse_message<shop::Click>() |
                      skip_errors() | cache({.path = folder.file("cache")});
  const Stream first = stream_of(clicks);
  EXPECT_EQ(first.size(), 58);
  EXPECT_EQ(stream_of(clicks), first);
}

}  // namespace
}  // namespace infeed::test
