"""Trains a classifier with JAX. Stopped at any moment, it goes on from its last checkpoint to the same losses."""

import os
import pickle
import sys

import jax
import jax.numpy as jnp

import infeed

data, folder, epochs = sys.argv[1], sys.argv[2], 3
batches = (infeed.read(f"{data}/*.tfrecord*").shuffle(200, seed=1).repeat(epochs)
           .parse({"image": ("uint8", (48,)), "label": "int64"}).batch(32).prefetch().jax())


@jax.jit
def step(weights, image, label):
    def loss_of(weights):
        scores = jax.nn.log_softmax(image / 255 @ weights)
        return -jnp.take_along_axis(scores, label[:, None] % 10, axis=1).mean()

    loss, gradient = jax.value_and_grad(loss_of)(weights)
    return weights - 0.05 * gradient, loss


weights = jnp.zeros((48, 10))
iterator = iter(batches)
checkpoint = f"{folder}/checkpoint.pickle"
if os.path.exists(checkpoint):
    with open(checkpoint, "rb") as file:
        weights, state = pickle.load(file)
    iterator.load_state_dict(state)
for batch in iterator:
    weights, loss = step(weights, batch["image"], batch["label"])
    print(iterator.position, f"{loss:.6f}", flush=True)
    with open(checkpoint + ".new", "wb") as file:
        pickle.dump((weights, iterator.state_dict()), file)
    os.replace(checkpoint + ".new", checkpoint)
