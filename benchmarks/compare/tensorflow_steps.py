"""TensorFlow's training steps on one thread, the twins of device_rows.cc; run by compare.py."""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

import peer

BATCH = 128

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def _variables():
    def kernel(*shape):
        return tf.Variable(tf.random.stateless_uniform(shape, [1, 2], -0.05, 0.05))

    shapes = [(3, 3, 1, 32), (3, 3, 32, 64), (7 * 7 * 64, 128), (128, 10)]
    kernels = [kernel(*shape) for shape in shapes]
    return kernels + [tf.Variable(tf.zeros(shape[-1:])) for shape in shapes]


def _step():
    """Forward, backward, and SGD with momentum; what it computes is used by the next one."""
    variables = _variables()
    velocities = [tf.Variable(tf.zeros(variable.shape)) for variable in variables]
    images = tf.random.stateless_uniform([BATCH, 28, 28, 1], [3, 4])
    labels = tf.range(BATCH) % 10

    def step():
        with tf.GradientTape() as tape:
            y = images
            for i in range(2):
                y = tf.nn.relu(tf.nn.conv2d(y, variables[i], 1, "SAME") + variables[4 + i])
                y = tf.nn.max_pool2d(y, 2, 2, "VALID")
            y = tf.reshape(y, [BATCH, -1])
            y = tf.nn.relu(y @ variables[2] + variables[6]) @ variables[3] + variables[7]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, y))
        for variable, velocity, gradient in zip(variables, velocities, tape.gradient(loss, variables)):
            velocity.assign(0.9 * velocity - 0.001 * gradient)
            variable.assign_add(velocity)
        return loss

    return step


def _measure(compile_step):
    def run(request):
        step = compile_step(_step())
        step().numpy()  # traced and compiled
        best = None
        start = time.perf_counter()
        while best is None or time.perf_counter() - start < request.seconds:
            begin = time.perf_counter()
            step().numpy()
            taken = time.perf_counter() - begin
            best = taken if best is None else min(best, taken)
        return best * 1e3
    return run


def main():
    peer.serve({"convnet, a step of 128 images, one thread": {
        "eager": _measure(lambda step: step),
        "tf.function": _measure(tf.function),
        "tf.function, XLA": _measure(lambda step: tf.function(step, jit_compile=True)),
    }})


if __name__ == "__main__":
    main()
