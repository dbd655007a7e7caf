"""A hundred steps of each model beside TensorFlow's: the same weights and batches, losses within 1e-4.

TensorFlow rather than PyTorch, whose wheels for Linux bring gigabytes of CUDA.
"""

import pathlib
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import programs
from tensorflow_models import MODELS, shapes

STEPS = 100
BATCH = 32
RATES = {"mlp": 0.02, "convnet": 0.005, "resnet": 0.0005, "transformer": 0.02}
MOMENTUM = 0.9  # as in training_program.cc
LOSS_DIFFERENCE_MAX = 1e-4


def draw_batches(folder):
    """Ten classes of patterns with a little noise, around 0. A model learns them in few steps: where training is
    rough for long, a maximum of a pool that falls on another pixel by its last bit grows into another training."""
    random = np.random.default_rng(7)
    patterns = random.random((10, 784), dtype=np.float32)
    labels = random.integers(0, 10, STEPS * BATCH, dtype=np.int32)
    noise = random.random((STEPS * BATCH, 784), dtype=np.float32)
    images = (0.9 * patterns[labels] + 0.1 * noise - 0.5).astype(np.float32)
    images.tofile(folder / "images.f32")
    labels.tofile(folder / "labels.i32")
    return images, labels


def losses_of_tensorflow(name, folder, images, labels, rate):
    variables, velocities = {}, {}
    files = {file.name for file in folder.glob("*.f32")} - {"images.f32"}
    for variable, shape in shapes(name).items():
        file = variable.replace("/", ".") + ".f32"
        files.remove(file)
        values = np.fromfile(folder / file, dtype=np.float32)
        variables[variable] = tf.Variable(values.reshape(shape))
        velocities[variable] = tf.Variable(tf.zeros(shape))
    assert not files, f"variables that only infeed has: {files}"

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            logits = MODELS[name](variables, x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for variable, gradient in tape.gradient(loss, variables).items():
            velocities[variable].assign(MOMENTUM * velocities[variable] - rate * gradient)
            variables[variable].assign_add(velocities[variable])
        return loss

    return [float(step(images[first:first + BATCH], labels[first:first + BATCH]))
            for first in range(0, len(labels), BATCH)]


class TrainingAsInTensorFlow(unittest.TestCase):
    def losses(self, name, factor=1.0):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            images, labels = draw_batches(folder)
            ours = programs.train_with_infeed(name, folder, BATCH, RATES[name])
            theirs = losses_of_tensorflow(name, folder, images, labels, RATES[name] * factor)
        self.assertEqual(len(ours), STEPS)
        return np.array(ours), np.array(theirs)

    def expect_the_same_losses(self, name):
        ours, theirs = self.losses(name)
        difference = np.abs(ours - theirs).max()
        print(f"{name}: loss {ours[0]:.4f} to {ours[-1]:.4f}, at most {difference:.1e} from TensorFlow's")
        self.assertLess(difference, LOSS_DIFFERENCE_MAX)
        self.assertLess(ours[-10:].mean(), 0.8 * ours[:10].mean(), "it learns nothing")

    def test_mlp(self):
        self.expect_the_same_losses("mlp")

    def test_convnet(self):
        self.expect_the_same_losses("convnet")

    def test_resnet(self):
        self.expect_the_same_losses("resnet")

    def test_transformer(self):
        self.expect_the_same_losses("transformer")

    def test_another_rate_is_noticed(self):
        ours, theirs = self.losses("mlp", 1.01)
        self.assertGreater(np.abs(ours - theirs).max(), LOSS_DIFFERENCE_MAX)


if __name__ == "__main__":
    unittest.main()
