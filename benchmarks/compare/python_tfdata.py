"""tf.data on the images of the group `python`: from the same records, and from arrays in memory."""

import glob
import os

import tensorflow as tf

from python_loop import (
    FEATURES, FEATURES_ROWS, features_file, image_arrays, images_a_second, of_both_sizes, of_features)

_FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def _parse(batch):
    columns = tf.io.parse_example(batch, _FEATURES)
    return {"image": tf.io.decode_raw(columns["image"], tf.uint8), "label": columns["label"]}


def _forms(rows):
    def records(request, reads):
        files = sorted(glob.glob(os.path.join(request.data, "fashion-mnist", "train-*.tfrecord")))
        return (tf.data.TFRecordDataset(files, num_parallel_reads=reads).shuffle(10_000, seed=42).repeat()
                .batch(rows, drop_remainder=True).map(_parse, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE))

    def memory(request):
        images, labels = image_arrays(request)
        return (tf.data.Dataset.from_tensor_slices({"image": images, "label": labels})
                .shuffle(10_000, seed=42).repeat().batch(rows, drop_remainder=True).prefetch(tf.data.AUTOTUNE))

    ways = {"records": lambda request: records(request, None).as_numpy_iterator(),
            "records, parallel reads": lambda request: records(request, tf.data.AUTOTUNE).as_numpy_iterator(),
            "records, eager tensors": lambda request: records(request, tf.data.AUTOTUNE),
            "arrays in memory": lambda request: memory(request).as_numpy_iterator()}
    return {name: (lambda request, way=way: images_a_second(lambda: way(request), rows, request))
            for name, way in ways.items()}


_DEFAULTS = [tf.constant([], dtype=dtype) for dtype in FEATURES.values()]


def _csv_dataset(request, **more):
    return tf.data.experimental.make_csv_dataset(
        features_file(request), FEATURES_ROWS, column_defaults=_DEFAULTS, num_epochs=None,
        prefetch_buffer_size=tf.data.AUTOTUNE, **more).as_numpy_iterator()


def _decoded(request):
    lines = tf.data.TextLineDataset(features_file(request), buffer_size=8 << 20).skip(1).repeat()
    return lines.batch(FEATURES_ROWS, drop_remainder=True).map(
        lambda texts: dict(zip(FEATURES, tf.io.decode_csv(texts, _DEFAULTS))), tf.data.AUTOTUNE).prefetch(
            tf.data.AUTOTUNE).as_numpy_iterator()


_CSV = {"make_csv_dataset": _csv_dataset,
        "make_csv_dataset, not shuffled": lambda request: _csv_dataset(request, shuffle=False),
        "TextLineDataset, batch, decode_csv": _decoded}


def measurements():
    return {**of_both_sizes(_forms), **of_features(_CSV)}
