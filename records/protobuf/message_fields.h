#pragma once

#include <cstddef>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <string>
#include <vector>

#include "columns/column_plan.h"
#include "infeed/records/column_schema.h"

namespace infeed::detail {

/// A column in the making, and the row that is written.
struct MessageRow {
  GrowingColumn& column;
  std::size_t row;
  const TensorPool& pool;
};

/// A field by its path in a message, and how its values become a column.
struct MessageField {
  std::vector<const google::protobuf::FieldDescriptor*> path;
  std::size_t levels = 0;  ///< repeated fields on the path
  /// Appends all values of the path's last field, or sets the row's only one.
  void (*append)(const MessageField& field, const google::protobuf::Message& message,
                 const MessageRow& to) = nullptr;

  /// Writes the field's values in a message of the type as a row.
  void write_row(const google::protobuf::Message& message, const MessageRow& to) const {
    append_from(message, 0, 0, to);
  }

 private:
  void append_from(const google::protobuf::Message& message, std::size_t step, std::size_t level,
                   const MessageRow& to) const;
};

/// Finds "user.id" in a message type. Throws invalid_argument as MessageParser does.
MessageField find_field(const google::protobuf::Descriptor& type, const std::string& name);
ColumnType column_type(const MessageField& field, const std::string& name);

}  // namespace infeed::detail
