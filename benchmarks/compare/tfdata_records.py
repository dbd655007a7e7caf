"""tf.data on record files of several kinds. The twins of records_rows.cc and record_kinds.h."""

import glob
import os
import time

import tensorflow as tf

from tfdata_drain import AUTOTUNE, drain_seconds

BATCH = 128


def _files(request, kind):
    files = sorted(glob.glob(os.path.join(request.data, kind, "data-*.tfrecord")))
    assert len(files) == (1 if kind == "text-one-gzip" else 4), files
    return files


def _compression(kind):
    return "GZIP" if kind.endswith("-gzip") else ""


def _read(kind):
    """Reading alone: one thread, checksums verified, as TFRecordDataset always does."""

    def measure(request):
        def seconds(n):
            return drain_seconds(
                tf.data.TFRecordDataset(_files(request, kind),
                                        compression_type=_compression(kind)).repeat(), n)

        n = 1000
        while (elapsed := seconds(n)) < request.seconds / 6:
            n *= 4
        n = max(n, int(n * request.seconds / elapsed))
        return n / seconds(n)

    return measure


def _parse(kind, features, decode=lambda columns: columns):
    """Its best form: files side by side, one call that parses a whole batch, AUTOTUNE."""

    def measure(request):
        dataset = (
            tf.data.TFRecordDataset(_files(request, kind), compression_type=_compression(kind),
                                    num_parallel_reads=AUTOTUNE).repeat()
            .batch(BATCH)
            .map(lambda batch: decode(tf.io.parse_example(batch, features)),
                 num_parallel_calls=AUTOTUNE)
            .prefetch(AUTOTUNE))
        iterator = iter(dataset)

        def run_for(seconds):
            batches = 0
            start = time.perf_counter()
            while True:
                next(iterator)
                batches += 1
                elapsed = time.perf_counter() - start
                if elapsed >= seconds:
                    return batches * BATCH / elapsed

        run_for(request.seconds * 2)
        return run_for(request.seconds * 2)

    return measure


def _one(kind):
    return tf.io.FixedLenFeature([], kind)


_IMAGE = {"image": _one(tf.string), "label": _one(tf.int64)}


def _decode_image(columns):
    return tf.io.decode_raw(columns["image"], tf.uint8), columns["label"]


def measurements():
    return {
        "read, 784 B images, one core": _read("image-784"),
        "read, 2 KB images, one core": _read("image-2k"),
        "read, 112 KB images, one core": _read("image-112k"),
        "read, gzip text, one core": _read("text-gzip"),
        # It can't use a second core inside a file.
        "read, one gzip file with flush points, two cores": _read("text-one-gzip"),
        "parse, 784 B images": _parse("image-784", _IMAGE, _decode_image),
        "parse, 2 KB images": _parse("image-2k", _IMAGE, _decode_image),
        "parse, 112 KB images": _parse("image-112k", _IMAGE, _decode_image),
        "parse, 40 scalars": _parse("scalars", {f"s{i:02}": _one(tf.float32) for i in range(40)}),
        "parse, 768 floats": _parse(
            "floats", {"values": tf.io.FixedLenFeature([768], tf.float32), "label": _one(tf.int64)}),
        "parse, 512 tokens": _parse(
            "tokens", {"tokens": tf.io.FixedLenFeature([512], tf.int64),
                       "mask": tf.io.FixedLenFeature([512], tf.int64)}),
        "parse, 2 KB text": _parse("text", {"text": _one(tf.string)}),
        "parse, gzip text": _parse("text-gzip", {"text": _one(tf.string)}),
    }
