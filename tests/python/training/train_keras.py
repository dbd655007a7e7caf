"""Trains a classifier with Keras. Stopped at any moment, it goes on from its last checkpoint to the same losses."""

import json
import os
import sys

import keras

import infeed
import infeed.keras

data, folder, epochs = sys.argv[1], sys.argv[2], 3
adapter = (infeed.read(f"{data}/*.tfrecord*").shuffle(200, seed=1).repeat(epochs)
           .parse({"image": ("uint8", (48,)), "label": "int64"}).batch(32).prefetch()
           .keras(inputs="image", targets="label"))
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((48,)), keras.layers.Rescaling(1 / 255), keras.layers.Dense(500)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
last = {"step": 0}
if os.path.exists(f"{folder}/last.json"):
    with open(f"{folder}/last.json", encoding="utf-8") as file:
        last = json.load(file)
    model.load_weights(last["weights"])
    adapter.load_state_dict(last["data"])
place = infeed.keras.CurrentState(adapter)


class Save(keras.callbacks.Callback):
    """Writes the weights, then where they lie and the place in the data, after every batch."""

    def on_train_batch_end(self, batch, logs=None):
        step = last["step"] + batch + 1
        print(step, f"{sum(float(abs(w).sum()) for w in self.model.get_weights()):.4f}", flush=True)
        saved = {"step": step, "weights": f"{folder}/{step}.weights.h5", "data": place.state}
        self.model.save_weights(saved["weights"])
        with open(f"{folder}/new.json", "w", encoding="utf-8") as new:
            json.dump(saved, new)
        os.replace(f"{folder}/new.json", f"{folder}/last.json")


model.fit(adapter, epochs=1, verbose=0, callbacks=[place, Save()])
