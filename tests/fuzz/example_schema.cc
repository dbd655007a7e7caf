#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/column_parser.h>
#include <infeed/records/example_schema.h>

#include "fuzz.h"

/// Any bytes as a struct, as a row of growing columns and as a row of run-time columns: all agree,
/// whether the record is read the quick way or the general one.
namespace infeed::fuzz {
namespace {

struct Row {
  std::int64_t a = 0;
  std::array<float, 3> b{};
  std::array<std::uint8_t, 4> image{};
  std::string text;
  std::vector<std::int32_t> tokens;
  std::vector<float> floats;
  std::vector<std::array<std::int16_t, 2>> boxes;
  std::vector<std::string> words;
  std::vector<std::vector<std::int64_t>> nested;
};

const ExampleSchema<Row>& schema_of_rows() {
  static const auto schema = ExampleSchema<Row>()
                                 .feature("a", &Row::a, 5)
                                 .feature("b", &Row::b, {1, 2, 3})
                                 .feature("image", &Row::image, {9, 8, 7, 6})
                                 .feature("text", &Row::text, "none")
                                 .feature("tokens", &Row::tokens)
                                 .feature("floats", &Row::floats)
                                 .feature("boxes", &Row::boxes)
                                 .feature("words", &Row::words)
                                 .ragged("nested", RowLengths{"lengths"}, &Row::nested);
  return schema;
}

const ColumnParser& column_parser() {
  static const ColumnParser parser([] {
    ColumnSchema schema;
    schema.column("a", DType::int64).if_missing(std::vector<std::int64_t>{5});
    schema.column("b", DType::float32, {3}).if_missing(std::vector<double>{1, 2, 3});
    schema.column("image", DType::uint8, {4}).if_missing(std::vector<std::int64_t>{9, 8, 7, 6});
    schema.bytes("text").if_missing(std::vector<std::string>{"none"});
    schema.ragged("tokens", DType::int32);
    schema.ragged("floats", DType::float32);
    schema.ragged("boxes", DType::int16, {2});
    schema.ragged_bytes("words");
    schema.add({.name = "nested",
                .dtype = DType::int64,
                .kind = Column::Kind::ragged,
                .ragged_levels = 2,
                .partition = RowLengths{"lengths"}});
    return schema;
  }());
  return parser;
}

struct GrowingRows {
  RowColumn<std::int64_t> a;
  RowColumn<std::array<float, 3>> b;
  RowColumn<std::array<std::uint8_t, 4>> image;
  RowColumn<std::string> text;
  RowColumn<std::vector<std::int32_t>> tokens;
  RowColumn<std::vector<float>> floats;
  RowColumn<std::vector<std::array<std::int16_t, 2>>> boxes;
  RowColumn<std::vector<std::string>> words;
  RowColumn<std::vector<std::vector<std::int64_t>>> nested;

  std::array<void*, 9> places() {
    return {&a, &b, &image, &text, &tokens, &floats, &boxes, &words, &nested};
  }
};

template <class T>
void append_bytes(std::string& out, const T* values, std::size_t count) {
  out += std::to_string(count) + ":";
  if (count != 0) out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

void append_texts(std::string& out, const auto& texts) {
  out += std::to_string(texts.size()) + "[";
  for (const auto& text : texts) append_bytes(out, text.data(), text.size());
}

// shown() gives the content of a row, the same text for each of the three forms.

std::string shown(const Row& row) {
  std::string out;
  append_bytes(out, &row.a, 1);
  append_bytes(out, row.b.data(), 3);
  append_bytes(out, row.image.data(), 4);
  append_bytes(out, row.text.data(), row.text.size());
  append_bytes(out, row.tokens.data(), row.tokens.size());
  append_bytes(out, row.floats.data(), row.floats.size());
  append_bytes(out, row.boxes.empty() ? nullptr : row.boxes[0].data(), 2 * row.boxes.size());
  append_texts(out, row.words);
  out += std::to_string(row.nested.size()) + "[";
  for (const auto& inner : row.nested) append_bytes(out, inner.data(), inner.size());
  return out;
}

std::string shown(const GrowingRows& rows) {
  std::string out;
  append_bytes(out, rows.a.values.values().data(), rows.a.values.size());
  append_bytes(out, rows.b.values.values().data()->data(), 3 * rows.b.values.size());
  append_bytes(out, rows.image.values.values().data()->data(), 4 * rows.image.values.size());
  append_bytes(out, rows.text.values.values().data()->data(),
               rows.text.values.values().data()->size());
  append_bytes(out, rows.tokens.values.values().data(), rows.tokens.values.size());
  append_bytes(out, rows.floats.values.values().data(), rows.floats.values.size());
  const auto boxes = rows.boxes.values.size();
  append_bytes(out, boxes == 0 ? nullptr : rows.boxes.values.values().data()->data(), 2 * boxes);
  append_texts(out, std::span(rows.words.values.values().data(), rows.words.values.size()));
  const auto splits = rows.nested.inner_splits.values();
  out += std::to_string(splits.size() - 1) + "[";
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    append_bytes(out, rows.nested.values.values().data() + splits[i],
                 static_cast<std::size_t>(splits[i + 1] - splits[i]));
  }
  return out;
}

std::string shown(const ColumnBatch& batch) {
  std::string out;
  for (const char* const name : {"a", "b", "image"}) {
    const Tensor& values = batch.column(name).values();
    out += std::to_string(values.shape().items()) + ":";
    out.append(reinterpret_cast<const char*>(values.data()), values.bytes());
  }
  const std::string_view text = batch.column("text").bytes(0);
  append_bytes(out, text.data(), text.size());
  for (const char* const name : {"tokens", "floats", "boxes"}) {
    const Tensor& values = batch.column(name).values();
    out += std::to_string(values.shape().items()) + ":";
    out.append(reinterpret_cast<const char*>(values.data()), values.bytes());
  }
  const Column& words = batch.column("words");
  std::vector<std::string_view> texts;
  for (std::int64_t i = 0; i < words.row_splits()[1]; ++i) texts.push_back(words.bytes(i));
  append_texts(out, texts);
  const Column& nested = batch.column("nested");
  const auto splits = nested.row_splits(1);
  out += std::to_string(splits.size() - 1) + "[";
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    append_bytes(out, nested.values<std::int64_t>().data() + splits[i],
                 static_cast<std::size_t>(splits[i + 1] - splits[i]));
  }
  return out;
}

/// Returns the content, or why there is none.
template <class Make>
std::string outcome(Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

std::string as_struct(const std::string& record) {
  return outcome([&] { return shown(schema_of_rows().parse(std::string_view(record))); });
}

std::string as_growing(const std::string& record) {
  return outcome([&] {
    GrowingRows rows;
    schema_of_rows().append_row(Record(record), 0, rows.places());
    return shown(rows);
  });
}

std::string as_columns(const std::string& record) {
  return outcome([&] {
    ColumnRows rows = column_parser().begin(1);
    column_parser().parse_row(record, nullptr, 0, rows);
    return shown(column_parser().finish(std::move(rows), 1));
  });
}

}  // namespace

void check(Input input) {
  const std::string record(input.rest());
  // An unknown field is skipped, but the quick way, which expects the usual form, gives up.
  const std::string unusual = std::string("\x78\x00", 2) + record;
  const std::string expected = as_struct(unusual);
  const bool is_refused = expected.starts_with("refused");
  require(as_struct(record) == expected, "both ways give the same struct");
  const std::string growing = as_growing(record);
  require(growing == as_growing(unusual), "both ways give the same growing row");
  const std::string columns = as_columns(record);
  require(columns == as_columns(unusual), "both ways give the same columns");
  // With several errors each form may report another one, and only columns take integers for the
  // bytes of an image.
  require(growing == expected || (is_refused && growing.starts_with("refused")),
          "a row holds what the struct does");
  const bool is_image = expected.find("feature 'image'") != std::string::npos;
  require(columns == expected || is_image || (is_refused && columns.starts_with("refused")),
          "columns hold what the struct does");
}

}  // namespace infeed::fuzz
