#include "infeed/records/dlpack.h"

#include <memory>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "infeed/records/dtype.h"
#include "infeed/records/tensor.h"
#include "matchers.h"

/// Ownership of exported memory; tests/interop/test_columns.py reads it in Python.
namespace infeed {
namespace {

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

TEST(DLPack, each_type_has_its_code_and_bits) {
  using enum DType;
  for (const auto& [dtype, code, bits] :
       {std::tuple(boolean, dlpack::kDLBool, 8), std::tuple(int8, dlpack::kDLInt, 8),
        std::tuple(int16, dlpack::kDLInt, 16), std::tuple(int32, dlpack::kDLInt, 32),
        std::tuple(int64, dlpack::kDLInt, 64), std::tuple(uint8, dlpack::kDLUInt, 8),
        std::tuple(uint16, dlpack::kDLUInt, 16), std::tuple(uint32, dlpack::kDLUInt, 32),
        std::tuple(uint64, dlpack::kDLUInt, 64), std::tuple(DType::float16, dlpack::kDLFloat, 16),
        std::tuple(DType::bfloat16, dlpack::kDLBfloat, 16),
        std::tuple(float32, dlpack::kDLFloat, 32), std::tuple(float64, dlpack::kDLFloat, 64)}) {
    dlpack::DLManagedTensor* const exported = export_dlpack_unversioned(Tensor(dtype, {1}));
    EXPECT_EQ(exported->dl_tensor.dtype.code, code) << to_string(dtype);
    EXPECT_EQ(exported->dl_tensor.dtype.bits, bits) << to_string(dtype);
    EXPECT_EQ(exported->dl_tensor.dtype.lanes, 1);
    exported->deleter(exported);
  }
}

TEST(DLPack, strides_count_items) {
  dlpack::DLManagedTensorVersioned* exported = export_dlpack(Tensor(DType::int8, {4, 2, 3}));
  EXPECT_EQ(exported->version.minor, 0U);
  EXPECT_EQ(exported->dl_tensor.ndim, 3);
  EXPECT_EQ(exported->dl_tensor.byte_offset, 0U);
  EXPECT_EQ(exported->dl_tensor.device.device_id, 0);
  EXPECT_THAT(std::span(exported->dl_tensor.strides, 3), ElementsAre(6, 3, 1));
  exported->deleter(exported);
  exported = export_dlpack(Tensor(DType::int8, {2, 0, 3}));
  EXPECT_THAT(std::span(exported->dl_tensor.shape, 3), ElementsAre(2, 0, 3));
  EXPECT_THAT(std::span(exported->dl_tensor.strides, 3), ElementsAre(3, 3, 1));
  exported->deleter(exported);
}

}  // namespace
}  // namespace infeed
