"""tf.data's side of `text`: CSV into batches, in the ways that its documentation shows."""

import os
import time

import tensorflow as tf

from tfdata_drain import AUTOTUNE

_ROWS = 256
_TYPES = [tf.int64] * 4 + [tf.float64] * 4 + [tf.string] * 2
_DEFAULTS = [tf.constant([], dtype=dtype) for dtype in _TYPES]


def _rate(request, make):
    """Megabytes a second, of as many batches as the time allows."""
    path = os.path.join(request.data, "table", "table.csv")
    bytes_a_row = os.path.getsize(path) / 2_000_000
    batches = 0
    iterator = iter(make(path))
    next(iterator)
    start = time.perf_counter()
    while time.perf_counter() - start < 4 * request.seconds:
        if next(iterator, None) is None:
            break
        batches += 1
    return batches * _ROWS * bytes_a_row / (time.perf_counter() - start) / 1e6


def _decoded(path):
    lines = tf.data.TextLineDataset(path, buffer_size=8 << 20).skip(1)
    return lines.batch(_ROWS, drop_remainder=True).map(
        lambda texts: tf.io.decode_csv(texts, _DEFAULTS), num_parallel_calls=AUTOTUNE).prefetch(
            AUTOTUNE)


def _csv_dataset(path, **more):
    return tf.data.experimental.CsvDataset(path, _DEFAULTS, header=True, **more).batch(
        _ROWS, drop_remainder=True).prefetch(AUTOTUNE)


def measurements():
    forms = {
        "CsvDataset, batch": _csv_dataset,
        "CsvDataset of 8 MiB, batch": lambda path: _csv_dataset(path, buffer_size=8 << 20),
        "TextLineDataset, batch, decode_csv": _decoded,
    }

    def measured(make):
        return lambda request: _rate(request, make)

    return {"csv to batches, in the pipeline": {form: measured(make) for form, make in forms.items()}}
