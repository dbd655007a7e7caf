#include <infeed/records/csv.h>

#include "text_batches.h"

/// The reader of CSV on any text: of every type of column, with and without quotes.
void infeed::fuzz::check(Input input) {
  const std::uint8_t kind = input.byte();
  const std::uint8_t rows = input.byte();
  const std::uint8_t shift = input.byte();
  const CsvOptions options{.delimiter = (kind & 1) != 0 ? ';' : ',',
                           .quotes = (kind & 2) != 0 ? Quotes::none : Quotes::rfc4180,
                           .nulls = {"", "NA", "-1"},
                           .bad_rows = BadRows::leave_out};
  const auto add_default = [&](ColumnSchema& schema, ColumnDefault value) {
    if ((kind & 4) != 0) schema.if_missing(std::move(value));
  };
  ColumnSchema schema;
  schema.column("i", DType::int64);
  add_default(schema, std::vector<std::int64_t>{7});
  schema.bytes("t");
  add_default(schema, std::vector<std::string>{"none"});
  const bool is_wide = (kind & 8) != 0;
  if (is_wide) {
    schema.column("f", DType::float32).column("u", DType::uint8).column("h", DType::float16);
    schema.column("b", DType::boolean).column("d", DType::float64);
  }
  std::string header = is_wide ? "i,skipped,t,f,u,h,b,d\n" : "t,i\n";
  std::replace(header.begin(), header.end(), ',', options.delimiter);
  const std::string_view text = input.rest();
  check_text(*detail::make_csv_parser(schema, options), header, text, rows, shift);
  static const MemoryFile memory;
  try {
    infer_csv_schema(memory.write(text), options);
  } catch (const Error&) {  // it may be any text
  }
}
