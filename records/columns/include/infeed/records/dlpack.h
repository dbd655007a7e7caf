#pragma once

#include <cstdint>

#include "infeed/records/tensor.h"

/// Why: NumPy, JAX, PyTorch and TensorFlow take arrays from each other by DLPack, without a copy.
///
///     infeed::Tensor images(infeed::DType::float32, {32, 784});
///     infeed::dlpack::DLManagedTensorVersioned* exported = infeed::export_dlpack(images);
///     exported->deleter(exported);                               // the consumer does that
///
/// The structs have the layout of dlpack.h 1.0 (github.com/dmlc/dlpack, include/dlpack/dlpack.h).
/// They are in a namespace, so that a program may also include that header and cast the pointer.
///
/// Ownership: an exported tensor holds one reference to the Tensor's memory. Its consumer calls the
/// deleter once, on any thread, also when the Tensor and its pool are gone. Errors:
/// resource_exhausted.
namespace infeed {

namespace dlpack {

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLDevice {
  std::int32_t device_type;  ///< kDLCPU
  std::int32_t device_id;    ///< 0
};
inline constexpr std::int32_t kDLCPU = 1;

struct DLDataType {
  std::uint8_t code;  ///< one of the codes below
  std::uint8_t bits;
  std::uint16_t lanes;  ///< 1
};
inline constexpr std::uint8_t kDLInt = 0;
inline constexpr std::uint8_t kDLUInt = 1;
inline constexpr std::uint8_t kDLFloat = 2;
inline constexpr std::uint8_t kDLBfloat = 4;
inline constexpr std::uint8_t kDLBool = 6;

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in items; never null here
  std::uint64_t byte_offset;
};

/// The form before DLPack 1.0. It can't mark memory as read-only, so its consumer has to know.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
inline constexpr std::uint64_t kReadOnly = 1;  ///< DLPACK_FLAG_BITMASK_READ_ONLY

}  // namespace dlpack

/// Exports for a PyCapsule named "dltensor_versioned". The memory is read-only, unless the Tensor
/// was moved in and is_writable(): then nobody else sees the consumer's writes.
dlpack::DLManagedTensorVersioned* export_dlpack(Tensor tensor);
/// Exports for a PyCapsule named "dltensor", which older consumers ask for (those that don't pass
/// max_version).
dlpack::DLManagedTensor* export_dlpack_unversioned(Tensor tensor);

}  // namespace infeed
