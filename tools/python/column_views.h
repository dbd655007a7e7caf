#pragma once

#include "python/column.h"

/// Why: what a framework does with memory of others is not what its documentation says, so each
/// gets values in the way that is safe for it.
///
/// | framework  | values that others see too (a cache, a second consumer) | begins at no multiple of 64 |
/// |------------|---------------------------------------------------------|-----------------------------|
/// | NumPy      | a read-only array                                       | as it is                    |
/// | PyTorch    | a copy: PyTorch has no read-only tensors                | as it is                    |
/// | JAX        | as they are: JAX's arrays are immutable                 | JAX copies                  |
/// | TensorFlow | as they are                                             | a copy: TensorFlow aborts   |
///
/// Values that are alone are shared with all of them, and writable in NumPy and PyTorch.
namespace infeed::python {

/// Returns a NumPy array of the values. bfloat16 becomes ml_dtypes.bfloat16 where that package is
/// installed, otherwise the bits as uint16.
nb::object numpy_array(const Tensor& values, bool is_writable);

/// Returns the capsule that __dlpack__ must return. Throws BufferError for a stream, or a device
/// that is not the CPU.
nb::object dlpack_capsule(const PyColumn& column, nb::handle stream, nb::handle max_version,
                          nb::handle dl_device, nb::handle copy);

/// Returns a column of copied values, which is alone.
PyColumn copied(const PyColumn& column);

/// Returns the rows as Python objects: bytes (str with an encoding), numbers, lists of them.
nb::list rows_as_objects(const Column& column, const std::optional<std::string>& encoding);

enum class Framework : std::uint8_t { numpy, torch, jax, tensorflow };
/// Returns the framework's form of a column. A padded column becomes its values with padding.
///
/// |              | NumPy                  | PyTorch, JAX  | TensorFlow                |
/// |--------------|------------------------|---------------|---------------------------|
/// | ragged       | infeed.Ragged          | infeed.Ragged | tf.RaggedTensor           |
/// | bytes        | array of bytes objects | list of bytes | tf.string                 |
/// | ragged_bytes | infeed.Ragged          | infeed.Ragged | tf.RaggedTensor of strings|
nb::object framework_column(const PyColumn& column, Framework framework);
/// Returns a dict of all columns; a padded column NAME is joined by NAME.lengths.
nb::dict framework_batch(const PyBatch& batch, Framework framework);

}  // namespace infeed::python
