#include <fmt/format.h>

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

std::string KeptRows::replace_unparsed(const Error& error) {
  const std::uint64_t before = unparsed_.fetch_add(1, std::memory_order_relaxed);
  if (before >= options_.only_bad_max && !has_good_) {
    throw error.reworded(error.code(),
                         fmt::format("none of the first {} records gave a row, so the schema may "
                                     "not be theirs; this one: {}",
                                     before, error.message()));
  }
  return replace(error);
}

Record padding_record(const KeptRows& kept) { return Record(kept.padding()); }

namespace detail {

void KeepingParser::parse_row(std::string_view example, const Record* place, std::size_t row,
                              ColumnRows& rows) const {
  try {
    parser_.parse_row(example, place, row, rows);
  } catch (const Error& error) {
    parser_.parse_row(kept_->replace_unparsed(error), nullptr, row, rows);
    return;
  }
  kept_->note_good();
}

}  // namespace detail
}  // namespace infeed
