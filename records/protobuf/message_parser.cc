#include "infeed/protobuf/message_parser.h"

#include "infeed/records/detail/feature_codec.h"
#include "protobuf/message_content.h"
#include "protobuf/message_fields.h"

namespace infeed {

namespace detail {

struct MessagePlan {
  std::shared_ptr<const MessageTypeContent> type;
  std::shared_ptr<const ColumnPlan> columns;
  std::vector<MessageField> fields;  ///< by column
};

namespace {

std::shared_ptr<const ColumnPlan> plan_columns(ColumnSchema schema) {
  auto plan = std::make_shared<ColumnPlan>();
  for (const ColumnType& type : schema.columns()) add_column(*plan, plan_column(type));
  plan->names = column_names(schema);
  plan->schema = std::move(schema);
  return plan;
}

std::shared_ptr<const MessagePlan> plan_messages(std::shared_ptr<const MessageTypeContent> type,
                                                 const std::vector<std::string>& names) {
  auto plan = std::make_shared<MessagePlan>();
  ColumnSchema schema;
  for (const std::string& name : names) {
    plan->fields.push_back(find_field(*type->type, name));
    schema.add(column_type(plan->fields.back(), name));
  }
  plan->columns = plan_columns(std::move(schema));
  plan->type = std::move(type);
  return plan;
}

}  // namespace
}  // namespace detail

MessageParser::MessageParser(const MessageType& type, const std::vector<std::string>& fields)
    : MessageParser(detail::plan_messages(type.content_, fields)) {}

MessageParser::MessageParser(std::shared_ptr<const detail::MessagePlan> plan)
    : plan_(std::move(plan)), columns_(plan_->columns) {}

MessageParser MessageParser::with_pool(TensorPool pool) const {
  MessageParser parser = *this;
  parser.columns_ = columns_.with_pool(std::move(pool));
  return parser;
}

void MessageParser::parse_row(std::string_view message, const Record* place, std::size_t row,
                              ColumnRows& rows) const {
  rows.check_row(plan_->columns.get(), row);
  try {
    const detail::ParsedMessage parsed(*plan_->type, message);
    for (std::size_t i = 0; i < plan_->fields.size(); ++i) {
      plan_->fields[i].write_row(parsed.get(), {rows.columns_[i], row, rows.pool_});
    }
  } catch (...) {
    rows.truncate(row);
    if (place == nullptr) throw;
    detail::rethrow_with_place(*place);
  }
}

}  // namespace infeed
