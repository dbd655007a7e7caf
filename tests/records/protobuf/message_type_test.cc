#include "infeed/protobuf/message_type.h"

#include <clicks.pb.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <orders.pb.h>
#include <random>
#include <string>

#include "infeed/records/file.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

const std::string kShop = INFEED_TEST_DESCRIPTOR_SET;

class MessageTypeTest : public ::testing::Test {
 protected:
  std::string write(const google::protobuf::FileDescriptorSet& set) const {
    return write(set.SerializeAsString());
  }
  std::string write(const std::string& bytes) const { return folder_.write("set.pb", bytes); }
  static google::protobuf::FileDescriptorSet shop() {
    google::protobuf::FileDescriptorSet set;
    EXPECT_TRUE(set.ParseFromString(read_file(kShop)));
    return set;
  }

  const TemporaryFolder folder_;
};

TEST_F(MessageTypeTest, PrintsWhatAMessageHolds) {
  shop::Click click;
  click.set_id(7);
  click.set_query("gr\xc3\xbcne Schuhe\n");
  click.mutable_user()->set_name("Ada");
  click.add_items()->set_price(0.5);
  click.set_kind(shop::PURCHASE);
  click.add_tokens(1);
  click.add_tokens(2);
  click.mutable_time()->set_seconds(9);
  const MessageType type(kShop, "shop.Click");
  EXPECT_EQ(type.name(), "shop.Click");
  EXPECT_EQ(type.text(click.SerializeAsString()),
            "id: 7\n"
            "query: \"gr\xc3\xbcne Schuhe\\n\"\n"
            "user {\n  name: \"Ada\"\n}\n"
            "items {\n  price: 0.5\n}\n"
            "kind: PURCHASE\n"
            "tokens: [1, 2]\n"
            "time {\n  seconds: 9\n}\n");
  click.Clear();
  click.set_query(std::string(5'000, 'x'));
  EXPECT_LE(type.text(click.SerializeAsString(), 100).size(), 200);
  for (const std::size_t no_limit : {std::size_t{0}, SIZE_MAX}) {
    EXPECT_EQ(type.text(click.SerializeAsString(), no_limit).size(), 5'000 + 10);
  }
  EXPECT_EQ(type.text(""), "");
}

TEST_F(MessageTypeTest, NoMemoryOfTheMessageBefore) {
  shop::Click click;
  click.set_query("shoes");
  click.add_items()->set_sku("a");
  const MessageType type(kShop, "shop.Click");
  type.check(click.SerializeAsString());
  EXPECT_EQ(type.text(""), "");
}

TEST_F(MessageTypeTest, BytesThatAreNoSuchMessage) {
  const MessageType click(kShop, "shop.Click");
  const Error cut = error_of([&] { click.check("\x08\x01\x12\x05shoe"); });
  EXPECT_EQ(cut.code(), ErrorCode::data_loss);
  EXPECT_THAT(cut.message(), HasSubstr("8 bytes are no shop.Click: the field at byte 2"));
  const MessageType order(kShop, "shop.Order");
  shop::Order whole;
  whole.set_id(1);
  order.check(whole.SerializeAsString());
  const Error lacking = error_of([&] { order.text("\x10\x01"); });
  EXPECT_EQ(lacking.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(lacking.message(), "a shop.Order lacks what its schema requires: id");
}

TEST_F(MessageTypeTest, AnUnknownTypeIsAnErrorWithTheNearestNames) {
  const Error error = error_of([] { MessageType(kShop, "shop.LiteClack"); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.file(), kShop);
  EXPECT_THAT(error.message(), HasSubstr("no message 'shop.LiteClack'; did you mean "
                                         "'shop.LiteClick'?"));
}

TEST_F(MessageTypeTest, WithoutANameTheOnlyMessageOfTheLastFileIsTaken) {
  EXPECT_EQ(MessageType(kShop).name(), "shop.LiteClick");
  google::protobuf::FileDescriptorSet set = shop();
  ASSERT_EQ(set.file(1).name(), "clicks.proto");
  set.mutable_file()->DeleteSubrange(2, set.file_size() - 2);
  const std::string file = write(set);
  EXPECT_EQ(error_of([&] { MessageType{file}; }).message(),
            "clicks.proto has several messages, so a name must be given: 'shop.User', 'shop.Item', "
            "'shop.Click'")
      << "and not that of a map's entries";
  set.mutable_file(1)->clear_message_type();
  write(set);
  EXPECT_THAT(error_of([&] { MessageType{file}; }).message(), HasSubstr("has no messages"));
  EXPECT_EQ(error_of([&] { MessageType(file, "shop.Click"); }).message(),
            "the descriptor set has no message 'shop.Click'; clicks.proto has none");
}

TEST_F(MessageTypeTest, FilesThatAreNoUsableDescriptorSet) {
  EXPECT_EQ(error_of([&] { MessageType(folder_.file("none")); }).code(), ErrorCode::not_found);
  for (const std::string& bytes : {std::string(), std::string("syntax = \"proto3\";\n")}) {
    const std::string file = write(bytes);
    const Error error = error_of([&] { MessageType{file}; });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.file(), file);
    EXPECT_THAT(error.message(), HasSubstr("the file is no descriptor set"));
  }
  google::protobuf::FileDescriptorSet set = shop();
  set.mutable_file()->DeleteSubrange(0, 1);
  std::string file = write(set);
  EXPECT_THAT(error_of([&] { MessageType(file, "shop.Click"); }).message(),
              AllOf(HasSubstr("clicks.proto imports google/protobuf/timestamp.proto"),
                    HasSubstr("--include_imports")));
  set = shop();
  set.mutable_file(1)->mutable_message_type(0)->mutable_field(0)->set_type_name(".shop.Nothing");
  write(set);
  EXPECT_THAT(error_of([&] { MessageType(file, "shop.Click"); }).message(),
              HasSubstr("holds a schema that protobuf refuses: clicks.proto: shop.User.id"));
}

/// Whatever bytes come, it ends in order.
TEST_F(MessageTypeTest, DamagedSetsAndMessages) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  std::mt19937 random(3);
  const auto damaged = [&random](std::string bytes) {
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    return bytes;
  };
  const std::string whole = read_file(kShop);
  shop::Click click;
  click.mutable_user()->add_tastes(2);
  click.add_items()->add_colours("red");
  click.mutable_before()->mutable_before()->set_id(3);
  (*click.mutable_scores())["a"] = 1;
  int taken = 0;
  for (int i = 0; i < 200; ++i) {
    try {
      MessageType(write(damaged(whole)), "shop.Click");
      ++taken;
    } catch (const Error& error) {
      EXPECT_THAT(error.code(), ::testing::AnyOf(ErrorCode::data_loss, ErrorCode::not_found,
                                                 ErrorCode::invalid_argument));
    }
  }
  EXPECT_GT(taken, 0);
  const MessageType type(kShop, "shop.Click");
  int failed = 0;
  for (int i = 0; i < 1'000; ++i) {
    try {
      type.text(damaged(click.SerializeAsString()));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data_loss);
      ++failed;
    }
  }
  EXPECT_GT(failed, 0);
}

TEST_F(MessageTypeTest, OfSeveralProblemsTheFirstIsTold) {
  google::protobuf::FileDescriptorSet set = shop();
  for (const int message : {0, 1}) {
    set.mutable_file(1)->mutable_message_type(message)->mutable_field(0)->set_type_name(
        ".shop.Nothing");
  }
  const std::string file = write(set);
  EXPECT_THAT(error_of([&] { MessageType(file, "shop.Click"); }).message(),
              HasSubstr("holds a schema that protobuf refuses: clicks.proto: shop.User.id"));
}

TEST_F(MessageTypeTest, WhatAMessageInsideRequiresIsRequired) {
  using Field = google::protobuf::FieldDescriptorProto;
  google::protobuf::FileDescriptorSet set;
  google::protobuf::FileDescriptorProto& described = *set.add_file();
  described.set_name("nested.proto");
  const auto add_field = [&](int message, const std::string& name, Field::Type type,
                             Field::Label label) -> Field& {
    Field& field = *described.mutable_message_type(message)->add_field();
    field.set_name(name);
    field.set_number(described.message_type(message).field_size());
    field.set_type(type);
    field.set_label(label);
    return field;
  };
  described.add_message_type()->set_name("Outer");
  described.add_message_type()->set_name("Inner");
  add_field(0, "note", Field::TYPE_INT32, Field::LABEL_OPTIONAL);
  add_field(0, "inner", Field::TYPE_MESSAGE, Field::LABEL_OPTIONAL).set_type_name(".Inner");
  add_field(1, "id", Field::TYPE_INT32, Field::LABEL_REQUIRED);
  const MessageType type(write(set), "Outer");
  EXPECT_NO_THROW(type.check("\x08\x01"));  // a note
  const Error lacking = error_of([&] { type.check(std::string("\x12\x00", 2)); });
  EXPECT_EQ(lacking.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(lacking.message(), "a Outer lacks what its schema requires: inner.id");
}

}  // namespace
}  // namespace infeed::test
