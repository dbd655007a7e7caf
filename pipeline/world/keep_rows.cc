#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include <infeed/keep_rows.h>
#include <infeed/records/example.h>

namespace infeed {
namespace {

BadRow bad_row(const Error& error) {
  return {.file = error.file(),
          .record = error.record().value_or(0),
          .offset = error.offset().value_or(0),
          .reason = fmt::format("{}: {}", to_string(error.code()), error.message())};
}

/// Adds the feature of a column that must be there: zeros, or no items.
void add_zeros(ExampleBuilder& example, const ColumnType& column) {
  const bool is_dense = column.kind == Column::Kind::dense;
  const std::size_t items = is_dense ? static_cast<std::size_t>(column.shape.items()) : 0;
  const bool is_bytes = column.kind == Column::Kind::bytes ||
                        (column.dtype == DType::uint8 && (!is_dense || column.shape.rank() > 0));
  if (is_bytes && column.kind != Column::Kind::ragged_bytes) {
    example.bytes(column.name, std::string(items, '\0'));
  } else if (is_dense && is_float(column.dtype)) {
    example.floats(column.name, std::vector<float>(items));
  } else if (is_dense) {
    example.integers(column.name, std::vector<std::int64_t>(items));
  }
}

}  // namespace

KeptRows::KeptRows(const ColumnSchema& schema, KeepRowsOptions options,
                   std::shared_ptr<BadRowLedger> ledger)
    : options_(std::move(options)),
      ledger_(std::move(ledger)),
      taken_(ledger_, options_.number),
      schema_(schema) {
  schema_.column(options_.valid, DType::uint8).if_missing(std::vector<std::int64_t>{1});
  schema_.column(options_.number, DType::int64).if_missing(std::vector<std::int64_t>{0});
  for (const ColumnType& column : schema.columns()) {
    if (!column.missing) columns_.push_back(column);
  }
  try {
    const ColumnParser parser(schema_);
    ColumnRows rows = parser.begin(1);
    parser.parse_row(example_of(0), nullptr, 0, rows);
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("keep_rows: no row can stand for a bad record: {}; give that column a "
                            "default (ColumnSchema::if_missing)",
                            error.message()));
  }
}

std::string KeptRows::example_of(std::int64_t number) const {
  ExampleBuilder example;
  for (const ColumnType& column : columns_) add_zeros(example, column);
  example.integers(options_.valid, 0).integers(options_.number, number);
  return example.encode();
}

std::string KeptRows::replace(const Error& error) {
  return example_of(ledger_->note(bad_row(error)));
}

Record padding_record(const KeptRows& kept) { return Record(kept.padding()); }

namespace detail {
namespace {

/// Looks for a record that gives a row. One that stands for damage, or for nothing, tells nothing.
class RowJudge final : public PassJudge {
 public:
  RowJudge(std::shared_ptr<const KeptRows> kept, ColumnParser parser)
      : kept_(std::move(kept)), parser_(std::move(parser)) {}

  bool is_content() const override { return has_row_; }
  std::uint64_t records() const override { return unparsed_; }

  void look_at(const void* element) override {
    const auto& record = *static_cast<const Record*>(element);
    ColumnRows rows = parser_.begin(1);
    try {
      parser_.parse_row(record.bytes(), &record, 0, rows);
    } catch (const Error& error) {
      ++unparsed_;
      last_ = error;
      return;
    }
    const ColumnBatch row = parser_.finish(std::move(rows), 1);
    has_row_ = row.column(kept_->options().valid).values<std::uint8_t>().front() != 0;
  }

  Error error() const override {
    return last_->reworded(
        last_->code(), fmt::format("none of the first {} records gave a row, so the schema may not "
                                   "be theirs; the last one: {}",
                                   unparsed_, last_->message()));
  }

 private:
  const std::shared_ptr<const KeptRows> kept_;
  const ColumnParser parser_;
  bool has_row_ = false;
  std::uint64_t unparsed_ = 0;
  std::optional<Error> last_;
};

}  // namespace

Dataset<Record> without_damage(const Dataset<Record>& input, std::shared_ptr<KeptRows> kept) {
  const auto stand_in = [kept = std::move(kept)](void* place, const Error& error, std::uint64_t) {
    ::new (place) Record(kept->replace(error));
  };
  return Dataset<Record>(make_replace_errors(stand_in, input.node(), PassingErrors::end_the_pass));
}

void KeepingParser::parse_row(std::string_view example, const Record* place, std::size_t row,
                              ColumnRows& rows) const {
  try {
    parser_.parse_row(example, place, row, rows);
  } catch (const Error& error) {
    parser_.parse_row(kept_->replace(error), nullptr, row, rows);
  }
}

JudgeSpec KeepingParser::judge() const {
  return {.begin_pass = [kept = kept_,
                         parser = parser_] { return std::make_unique<RowJudge>(kept, parser); },
          .records_max = std::max<std::uint64_t>(kept_->options().only_bad_max, 1)};
}

}  // namespace detail
}  // namespace infeed
