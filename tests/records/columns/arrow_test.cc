#include "infeed/records/arrow.h"

#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "infeed/records/column_builder.h"
#include "records/columns/drawn_columns.h"
#include "thrown_error.h"

// Arrow's own header would set these guards, and then be skipped.
#if !defined(ARROW_C_DATA_INTERFACE) || !defined(ARROW_C_STREAM_INTERFACE)
#error "the guards that Arrow's specification asks for are not set"
#endif

/// Ownership of exported memory; tests/interop/test_columns.py reads it in Python.
namespace infeed {
namespace {

/// A batch as Arrow sees it.
struct ArrowBatch {
  explicit ArrowBatch(const ColumnBatch& batch) { export_arrow(batch, &schema, &array); }
  ArrowBatch(const ArrowBatch&) = delete;
  ArrowBatch& operator=(const ArrowBatch&) = delete;
  ~ArrowBatch() {
    schema.release(&schema);
    array.release(&array);
  }

  ArrowSchema schema;
  ArrowArray array;
};

TEST(Arrow, each_type_has_its_format) {
  const std::vector<const char*> formats = {"b", "c", "s", "i", "l", "C", "S",
                                            "I", "L", "e", "S", "f", "g"};
  std::vector<NamedColumn> columns;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    Tensor values(static_cast<DType>(i), {1});
    for (std::byte& byte : values.writable_bytes()) byte = {};
    columns.push_back({std::string(to_string(values.dtype())), Column::dense(std::move(values))});
  }
  const ArrowBatch shown{ColumnBatch(std::move(columns))};
  ASSERT_EQ(shown.schema.n_children, 13);
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const ArrowSchema& child = *shown.schema.children[i];
    EXPECT_STREQ(child.format, formats[i]);
    EXPECT_EQ(child.flags, 0);
    EXPECT_STREQ(child.name, to_string(static_cast<DType>(i)).data());
    EXPECT_EQ(child.metadata != nullptr, static_cast<DType>(i) == DType::bfloat16) << i;
    EXPECT_EQ(shown.array.children[i]->length, 1);
    EXPECT_EQ(shown.array.children[i]->n_buffers, 2);
    EXPECT_EQ(shown.array.children[i]->buffers[0], nullptr) << "nothing is null";
    EXPECT_EQ(shown.array.children[i]->null_count, 0);
    EXPECT_EQ(shown.array.children[i]->offset, 0);
  }
  std::string metadata;
  for (const std::string_view text : {"", "infeed.dtype", "bfloat16"}) {
    const auto number = static_cast<std::int32_t>(text.empty() ? 1 : text.size());
    metadata.append(reinterpret_cast<const char*>(&number), sizeof(number)).append(text);
  }
  const char* const shown_metadata =
      shown.schema.children[static_cast<std::size_t>(DType::bfloat16)]->metadata;
  EXPECT_EQ(std::string_view(shown_metadata, metadata.size()), metadata);
}

TEST(Arrow, bools_become_bits) {
  const ArrowBatch shown{ColumnBatch(
      {{"x", column_of(std::vector<bool>{true, false, true, false, false, false, false, true,  //
                                         false, true})}})};
  EXPECT_EQ(shown.array.children[0]->length, 10);
  const auto* const bits = static_cast<const std::uint8_t*>(shown.array.children[0]->buffers[1]);
  EXPECT_EQ(bits[0], 0x85);
  EXPECT_EQ(bits[1], 0x02);
}

TEST(Arrow, lists_lie_in_lists) {
  const Column two_levels = Column::ragged(Tensor::copy_of({4}, {1, 2, 3, 4}),
                                           {test::int64s({0, 1, 3}), test::int64s({0, 2, 2, 4})});
  const Column texts = ragged_column_of(std::vector<std::vector<std::string>>{{"a", "bc"}, {}});
  const ArrowBatch shown{ColumnBatch({{"dense", Column::dense(Tensor(DType::int8, {2, 3, 4}))},
                                      {"lists", two_levels},
                                      {"texts", texts}})};
  const ArrowSchema* schema = shown.schema.children[0];
  const ArrowArray* array = shown.array.children[0];
  EXPECT_STREQ(schema->name, "dense");
  for (const auto& [format, length] : {std::pair("+w:3", 2), std::pair("+w:4", 6)}) {
    EXPECT_STREQ(schema->format, format);
    EXPECT_EQ(array->length, length);
    EXPECT_EQ(array->n_buffers, 1);
    ASSERT_EQ(schema->n_children, 1);
    ASSERT_EQ(array->n_children, 1);
    schema = schema->children[0];
    array = array->children[0];
    EXPECT_STREQ(schema->name, "item");
  }
  EXPECT_STREQ(schema->format, "c");
  EXPECT_EQ(array->length, 24);
  EXPECT_EQ(schema->n_children, 0);

  schema = shown.schema.children[1];
  array = shown.array.children[1];
  EXPECT_STREQ(schema->name, "lists");
  for (std::size_t level = 0; level < 2; ++level) {
    EXPECT_STREQ(schema->format, "+L");
    EXPECT_EQ(array->length, level == 0 ? 2 : 3);
    EXPECT_EQ(array->n_buffers, 2);
    EXPECT_EQ(array->buffers[1], two_levels.row_splits(level).data());
    schema = schema->children[0];
    array = array->children[0];
    EXPECT_STREQ(schema->name, "item");
  }
  EXPECT_STREQ(schema->format, "i");
  EXPECT_EQ(array->length, 4);

  EXPECT_STREQ(shown.schema.children[2]->format, "+L");
  EXPECT_EQ(shown.array.children[2]->length, 2);
  EXPECT_STREQ(shown.schema.children[2]->children[0]->format, "Z");
  array = shown.array.children[2]->children[0];
  EXPECT_EQ(array->length, 2);
  EXPECT_EQ(array->n_buffers, 3);
  EXPECT_EQ(array->buffers[1], texts.offsets().data());
  EXPECT_EQ(array->buffers[2], texts.values().data());
}

ColumnBatch watched_batch(std::weak_ptr<std::vector<float>>& watched) {
  auto owner = std::make_shared<std::vector<float>>(4, 1.5F);
  watched = owner;
  Tensor values = Tensor::adopt(DType::float32, {2, 2}, owner->data(), owner);
  return ColumnBatch({{"x", Column::dense(values)},
                      {"text", Column::of_bytes({"one", "two"})},
                      {"ids", Column::padded(values, test::int64s({1, 2}))}});
}

TEST(Arrow, an_array_keeps_the_memory_until_it_is_released) {
  std::weak_ptr<std::vector<float>> watched;
  ArrowSchema schema;
  ArrowArray array;
  export_arrow(watched_batch(watched), &schema, &array);
  ASSERT_EQ(schema.n_children, 4);
  EXPECT_STREQ(schema.format, "+s");
  EXPECT_STREQ(schema.children[0]->format, "+w:2");
  EXPECT_STREQ(schema.children[0]->children[0]->format, "f");
  EXPECT_STREQ(schema.children[1]->format, "Z");
  EXPECT_STREQ(schema.children[3]->name, "ids.lengths");
  EXPECT_EQ(schema.children[3]->flags, 0) << "nothing is null";
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);

  EXPECT_EQ(array.length, 2);
  EXPECT_EQ(array.children[0]->children[0]->length, 4);
  // A consumer may keep a child, and release the parent.
  ArrowArray moved = *array.children[0];
  array.children[0]->release = nullptr;
  array.release(&array);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(static_cast<const float*>(moved.children[0]->buffers[1])[3], 1.5F);
  moved.release(&moved);
  EXPECT_TRUE(watched.expired());
}

TEST(Arrow, names_have_no_zero_bytes) {
  ArrowSchema schema;
  ArrowArray array;
  const ColumnBatch batch({{std::string("a\0b", 3), Column()}});
  EXPECT_EQ(error_of([&] { export_arrow(batch, &schema, &array); }).message(),
            "column 0 has a name with a zero byte, which Arrow can't hold: 'a'");
}

TEST(Arrow, a_stream_goes_on_behind_an_error) {
  int call = 0;
  const auto next = [&call]() -> std::optional<ColumnBatch> {
    const Column three = Column::dense(Tensor::copy_of({1}, {3}));
    switch (call++) {
      case 0:
        return ColumnBatch({{"x", three}});
      case 1:
        throw Error(ErrorCode::data_loss, "a record is cut").at_file("a.tfrecord");
      case 2:
        return ColumnBatch({{"y", three}});
      case 3:
        throw 7;
      case 4:
        return ColumnBatch({{"x", three}});
      default:
        return std::nullopt;
    }
  };
  ArrowArrayStream stream;
  export_arrow_stream(next, &stream);
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
  ArrowSchema schema;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
    EXPECT_STREQ(schema.children[0]->name, "x");
    schema.release(&schema);
  }
  ArrowArray array;
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  EXPECT_EQ(*static_cast<const int*>(array.children[0]->buffers[1]), 3);
  array.release(&array);
  EXPECT_EQ(stream.get_next(&stream, &array), EIO);
  EXPECT_STREQ(stream.get_last_error(&stream), "data_loss: a record is cut [file a.tfrecord]");
  EXPECT_EQ(stream.get_next(&stream, &array), EINVAL);
  EXPECT_STREQ(stream.get_last_error(&stream),
               "invalid_argument: batch 1 has other names or types than the first; a stream of "
               "Arrow's has one schema (a padded column needs a fixed width)");
  EXPECT_EQ(stream.get_next(&stream, &array), EIO);
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  array.release(&array);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(stream.get_next(&stream, &array), 0);
    EXPECT_EQ(array.release, nullptr) << "the end";
  }
  EXPECT_EQ(call, 6) << "a source is not asked again behind its end";
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
}

TEST(Arrow, a_stream_has_one_schema) {
  const auto dense = [](const char* name, DType dtype, Shape shape) {
    return ColumnBatch({{name, Column::dense(Tensor(dtype, std::move(shape)))}});
  };
  const ColumnBatch first = dense("x", DType::uint16, {1, 2, 2});
  const std::vector<ColumnBatch> others = {
      dense("y", DType::uint16, {1, 2, 2}),     dense("x", DType::int16, {1, 2, 2}),
      dense("x", DType::bfloat16, {1, 2, 2}),   dense("x", DType::uint16, {1, 2, 3}),
      dense("x", DType::uint16, {1, 3, 2}),     dense("x", DType::uint16, {1, 2}),
      first.with_column("y", first.column("x"))};
  for (const ColumnBatch& other : others) {
    ArrowArrayStream stream;
    export_arrow_stream(
        [&, call = 0]() mutable -> std::optional<ColumnBatch> {
          return call++ % 2 == 0 ? first : other;
        },
        &stream);
    ArrowArray array;
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(stream.get_next(&stream, &array), 0);
      array.release(&array);
      ASSERT_EQ(stream.get_next(&stream, &array), EINVAL);
      EXPECT_EQ(std::string(stream.get_last_error(&stream)),
                "invalid_argument: batch " + std::to_string(2 * i + 1) +
                    " has other names or types than the first; a stream of Arrow's has one schema "
                    "(a padded column needs a fixed width)");
    }
    stream.release(&stream);
  }
}

TEST(Arrow, a_stream_gives_errors_as_codes) {
  int call = 0;
  const auto next = [&call]() -> std::optional<ColumnBatch> {
    switch (call++) {
      case 0:
        throw Error(ErrorCode::resource_exhausted, "full");
      case 1:
        throw std::bad_alloc();
      case 2:
        throw std::runtime_error("no disk");
      case 3:
        throw 7;
      case 4:
        throw Error(ErrorCode::invalid_argument, "wrong");
      default:
        throw Error(ErrorCode::not_found, "gone");
    }
  };
  ArrowArrayStream stream;
  export_arrow_stream(next, &stream);
  ArrowSchema schema;
  for (const auto& [code, text] :
       {std::pair(ENOMEM, "resource_exhausted: full"), std::pair(ENOMEM, "there is no memory"),
        std::pair(EIO, "no disk"),
        std::pair(EIO, "the source threw something that is no std::exception"),
        std::pair(EINVAL, "invalid_argument: wrong"), std::pair(EIO, "not_found: gone")}) {
    EXPECT_EQ(stream.get_schema(&stream, &schema), code);
    EXPECT_STREQ(stream.get_last_error(&stream), text);
  }
  stream.release(&stream);
}

TEST(Arrow, a_stream_without_batches_has_no_columns) {
  ArrowArrayStream stream;
  export_arrow_stream([] { return std::optional<ColumnBatch>(); }, &stream);
  ArrowSchema schema;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_EQ(schema.n_children, 0);
  schema.release(&schema);
  ArrowArray array;
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  EXPECT_EQ(array.release, nullptr);
  stream.release(&stream);
}

TEST(Arrow, a_stream_lets_go_of_its_source_at_the_end) {
  auto source = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = source;
  ArrowArrayStream stream;
  export_arrow_stream(
      [source = std::move(source)]() -> std::optional<ColumnBatch> {
        if ((*source)-- == 0) return std::nullopt;
        return ColumnBatch({{"x", Column::dense(Tensor::copy_of({1}, {3}))}});
      },
      &stream);
  ArrowArray array;
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  array.release(&array);
  EXPECT_FALSE(watched.expired());
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_TRUE(watched.expired()) << "before the stream itself is released";
  stream.release(&stream);
}

}  // namespace
}  // namespace infeed
