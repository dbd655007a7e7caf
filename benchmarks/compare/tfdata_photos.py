"""tf.data's side of the group "image": photographs to batches. The twin of image_rows.cc."""

import glob
import os

import tensorflow as tf

from tfdata_drain import AUTOTUNE, elements_a_second

BATCH, SIDE = 128, 224
ROW = "decode, random resized crop, flip, normalise: batches of 128"
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}
MEAN = tf.constant([0.485 * 255, 0.456 * 255, 0.406 * 255])
DEVIATION = tf.constant([0.229 * 255, 0.224 * 255, 0.225 * 255])
WHOLE = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])


def _files(request):
    files = sorted(glob.glob(os.path.join(request.data, "photos", "data-*.tfrecord")))
    assert len(files) == 4, files
    return files


def _crop(jpeg):
    """As the reference programs for ImageNet do it: the shape from the header, then the crop alone."""
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(jpeg), bounding_boxes=WHOLE, min_object_covered=0.0,
        aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1.0), max_attempts=10,
        use_image_if_no_bounding_boxes=True)
    top, left, _ = tf.unstack(begin)
    height, width, _ = tf.unstack(size)
    return tf.io.decode_and_crop_jpeg(jpeg, tf.stack([top, left, height, width]), channels=3,
                                      dct_method="INTEGER_FAST")


def _image(record):
    example = tf.io.parse_single_example(record, FEATURES)
    image = tf.image.resize(_crop(example["image"]), [SIDE, SIDE])
    return tf.image.random_flip_left_right(image), example["label"]


def _normalised(images, labels):
    return (images - MEAN) / DEVIATION, labels


def _records(request):
    return tf.data.Dataset.from_tensor_slices(_files(request)).repeat().interleave(
        tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=2)


def _an_image_at_a_time(threads, threadpool=None):
    def make(request):
        dataset = (_records(request).map(lambda record: _normalised(*_image(record)),
                                         num_parallel_calls=threads)
                   .batch(BATCH, drop_remainder=True).prefetch(AUTOTUNE))
        return _with_pool(dataset, threadpool)
    return make


def _normalised_as_batches(threads):
    def make(request):
        return (_records(request).map(_image, num_parallel_calls=threads)
                .batch(BATCH, drop_remainder=True).map(_normalised, num_parallel_calls=threads)
                .prefetch(AUTOTUNE))
    return make


def _with_pool(dataset, threads):
    if threads is None:
        return dataset
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1
    return dataset.with_options(options)


def measurements():
    forms = {
        "AUTOTUNE": _an_image_at_a_time(AUTOTUNE),
        "two calls": _an_image_at_a_time(2),
        "a thread pool of two": _an_image_at_a_time(2, threadpool=2),
        "normalised as batches": _normalised_as_batches(AUTOTUNE),
    }
    return {ROW: {form: (lambda request, make=make: BATCH * elements_a_second(
        lambda: make(request), request)) for form, make in forms.items()}}
