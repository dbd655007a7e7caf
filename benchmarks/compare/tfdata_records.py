"""tf.data on record files of several kinds. The twins of records_rows.cc and record_kinds.h."""

import glob
import os

import tensorflow as tf

from tfdata_drain import elements_a_second
from tfdata_readers import parse_forms

BATCH = 128


def _files(request, kind):
    files = sorted(glob.glob(os.path.join(request.data, kind, "data-*.tfrecord")))
    assert len(files) == (1 if kind == "text-one-gzip" else 4), files
    return files


def _compression(kind):
    return "GZIP" if kind.endswith("-gzip") else ""


def _read(kind):
    """Reading alone: one thread, checksums verified, as TFRecordDataset always does."""

    def reader(request, **more):
        return tf.data.TFRecordDataset(_files(request, kind), compression_type=_compression(kind),
                                       **more).repeat()

    return {
        "as written": lambda request: elements_a_second(lambda: reader(request), request),
        "reads of 8 MiB": lambda request: elements_a_second(
            lambda: reader(request, buffer_size=8 << 20), request),
        "batches of 128": lambda request: BATCH * elements_a_second(
            lambda: reader(request).batch(BATCH, drop_remainder=True), request),
    }


FORMS = list(parse_forms([""], BATCH, None))


def _parse(kind, features, decode=lambda columns: columns):
    def measure(form):
        def records_a_second(request):
            make = parse_forms(_files(request, kind), BATCH,
                               lambda batch: decode(tf.io.parse_example(batch, features)),
                               _compression(kind))[form]
            return BATCH * elements_a_second(make, request)

        return records_a_second

    return {form: measure(form) for form in FORMS}


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
        "parse, 112 KB images, mapped": _parse("image-112k", _IMAGE, _decode_image),
        "parse, 40 scalars": _parse("scalars", {f"s{i:02}": _one(tf.float32) for i in range(40)}),
        "parse, 768 floats": _parse(
            "floats", {"values": tf.io.FixedLenFeature([768], tf.float32), "label": _one(tf.int64)}),
        "parse, 512 tokens": _parse(
            "tokens", {"tokens": tf.io.FixedLenFeature([512], tf.int64),
                       "mask": tf.io.FixedLenFeature([512], tf.int64)}),
        "parse, 2 KB text": _parse("text", {"text": _one(tf.string)}),
        "parse, gzip text": _parse("text-gzip", {"text": _one(tf.string)}),
        "parse, one gzip file with flush points": _parse("text-one-gzip",
                                                         {"text": _one(tf.string)}),
    }
