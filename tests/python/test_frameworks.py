"""Every dtype and shape in PyTorch, JAX and TensorFlow: equal values, who shares the memory, who may write,
and gradients flow. A framework that isn't installed is left out."""

import unittest

import numpy as np

import infeed
from adapted import needs
from columns import NUMBERS, SHAPES, address, counted, dense, mixed


@needs("torch")
class Torch(unittest.TestCase):
    def setUp(self):
        import torch  # pylint: disable=import-outside-toplevel
        self.torch = torch

    def test_every_dtype_and_shape(self):
        for dtype in NUMBERS + ["bfloat16"]:
            if not hasattr(self.torch, dtype):  # older versions have no unsigned integers but uint8
                continue
            for shape in SHAPES:
                column = _bfloat16(shape) if dtype == "bfloat16" else dense(dtype, shape)
                tensor = column.torch()
                self.assertEqual(str(tensor.dtype), f"torch.{dtype}")
                self.assertEqual(tuple(tensor.shape), shape)
                np.testing.assert_array_equal(tensor.to(self.torch.float64).numpy(),
                                              column.numpy().astype("float64"))
                if np.prod(shape) and dtype != "bfloat16":
                    self.assertEqual(tensor.data_ptr(), address(column.numpy()), (dtype, shape))

    def test_what_others_see_is_copied(self):
        source = counted("float32", (6, 2))
        shared = infeed.batch({"x": source})["x"]
        tensor = shared.torch()
        tensor += 1
        np.testing.assert_array_equal(shared.numpy(), counted("float32", (6, 2)))
        np.testing.assert_array_equal(source, counted("float32", (6, 2)))
        alone = dense("float32", (6, 2))
        alone.torch().add_(1)
        np.testing.assert_array_equal(alone.numpy(), counted("float32", (6, 2)) + 1)

    def test_slices_and_whole_batches(self):
        plain, batch = mixed()
        np.testing.assert_array_equal(batch["image"][2:4].torch(), plain["image"][2:4])
        tensors = batch[1:].torch()
        self.assertEqual(tensors["text"], plain["text"][1:])
        self.assertEqual(tensors["tokens"].to_list(), plain["tokens"].to_list()[1:])
        self.assertEqual(tensors["words"].to_list(), plain["words"].to_list()[1:])

    def test_gradients_flow(self):
        weight = self.torch.ones(3, requires_grad=True)
        (dense("float32", (4, 3)).torch() @ weight).sum().backward()
        np.testing.assert_array_equal(weight.grad, counted("float32", (4, 3)).sum(axis=0))


@needs("jax")
class Jax(unittest.TestCase):
    def setUp(self):
        import jax  # pylint: disable=import-outside-toplevel
        self.jax = jax

    def test_every_dtype_and_shape(self):
        for is_wide in (False, True):
            self.jax.config.update("jax_enable_x64", is_wide)
            for dtype in NUMBERS + ["bfloat16"]:
                for shape in SHAPES:
                    column = _bfloat16(shape) if dtype == "bfloat16" else dense(dtype, shape)
                    array = column.jax()
                    expected = dtype if is_wide else dtype.replace("64", "32")
                    self.assertEqual(str(array.dtype), expected)
                    self.assertEqual(array.shape, shape)
                    np.testing.assert_array_equal(np.asarray(array).astype("float64"),
                                                  column.numpy().astype("float64"))
        self.jax.config.update("jax_enable_x64", False)

    def test_the_same_memory_where_it_is_aligned(self):
        column = dense("float32", (64, 16))
        self.assertEqual(column.jax().unsafe_buffer_pointer(), address(column.numpy()))
        odd = dense("float32", (64, 3))[1:]  # begins 12 bytes further
        np.testing.assert_array_equal(odd.jax(), counted("float32", (64, 3))[1:])

    def test_computing_never_changes_what_others_see(self):
        source = counted("float32", (1024, 16))
        shared = infeed.batch({"x": source})["x"]
        add = self.jax.jit(lambda x: x + 1, donate_argnums=0)
        np.testing.assert_array_equal(add(shared.jax()), counted("float32", (1024, 16)) + 1)
        np.testing.assert_array_equal(source, counted("float32", (1024, 16)))

    def test_a_sharded_batch(self):
        from infeed import jax as infeed_jax  # pylint: disable=import-outside-toplevel
        mesh = self.jax.make_mesh((1,), ("data",))
        sharding = self.jax.sharding.NamedSharding(mesh, self.jax.sharding.PartitionSpec("data"))
        plain, batch = mixed()
        form = infeed_jax._Form(sharding)
        arrays = form(batch)
        self.assertEqual(arrays["image"].sharding, sharding)
        np.testing.assert_array_equal(arrays["image"], plain["image"])
        self.assertEqual(arrays["tokens"].to_list(), plain["tokens"].to_list())
        self.assertIsInstance(infeed_jax._Form({"label": sharding})(batch)["image"], np.ndarray)

    def test_gradients_flow(self):
        x = dense("float32", (4, 3)).jax()
        gradient = self.jax.grad(lambda weight: (x @ weight).sum())(np.ones(3, np.float32))
        np.testing.assert_array_equal(gradient, counted("float32", (4, 3)).sum(axis=0))


@needs("tensorflow")
class TensorFlow(unittest.TestCase):
    def setUp(self):
        import tensorflow  # pylint: disable=import-outside-toplevel
        self.tf = tensorflow

    def test_every_dtype_and_shape(self):
        for dtype in NUMBERS + ["bfloat16"]:
            for shape in SHAPES:
                column = _bfloat16(shape) if dtype == "bfloat16" else dense(dtype, shape)
                tensor = column.tf()
                self.assertEqual(tensor.dtype.name, dtype)
                self.assertEqual(tuple(tensor.shape), shape)
                np.testing.assert_array_equal(tensor.numpy().astype("float64"),
                                              column.numpy().astype("float64"))

    def test_memory_at_any_place(self):
        # TensorFlow itself takes such memory, and aborts the process at the slice.
        whole = dense("float32", (8, 5))
        for first in range(8):
            tensor = whole[first:].tf()
            np.testing.assert_array_equal(tensor[1:] * 2, counted("float32", (8, 5))[first + 1:] * 2)

    def test_computing_never_changes_what_others_see(self):
        source = counted("float32", (1024, 16))
        shared = infeed.batch({"x": source})["x"]
        results = [self.tf.function(lambda x: self.tf.nn.relu(x + 1) * 2)(shared.tf()) for _ in range(3)]
        np.testing.assert_array_equal(results[-1], (counted("float32", (1024, 16)) + 1) * 2)
        np.testing.assert_array_equal(source, counted("float32", (1024, 16)))

    def test_a_whole_batch(self):
        plain, batch = mixed()
        tensors = batch.tf()
        self.assertEqual(tensors["text"].numpy().tolist(), plain["text"])
        for name in ["tokens", "boxes", "words"]:
            self.assertIsInstance(tensors[name], self.tf.RaggedTensor)
            self.assertEqual(tensors[name].to_list(), plain[name].to_list())
        self.assertEqual(batch[0:0].tf()["text"].dtype, self.tf.string)

    def test_gradients_flow(self):
        weight = self.tf.Variable(np.ones((3, 1), np.float32))
        with self.tf.GradientTape() as tape:
            loss = self.tf.reduce_sum(dense("float32", (4, 3)).tf() @ weight)
        np.testing.assert_array_equal(tape.gradient(loss, weight)[:, 0],
                                      counted("float32", (4, 3)).sum(axis=0))


def _bfloat16(shape):
    import ml_dtypes  # pylint: disable=import-outside-toplevel
    return infeed.batch({"x": counted("float32", shape).astype(ml_dtypes.bfloat16)}, copy=True)["x"]


if __name__ == "__main__":
    unittest.main()
