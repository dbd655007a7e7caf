"""tf.data's main job: shards of Fashion-MNIST to batches. The twins of main_rows.cc and images.h."""

import glob
import os

import tensorflow as tf

from tfdata_drain import AUTOTUNE, elements_a_second
from tfdata_readers import parse_forms

BATCH = 1024
SIDE, PADDED = 28, 36
MEAN = 0.2860 * 255
DEVIATION = 0.3530 * 255
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}
NORMALISED = tf.cast((tf.range(256, dtype=tf.float32) - MEAN) / DEVIATION, tf.bfloat16)


def _shards(request):
    files = sorted(glob.glob(os.path.join(request.data, "fashion-mnist", "train-*.tfrecord")))
    assert len(files) == 16, files
    return files


def _parse(record):
    example = tf.io.parse_single_example(record, FEATURES)
    return tf.io.decode_raw(example["image"], tf.uint8), example["label"]


def _parse_batch(records):
    examples = tf.io.parse_example(records, FEATURES)
    return tf.io.decode_raw(examples["image"], tf.uint8, fixed_length=SIDE * SIDE), examples["label"]


# ---- an image at a time


def _augment(pixels, label):
    image = tf.reshape(pixels, [SIDE, SIDE, 1])
    image = tf.image.pad_to_bounding_box(image, 4, 4, PADDED, PADDED)
    image = tf.image.random_crop(image, [SIDE, SIDE, 1])
    image = tf.image.random_flip_left_right(image)
    image = (tf.cast(image, tf.float32) - MEAN) / DEVIATION
    return tf.cast(image, tf.bfloat16), tf.cast(label, tf.int32)


def _naive(request):
    return (tf.data.TFRecordDataset(_shards(request)).repeat().map(_parse).map(_augment)
            .batch(BATCH, drop_remainder=True))


def _per_image(**reads):
    """Parsing and augmentation in one map, which is faster than in two; all else by AUTOTUNE."""
    return lambda request: (
        tf.data.TFRecordDataset(_shards(request), **reads).repeat()
        .map(lambda record: _augment(*_parse(record)), num_parallel_calls=AUTOTUNE)
        .batch(BATCH, num_parallel_calls=AUTOTUNE, drop_remainder=True).prefetch(AUTOTUNE))


# ---- a batch at a time


def _draws():
    """Where each image's window begins, and whether it is mirrored."""
    top = tf.random.uniform([BATCH], 0, 9, tf.int32)
    left = tf.random.uniform([BATCH], 0, 9, tf.int32)
    return top, left, tf.random.uniform([BATCH]) < 0.5


def _crop_by_gather(pixels):
    top, left, flip = _draws()
    places = tf.range(SIDE)
    rows = top[:, None] + places
    columns = left[:, None] + tf.where(flip[:, None], SIDE - 1 - places, places)
    index = rows[:, :, None] * PADDED + columns[:, None, :]
    padded = tf.pad(tf.reshape(pixels, [BATCH, SIDE, SIDE]), [[0, 0], [4, 4], [4, 4]])
    return tf.gather(tf.reshape(padded, [BATCH, PADDED * PADDED]), index, batch_dims=1)


def _by_gather(pixels, labels):
    images = (tf.cast(_crop_by_gather(pixels), tf.float32) - MEAN) / DEVIATION
    return tf.cast(images, tf.bfloat16), tf.cast(labels, tf.int32)


def _by_gather_and_table(pixels, labels):
    """A pixel has 256 values: each is normalised once, as on our side."""
    images = tf.gather(NORMALISED, tf.cast(_crop_by_gather(pixels), tf.int32))
    return images, tf.cast(labels, tf.int32)


def _by_projection(pixels, labels):
    top, left, flip = _draws()
    down = tf.cast(top - 4, tf.float32)
    right = tf.cast(left - 4, tf.float32)
    zero, one = tf.zeros([BATCH]), tf.ones([BATCH])
    transforms = tf.stack([tf.where(flip, -one, one), zero, tf.where(flip, SIDE - 1 + right, right),
                           zero, one, down, zero, zero], axis=1)
    images = tf.raw_ops.ImageProjectiveTransformV3(
        images=tf.reshape(pixels, [BATCH, SIDE, SIDE, 1]), transforms=transforms,
        output_shape=[SIDE, SIDE], fill_value=0.0, interpolation="NEAREST")
    images = (tf.cast(images, tf.float32) - MEAN) / DEVIATION
    return tf.cast(images, tf.bfloat16), tf.cast(labels, tf.int32)


_READ = "interleave(read, batch), parse"


def _vectorised(augment, read=_READ):
    def make(request):
        return parse_forms(_shards(request), BATCH,
                           lambda records: augment(*_parse_batch(records)))[read]()

    return make


def _vectorised_behind_cache(augment):
    def make(request):
        parsed = (tf.data.TFRecordDataset(_shards(request)).batch(BATCH, drop_remainder=True)
                  .map(_parse_batch, num_parallel_calls=AUTOTUNE).cache())
        return parsed.repeat().map(augment, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)

    return make


def _images_a_second(make):
    return lambda request: BATCH * elements_a_second(lambda: make(request), request)


def _read_and_parse(form):
    return _images_a_second(
        lambda request: parse_forms(_shards(request), BATCH, _parse_batch)[form]())


def measurements():
    per_image = {"parallel reads": _per_image(num_parallel_reads=AUTOTUNE),
                 "one reader": _per_image()}
    vectorised = {
        "pad and one gather": _vectorised(_by_gather),
        "pad, gather, table": _vectorised(_by_gather_and_table),
        "pad, gather, table, all in the interleave":
            _vectorised(_by_gather_and_table, "interleave(read, batch, parse)"),
        "ImageProjectiveTransformV3": _vectorised(_by_projection),
        "cache, pad and one gather": _vectorised_behind_cache(_by_gather),
        "cache, pad, gather, table": _vectorised_behind_cache(_by_gather_and_table),
    }
    return {
        "read, parse, batch: Fashion-MNIST shards": {
            form: _read_and_parse(form) for form in parse_forms([""], BATCH, None)},
        "naive, augmented an image at a time": _images_a_second(_naive),
        "tuned, augmented an image at a time, as in tutorials": {
            form: _images_a_second(make) for form, make in per_image.items()},
        "tuned, the peer augments a batch at a time": {
            form: _images_a_second(make) for form, make in vectorised.items()},
    }
