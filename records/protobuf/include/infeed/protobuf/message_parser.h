#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/protobuf/message_type.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/column_parser.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/record.h"
#include "infeed/records/tensor_pool.h"

/// Why: makes columns of protobuf messages of any type, without classes of them
/// (tf.io.decode_proto). It has the functions of a ColumnParser, so infeed::parse_columns takes
/// either.
///
///     const infeed::MessageType click("shop.pb", "shop.Click");
///     const infeed::MessageParser parser(click, {"query", "user.id", "items.price"});
///     auto batches = infeed::records("clicks-*.tfrecord") | infeed::parse_columns(parser, 128);
///
/// A field is named by its path, and so is its column.
///
/// | field                                         | column                                |
/// |-----------------------------------------------|---------------------------------------|
/// | a number or bool, also in a message           | dense, shape [], of the field's type  |
/// | an enum                                       | dense int64: the number               |
/// | string, bytes                                 | bytes                                 |
/// | repeated, or in a repeated message            | ragged, or ragged_bytes: one level    |
/// | repeated, in a repeated message               | the same, of two levels               |
///
/// A missing field has its default, in a missing message too, and a missing repeated field has no
/// values. Messages as a whole, maps (which have no order), extensions and three levels are
/// refused.
///
/// Errors: the constructor throws invalid_argument for a field that isn't there, with the nearest
/// names, or that makes no column. A record's errors are those of MessageType::check, with file,
/// offset and record. Thread-safety and copies: as for ColumnParser.
namespace infeed {

namespace detail {
struct MessagePlan;
}  // namespace detail

class MessageParser {
 public:
  MessageParser(const MessageType& type, const std::vector<std::string>& fields);

  // The functions of ColumnParser (column_parser.h).
  const ColumnSchema& schema() const { return columns_.schema(); }
  bool has_fixed_rows() const { return columns_.has_fixed_rows(); }
  std::size_t row_bytes_min() const { return columns_.row_bytes_min(); }
  MessageParser with_pool(TensorPool pool) const;
  ColumnRows begin(std::size_t rows_max) const { return columns_.begin(rows_max); }
  void parse_row(std::string_view message, const Record* place, std::size_t row,
                 ColumnRows& rows) const;
  ColumnBatch finish(ColumnRows&& rows, std::size_t row_count) const {
    return columns_.finish(std::move(rows), row_count);
  }

 private:
  explicit MessageParser(std::shared_ptr<const detail::MessagePlan> plan);

  std::shared_ptr<const detail::MessagePlan> plan_;
  ColumnParser columns_;
};

}  // namespace infeed
