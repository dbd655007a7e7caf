"""Training scripts of PyTorch, JAX and Keras, killed twice and started again, print the losses of a run that
nobody stopped. They take long to start, so this is part of the long form only (run.sh --long)."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

import data

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_MAX = 240


@unittest.skipUnless(os.environ.get("INFEED_PYTHON_LONG"), "part of the long form")
class Training(unittest.TestCase):
    def lines(self, script, folder, kill_after=None):
        """Returns the printed losses by step; kills the script once so many are there."""
        environment = {**os.environ, "KERAS_BACKEND": "jax", "TF_CPP_MIN_LOG_LEVEL": "2"}
        process = subprocess.Popen([sys.executable, os.path.join(HERE, "training", script), self.data, folder],
                                   stdout=subprocess.PIPE, text=True, env=environment)
        printed = {}
        for line in process.stdout:
            step, value = line.split()
            printed[int(step)] = value
            if kill_after is not None and len(printed) == kill_after:
                process.send_signal(signal.SIGKILL)
        process.stdout.close()
        self.assertEqual(process.wait(SECONDS_MAX), 0 if kill_after is None else -signal.SIGKILL)
        return printed

    def check(self, script):
        with tempfile.TemporaryDirectory() as self.data, tempfile.TemporaryDirectory() as folder:
            data.make(self.data)
            with tempfile.TemporaryDirectory() as other:
                whole = self.lines(script, other)
            self.assertEqual(list(whole), list(range(1, 1 + -(-data.RECORDS * 3 // 32))))
            parts = self.lines(script, folder, kill_after=10)
            parts |= self.lines(script, folder, kill_after=13)
            parts |= self.lines(script, folder)
            self.assertEqual(parts, whole)

    def test_torch(self):
        self.check("train_torch.py")

    def test_jax(self):
        self.check("train_jax.py")

    def test_keras(self):
        self.check("train_keras.py")


if __name__ == "__main__":
    unittest.main()
