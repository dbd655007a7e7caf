"""tf.data's main job: shards of Fashion-MNIST to batches. The twins of main_rows.cc and images.h."""

import glob
import os
import time

import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
BATCH = 1024
MEAN = 0.2860 * 255
DEVIATION = 0.3530 * 255
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}


def _images_a_second(dataset, request):
    """Images a second once the pipeline, which repeats for ever, has been running for a while (its
    autotuner starts from one thread)."""
    iterator = iter(dataset)

    def run_for(seconds):
        images = 0
        start = time.perf_counter()
        while True:
            images += int(next(iterator)[1].shape[0])
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return images / elapsed

    run_for(request.seconds * 3)
    return run_for(request.seconds * 4)


def _shards(request):
    files = sorted(glob.glob(os.path.join(request.data, "fashion-mnist", "train-*.tfrecord")))
    assert len(files) == 16, files
    return files


def _parse(record):
    example = tf.io.parse_single_example(record, FEATURES)
    return tf.io.decode_raw(example["image"], tf.uint8), example["label"]


def _parse_batch(records):
    examples = tf.io.parse_example(records, FEATURES)
    return tf.io.decode_raw(examples["image"], tf.uint8), examples["label"]


def _augment(pixels, label):
    image = tf.reshape(pixels, [28, 28, 1])
    image = tf.image.pad_to_bounding_box(image, 4, 4, 36, 36)
    image = tf.image.random_crop(image, [28, 28, 1])
    image = tf.image.random_flip_left_right(image)
    image = (tf.cast(image, tf.float32) - MEAN) / DEVIATION
    return tf.cast(image, tf.bfloat16), tf.cast(label, tf.int32)


def _read_and_parse(request):
    """Its best form: one call parses a whole batch."""
    return _images_a_second(
        tf.data.TFRecordDataset(_shards(request), num_parallel_reads=AUTOTUNE).repeat()
        .batch(BATCH).map(_parse_batch, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE), request)


def _naive(request):
    return _images_a_second(
        tf.data.TFRecordDataset(_shards(request)).repeat().map(_parse).map(_augment).batch(BATCH),
        request)


def _tuned(request):
    """Parsing and augmentation in one map, which is faster than in two; all else by AUTOTUNE."""
    return _images_a_second(
        tf.data.TFRecordDataset(_shards(request), num_parallel_reads=AUTOTUNE).repeat()
        .map(lambda record: _augment(*_parse(record)), num_parallel_calls=AUTOTUNE)
        .batch(BATCH, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE), request)


def measurements():
    return {
        "read, parse, batch: Fashion-MNIST shards": _read_and_parse,
        "naive pipeline with augmentation per image": _naive,
        "tuned pipeline with augmentation per image": _tuned,
    }
