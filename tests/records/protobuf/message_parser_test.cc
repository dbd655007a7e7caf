#include "infeed/protobuf/message_parser.h"

#include <clicks.pb.h>
#include <cstdint>
#include <google/protobuf/descriptor.pb.h>
#include <orders.pb.h>
#include <random>
#include <string>
#include <vector>

#include "infeed/records/record.h"
#include "records/columns/column_texts.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

MessageType click_type() { return MessageType(INFEED_TEST_DESCRIPTOR_SET, "shop.Click"); }
MessageType order_type() { return MessageType(INFEED_TEST_DESCRIPTOR_SET, "shop.Order"); }

template <class M>
ColumnBatch parse(const MessageParser& parser, const std::vector<M>& messages) {
  ColumnRows rows = parser.begin(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    parser.parse_row(messages[i].SerializePartialAsString(), nullptr, i, rows);
  }
  return parser.finish(std::move(rows), messages.size());
}

TEST(MessageParser, NumbersOfEveryTypeAreDense) {
  const MessageParser parser(
      click_type(), {"id", "user.id", "kind", "page", "is_paid", "position", "small", "large",
                     "turned", "fixed", "before.before.large", "time.nanos"});
  EXPECT_TRUE(parser.has_fixed_rows());
  shop::Click click;
  click.set_id(-5);
  click.mutable_user()->set_id(1LL << 40);
  click.set_kind(shop::PURCHASE);
  click.set_page(-3);
  click.set_is_paid(true);
  click.set_position(0.5F);
  click.set_small(4'000'000'000U);
  click.set_large(~std::uint64_t{0});
  click.set_turned(-7);
  click.set_fixed(9);
  click.mutable_before()->mutable_before()->set_large(11);
  click.mutable_time()->set_nanos(13);
  const ColumnBatch batch = parse<shop::Click>(parser, {shop::Click(), click});
  EXPECT_EQ(batch.rows(), 2);
  EXPECT_THAT(batch.column("id").values<std::int64_t>(), ElementsAre(0, -5));
  EXPECT_THAT(batch.column("user.id").values<std::int64_t>(), ElementsAre(0, 1LL << 40));
  EXPECT_THAT(batch.column("kind").values<std::int64_t>(), ElementsAre(0, 2));
  EXPECT_THAT(batch.column("page").values<std::int32_t>(), ElementsAre(0, -3));
  EXPECT_THAT(batch.column("is_paid").values<bool>(), ElementsAre(false, true));
  EXPECT_THAT(batch.column("position").values<float>(), ElementsAre(0, 0.5F));
  EXPECT_THAT(batch.column("small").values<std::uint32_t>(), ElementsAre(0, 4'000'000'000U));
  EXPECT_THAT(batch.column("large").values<std::uint64_t>(), ElementsAre(0, ~std::uint64_t{0}));
  EXPECT_THAT(batch.column("turned").values<std::int32_t>(), ElementsAre(0, -7));
  EXPECT_THAT(batch.column("fixed").values<std::uint64_t>(), ElementsAre(0, 9));
  EXPECT_THAT(batch.column("before.before.large").values<std::uint64_t>(), ElementsAre(0, 11));
  EXPECT_THAT(batch.column("time.nanos").values<std::int32_t>(), ElementsAre(0, 13));
}

TEST(MessageParser, RepeatedFieldsAreRagged) {
  const MessageParser parser(
      click_type(), {"tokens", "user.tastes", "items.price", "kinds", "items.sizes", "query",
                     "words", "items.sku", "items.colours"});
  EXPECT_FALSE(parser.has_fixed_rows());
  shop::Click click;
  click.set_query("shoes");
  click.add_tokens(1);
  click.add_tokens(2);
  click.mutable_user()->add_tastes(0.5F);
  click.add_kinds(shop::VIEW);
  click.add_words("a");
  click.add_words("");
  shop::Item* item = click.add_items();
  item->set_sku("s1");
  item->add_sizes(41);
  item->add_sizes(42);
  click.add_items()->set_price(2.5);
  item = click.add_items();
  item->add_sizes(43);
  item->add_colours("red");
  const ColumnBatch batch = parse<shop::Click>(parser, {click, shop::Click(), click});
  EXPECT_THAT(batch.column("tokens").values<std::int64_t>(), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(batch.column("tokens").row_splits(), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(batch.column("user.tastes").values<float>(), ElementsAre(0.5F, 0.5F));
  EXPECT_THAT(batch.column("items.price").values<double>(), ElementsAre(0, 2.5, 0, 0, 2.5, 0));
  EXPECT_THAT(batch.column("items.price").row_splits(), ElementsAre(0, 3, 3, 6));
  EXPECT_THAT(batch.column("kinds").values<std::int64_t>(), ElementsAre(1, 1));
  const Column& sizes = batch.column("items.sizes");
  EXPECT_THAT(sizes.values<std::int32_t>(), ElementsAre(41, 42, 43, 41, 42, 43));
  EXPECT_THAT(sizes.row_splits(0), ElementsAre(0, 3, 3, 6));
  EXPECT_THAT(sizes.row_splits(1), ElementsAre(0, 2, 2, 3, 5, 5, 6));
  EXPECT_THAT(column_texts(batch.column("query")), ElementsAre("shoes", "", "shoes"));
  EXPECT_THAT(column_texts(batch.column("words")), ElementsAre("a", "", "a", ""));
  EXPECT_THAT(batch.column("words").row_splits(), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(column_texts(batch.column("items.sku")), ElementsAre("s1", "", "", "s1", "", ""));
  EXPECT_THAT(column_texts(batch.column("items.colours")), ElementsAre("red", "red"));
  EXPECT_THAT(batch.column("items.colours").row_splits(1), ElementsAre(0, 0, 0, 1, 1, 1, 2));
}

TEST(MessageParser, DefaultsOfProto2AndGroups) {
  const MessageParser parser(order_type(), {"count", "currency", "line.price"});
  shop::Order order;
  order.set_id(1);
  order.add_line();
  order.add_line()->set_price(2);
  const ColumnBatch batch = parse<shop::Order>(parser, {order});
  EXPECT_THAT(batch.column("count").values<std::int32_t>(), ElementsAre(7));
  EXPECT_THAT(column_texts(batch.column("currency")), ElementsAre("EUR"));
  EXPECT_THAT(batch.column("line.price").values<float>(), ElementsAre(0.5F, 2));
}

TEST(MessageParser, ARowThatFailsLeavesNothing) {
  const MessageParser parser(click_type(), {"tokens", "id"});
  shop::Click click;
  click.set_id(1);
  click.add_tokens(5);
  ColumnRows rows = parser.begin(4);
  const std::string bytes = click.SerializeAsString();
  parser.parse_row(bytes, nullptr, 0, rows);
  const Record record(bytes.substr(0, bytes.size() - 1));
  const Error error = error_of([&] { parser.parse_row(record.bytes(), &record, 1, rows); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  parser.parse_row(bytes, nullptr, 1, rows);
  EXPECT_THAT(error_of([&] { parser.parse_row(bytes, nullptr, 3, rows); }).message(),
              HasSubstr("row 3 can't be parsed: rows are appended, and the next one is 2"));
  EXPECT_THAT(error_of([&] { parser.parse_row(bytes, nullptr, 4, rows); }).message(),
              HasSubstr("at most 4 rows"));
  const ColumnBatch batch = parser.finish(std::move(rows), 2);
  EXPECT_THAT(batch.column("tokens").values<std::int64_t>(), ElementsAre(5, 5));
  EXPECT_THAT(batch.column("id").values<std::int64_t>(), ElementsAre(1, 1));
  const MessageParser other(order_type(), {"count"});
  ColumnRows others = other.begin(1);
  EXPECT_THAT(error_of([&] { parser.parse_row(bytes, nullptr, 0, others); }).message(),
              HasSubstr("begun by another parser"));
}

struct WrongField {
  std::string name;
  std::vector<std::string> said;
};

TEST(MessageParser, FieldsThatMakeNoColumn) {
  const std::vector<WrongField> wrong{
      {"user.nmae",
       {"field 'user.nmae' isn't there", "shop.User has no 'nmae'", "did you mean 'name'?",
        "'tastes'"}},
      {"qwertz", {"shop.Click has no 'qwertz'; it has '"}},
      {"", {"shop.Click has no ''"}},
      {"user.", {"shop.User has no ''"}},
      {"query.length", {"shop.Click.query is no message, so it has no 'length'"}},
      {"user", {"field 'user' is a shop.User: name one of its fields, 'id', 'name', 'tastes'"}},
      {"items", {"is a shop.Item"}},
      {"scores", {"is a map"}},
      {"scores.value", {"is a map"}},
      {"history.items.sizes", {"lies in 3 repeated fields; a column has two levels at most"}},
      {"before.items.sizes.x", {"shop.Item.sizes is no message"}},
  };
  for (const WrongField& field : wrong) {
    const Error error = error_of([&] { MessageParser(click_type(), {"id", field.name}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    for (const std::string& text : field.said) EXPECT_THAT(error.message(), HasSubstr(text));
  }
  EXPECT_THAT(error_of([&] {
                MessageParser(click_type(), {"id", "id"});
              }).message(),
              HasSubstr("'id'"));
}

TEST(MessageParser, AMessageWithoutFieldsMakesNoColumn) {
  google::protobuf::FileDescriptorSet set;
  set.add_file()->set_name("empty.proto");
  set.mutable_file(0)->add_message_type()->set_name("Empty");
  const TemporaryFolder folder;
  const MessageType type(folder.write("set.pb", set.SerializeAsString()), "Empty");
  EXPECT_EQ(error_of([&] { MessageParser(type, {"x"}); }).message(),
            "field 'x' isn't there: Empty has no 'x'; it has no fields");
}

/// Values and splits are those that the generated class has.
TEST(MessageParser, AgreesWithTheGeneratedClass) {
  std::mt19937 random(7);
  const MessageParser parser(click_type(), {"id", "tokens", "items.sizes", "items.sku"});
  std::vector<shop::Click> clicks;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> tokens;
  std::vector<std::int32_t> sizes;
  std::vector<std::int64_t> inner_splits{0};
  std::vector<std::string> skus;
  for (int i = 0; i < 100; ++i) {
    shop::Click& click = clicks.emplace_back();
    click.set_id(static_cast<std::int64_t>(random() % 3));
    for (auto n = random() % 4; n > 0; --n) click.add_tokens(static_cast<std::int64_t>(random()));
    for (auto n = random() % 4; n > 0; --n) {
      shop::Item* const item = click.add_items();
      if (random() % 2 == 0) item->set_sku(std::string(random() % 20, 's'));
      for (auto k = random() % 4; k > 0; --k) item->add_sizes(static_cast<std::int32_t>(k));
    }
    ids.push_back(click.id());
    tokens.insert(tokens.end(), click.tokens().begin(), click.tokens().end());
    for (const shop::Item& item : click.items()) {
      sizes.insert(sizes.end(), item.sizes().begin(), item.sizes().end());
      inner_splits.push_back(static_cast<std::int64_t>(sizes.size()));
      skus.push_back(item.sku());
    }
  }
  const ColumnBatch batch = parse(parser, clicks);
  EXPECT_THAT(batch.column("id").values<std::int64_t>(), ::testing::ElementsAreArray(ids));
  EXPECT_THAT(batch.column("tokens").values<std::int64_t>(), ::testing::ElementsAreArray(tokens));
  EXPECT_THAT(batch.column("items.sizes").values<std::int32_t>(),
              ::testing::ElementsAreArray(sizes));
  EXPECT_THAT(batch.column("items.sizes").row_splits(1), ::testing::ElementsAreArray(inner_splits));
  EXPECT_EQ(column_texts(batch.column("items.sku")), skus);
}

}  // namespace
}  // namespace infeed::test
