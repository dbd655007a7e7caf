#include <cerrno>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "infeed/records/arrow.h"
#include "infeed/records/dlpack.h"
#include "records/columns/drawn_columns.h"
#include "thrown_error.h"

// Arrow's own header would set these guards, and then be skipped.
#if !defined(ARROW_C_DATA_INTERFACE) || !defined(ARROW_C_STREAM_INTERFACE)
#error "the guards that Arrow's specification asks for are not set"
#endif

/// Ownership of exported memory; tests/interop/test_columns.py reads it in Python.
namespace infeed {
namespace {

using test::error_of;
using ::testing::ElementsAre;

TEST(DLPack, shows_the_memory_of_a_tensor_and_keeps_it) {
  auto owner = std::make_shared<std::vector<float>>(6, 1.5F);
  const std::weak_ptr<std::vector<float>> watched = owner;
  Tensor tensor = Tensor::adopt(DType::float32, {2, 3}, owner->data(), owner);
  owner.reset();
  dlpack::DLManagedTensorVersioned* const exported = export_dlpack(tensor);
  dlpack::DLManagedTensor* const old = export_dlpack_unversioned(tensor.slice(1, 1));
  EXPECT_EQ(exported->version.major, 1U);
  EXPECT_EQ(exported->flags, dlpack::kReadOnly);
  EXPECT_EQ(exported->dl_tensor.data, tensor.data());
  EXPECT_EQ(exported->dl_tensor.device.device_type, dlpack::kDLCPU);
  EXPECT_EQ(exported->dl_tensor.dtype.code, dlpack::kDLFloat);
  EXPECT_EQ(exported->dl_tensor.dtype.bits, 32);
  EXPECT_THAT(std::span(exported->dl_tensor.shape, 2), ElementsAre(2, 3));
  EXPECT_THAT(std::span(exported->dl_tensor.strides, 2), ElementsAre(3, 1));
  EXPECT_EQ(old->dl_tensor.data, tensor.data() + 12);
  tensor = Tensor();
  EXPECT_FALSE(watched.expired());
  exported->deleter(exported);
  EXPECT_FALSE(watched.expired());
  std::thread([old] { old->deleter(old); }).join();
  EXPECT_TRUE(watched.expired());
}

TEST(DLPack, a_tensor_that_is_given_away_may_be_written) {
  Tensor tensor(DType::bfloat16, {});
  const Tensor copy = tensor;
  dlpack::DLManagedTensorVersioned* exported = export_dlpack(std::move(tensor));
  EXPECT_EQ(exported->flags, dlpack::kReadOnly) << "there is a copy";
  EXPECT_EQ(exported->dl_tensor.ndim, 0);
  EXPECT_EQ(exported->dl_tensor.dtype.code, dlpack::kDLBfloat);
  exported->deleter(exported);
  exported = export_dlpack(Tensor(DType::boolean, {0, 2}));
  EXPECT_EQ(exported->flags, 0U);
  EXPECT_EQ(exported->dl_tensor.dtype.code, dlpack::kDLBool);
  EXPECT_NE(exported->dl_tensor.data, nullptr);
  exported->deleter(exported);
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

}  // namespace
}  // namespace infeed
