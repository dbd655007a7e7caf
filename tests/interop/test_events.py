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
            for run, loss, accuracy in (("train", "loss", "accuracy"),
                                        ("validation", "test_loss", "test_accuracy")):
                events = EventAccumulator(os.path.join(result["log_folder"], run))
                events.Reload()
                self.assertEqual(sorted(events.Tags()["scalars"]),
                                 ["epoch_accuracy", "epoch_loss"])
                for tag, key in (("epoch_loss", loss), ("epoch_accuracy", accuracy)):
                    points = events.Scalars(tag)
                    self.assertEqual([point.step for point in points],
                                     [epoch["epoch"] for epoch in epochs])
                    # TensorBoard keeps float32.
                    np.testing.assert_array_equal(
                        np.array([point.value for point in points], np.float32),
                        np.array([epoch[key] for epoch in epochs], np.float32),
                        err_msg=f"{run}/{tag}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
