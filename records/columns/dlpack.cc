#include "infeed/records/dlpack.h"

#include <memory>
#include <utility>
#include <vector>

namespace infeed {
namespace {

dlpack::DLDataType dlpack_type_of(DType dtype) {
  std::uint8_t code = dlpack::kDLInt;
  if (dtype == DType::boolean) {
    code = dlpack::kDLBool;
  } else if (dtype == DType::bfloat16) {
    code = dlpack::kDLBfloat;
  } else if (is_float(dtype)) {
    code = dlpack::kDLFloat;
  } else if (dtype >= DType::uint8) {
    code = dlpack::kDLUInt;
  }
  return {code, static_cast<std::uint8_t>(8 * item_bytes(dtype)), 1};
}

/// The struct that a consumer gets, and all memory that it points at.
template <class Managed>
struct Exported {
  Tensor tensor;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  Managed managed{};
};

template <class Managed>
Managed* export_as(Tensor tensor) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->shape.assign(tensor.shape().begin(), tensor.shape().end());
  exported->strides.resize(exported->shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = exported->shape.size(); axis-- > 0;) {
    exported->strides[axis] = stride;
    stride *= exported->shape[axis] == 0 ? 1 : exported->shape[axis];
  }
  exported->managed.dl_tensor = {
      .data = detail::exported_data(tensor),
      .device = {dlpack::kDLCPU, 0},
      .ndim = static_cast<std::int32_t>(exported->shape.size()),
      .dtype = dlpack_type_of(tensor.dtype()),
      .shape = exported->shape.data(),
      .strides = exported->strides.data(),
      .byte_offset = 0,
  };
  exported->tensor = std::move(tensor);
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->manager_ctx);
  };
  return &exported.release()->managed;
}

}  // namespace

dlpack::DLManagedTensorVersioned* export_dlpack(Tensor tensor) {
  const bool is_writable = tensor.is_writable();
  dlpack::DLManagedTensorVersioned* const exported =
      export_as<dlpack::DLManagedTensorVersioned>(std::move(tensor));
  exported->version = {1, 0};
  exported->flags = is_writable ? 0 : dlpack::kReadOnly;
  return exported;
}

dlpack::DLManagedTensor* export_dlpack_unversioned(Tensor tensor) {
  return export_as<dlpack::DLManagedTensor>(std::move(tensor));
}

}  // namespace infeed
