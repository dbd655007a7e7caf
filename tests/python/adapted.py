"""The Dataset that the tests of adapters read, and what its loops must give."""

import importlib.util
import os
import unittest

import numpy as np

import infeed

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def needs(*names):
    """Leaves a test out where one of the packages isn't installed; in the long form all must be."""
    missing = [name for name in names if importlib.util.find_spec(name.split(".")[0]) is None]
    if missing and os.environ.get("INFEED_PYTHON_LONG"):
        raise ImportError(f"the long form needs {', '.join(missing)}")
    return unittest.skipIf(missing, f"{', '.join(missing)} isn't installed")


def rows(count=100):
    """Returns the rows that all tests here read."""
    return {"x": np.arange(count * 3, dtype=np.float32).reshape(count, 3), "y": np.arange(count),
            "text": [b"row %d" % i for i in range(count)]}


def dataset(size=8, count=100):
    """Returns shuffled batches; epochs differ."""
    return infeed.from_numpy(rows(count)).batch(size).shuffle(5, seed=7)


def labels(batches):
    """Returns the labels of each batch as lists."""
    return [np.asarray(batch["y"]).tolist() for batch in batches]


def expected(epoch=0):
    return labels(batch.numpy() for batch in dataset().iterate(epoch=epoch))
