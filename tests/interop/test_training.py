"""A hundred steps of each model beside TensorFlow's: the same weights and batches, losses within 1e-4.

TensorFlow rather than PyTorch, whose wheels for Linux bring gigabytes of CUDA.
"""

import pathlib
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import programs
from tensorflow_models import MODELS, batch_norms, shapes

STEPS = 100
BATCH = 32
RATES = {"mlp": 0.02, "convnet": 0.005, "resnet": 0.0005, "transformer": 0.02}
MOMENTUM = 0.9  # as in training_program.cc
LOSS_DIFFERENCE_MAX = 1e-4
STATISTICS_DIFFERENCE_MAX = 2e-4  # with n - 1 for n it would be 6e-4 where a channel has 32 x 7 x 7 values


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


def train_with_tensorflow(name, folder, images, labels, rate):
    """The losses, and the running statistics of batch norms behind the last step, by name."""
    variables, velocities = {}, {}
    files = {file.name for file in folder.glob("*.f32")} - {"images.f32"}
    for variable, shape in shapes(name).items():
        file = variable.replace("/", ".") + ".f32"
        files.remove(file)
        values = np.fromfile(folder / file, dtype=np.float32)
        variables[variable] = tf.Variable(values.reshape(shape))
        velocities[variable] = tf.Variable(tf.zeros(shape))
    norms = batch_norms(name)
    assert not files, f"variables that only infeed has: {files}"

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            logits = MODELS[name]({**variables, **norms}, x)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for variable, gradient in tape.gradient(loss, variables).items():
            velocities[variable].assign(MOMENTUM * velocities[variable] - rate * gradient)
            variables[variable].assign_add(velocities[variable])
        return loss

    losses = [float(step(images[first:first + BATCH], labels[first:first + BATCH]))
              for first in range(0, len(labels), BATCH)]
    statistics = {}
    for norm, layer in norms.items():
        statistics[f"{norm}/mean"] = layer.moving_mean.numpy()
        statistics[f"{norm}/variance"] = layer.moving_variance.numpy()
    return losses, statistics


def running_statistics(folder):
    return {file.stem.replace(".", "/"): np.fromfile(file, dtype=np.float32)
            for file in (folder / "after").glob("*.f32")}


class TrainingAsInTensorFlow(unittest.TestCase):
    def train(self, name, factor=1.0):
        """What infeed and TensorFlow make of it: losses and running statistics, each."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            images, labels = draw_batches(folder)
            ours = programs.train_with_infeed(name, folder, BATCH, RATES[name])
            statistics = running_statistics(folder)
            theirs, their_statistics = train_with_tensorflow(name, folder, images, labels, RATES[name] * factor)
        self.assertEqual(len(ours), STEPS)
        return (np.array(ours), statistics), (np.array(theirs), their_statistics)

    def expect_the_same_losses(self, name):
        (ours, statistics), (theirs, their_statistics) = self.train(name)
        difference = np.abs(ours - theirs).max()
        print(f"{name}: loss {ours[0]:.4f} to {ours[-1]:.4f}, at most {difference:.1e} from TensorFlow's")
        self.assertLess(difference, LOSS_DIFFERENCE_MAX)
        self.assertLess(ours[-10:].mean(), 0.8 * ours[:10].mean(), "it learns nothing")
        self.expect_the_same_statistics(statistics, their_statistics)

    def expect_the_same_statistics(self, ours, theirs):
        """Differences are in shares of a channel's standard deviation, or of its variance."""
        self.assertEqual(sorted(ours), sorted(theirs))
        greatest = {"mean": 0.0, "variance": 0.0}
        for name, values in theirs.items():
            norm, kind = name.rsplit("/", 1)
            variance = theirs[f"{norm}/variance"]
            difference = np.abs(ours[name] - values) / (variance if kind == "variance" else np.sqrt(variance))
            greatest[kind] = max(greatest[kind], difference.max())
        if theirs:
            print(f"running statistics of {len(theirs) // 2} norms: mean {greatest['mean']:.1e}, "
                  f"variance {greatest['variance']:.1e} from TensorFlow's")
        self.assertLess(max(greatest.values()), STATISTICS_DIFFERENCE_MAX)

    def test_mlp(self):
        self.expect_the_same_losses("mlp")

    def test_convnet(self):
        self.expect_the_same_losses("convnet")

    def test_resnet(self):  # with the running statistics of its batch norms
        self.expect_the_same_losses("resnet")

    def test_transformer(self):
        self.expect_the_same_losses("transformer")

    def test_another_rate_is_noticed(self):
        (ours, _), (theirs, _) = self.train("mlp", 1.01)
        self.assertGreater(np.abs(ours - theirs).max(), LOSS_DIFFERENCE_MAX)


if __name__ == "__main__":
    unittest.main()
