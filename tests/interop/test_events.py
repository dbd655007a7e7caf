"""Event files: the real tensorboard reads what `infeed train` writes."""

import json
import os
import tempfile
import unittest

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import programs

EPOCHS = 3


class LearningCurves(unittest.TestCase):

    def test_tensorboard_shows_what_the_json_says(self):
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            result_file = os.path.join(folder, "result.json")
            programs.infeed("train", "--seconds", "0.1", "--epochs", str(EPOCHS), "--work",
                            os.path.join(folder, "work"), "--json", result_file)
            with open(result_file) as file:
                result = json.load(file)
            epochs = result["training"]["epochs"]
            self.assertEqual(len(epochs), EPOCHS)
            # The rate is the training's alone.
            for run, keys in (("train", {"epoch_loss": "loss", "epoch_accuracy": "accuracy",
                                         "epoch_learning_rate": "learning_rate"}),
                              ("validation", {"epoch_loss": "test_loss",
                                              "epoch_accuracy": "test_accuracy"})):
                events = EventAccumulator(os.path.join(result["log_folder"], run))
                events.Reload()
                self.assertEqual(sorted(events.Tags()["scalars"]), sorted(keys))
                for tag, key in keys.items():
                    points = events.Scalars(tag)
                    # As Keras counts them; the table counts from 1.
                    self.assertEqual([point.step for point in points],
                                     [epoch["epoch"] - 1 for epoch in epochs])
                    # TensorBoard keeps float32.
                    np.testing.assert_array_equal(
                        np.array([point.value for point in points], np.float32),
                        np.array([epoch[key] for epoch in epochs], np.float32),
                        err_msg=f"{run}/{tag}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
