"""Writing Fashion-MNIST as TFRecord shards with TensorFlow's writer. The twin of convert_rows.cc."""

import gzip
import os
import shutil
import statistics
import time

import numpy as np
import tensorflow as tf

FOLDER = "/usr/share/datasets/fashion-mnist"
SHARDS = 16
RUNS = 3


def _read_idx(name, header_bytes):
    with gzip.open(os.path.join(FOLDER, name)) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header_bytes)


def _convert(folder):
    images = _read_idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 28 * 28)
    labels = _read_idx("train-labels-idx1-ubyte.gz", 8)
    for shard in range(SHARDS):
        name = os.path.join(folder, f"train-{shard:05}-of-{SHARDS:05}.tfrecord")
        with tf.io.TFRecordWriter(name) as writer:
            for i in range(len(images) * shard // SHARDS, len(images) * (shard + 1) // SHARDS):
                example = tf.train.Example(features=tf.train.Features(feature={
                    "image": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[images[i].tobytes()])),
                    "label": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[int(labels[i])]))}))
                writer.write(example.SerializeToString())


def _measure(request):
    folder = os.path.join(request.data, "tfdata-convert-out")
    seconds = []
    for _ in range(RUNS):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        start = time.perf_counter()
        _convert(folder)
        seconds.append(time.perf_counter() - start)
    shutil.rmtree(folder)
    return statistics.median(seconds)


def measurements():
    return {"convert Fashion-MNIST into 16 shards": _measure}
