"""tf.data's side of the tuner's benchmark: the same workloads, everything left to AUTOTUNE, within the
same budget of memory. Run by autotune.py with the environment's Python; it stays, and answers a JSON
object a line ({"name", "seconds", "data", "memory_mib"}) with one.

What takes time is an operation of TensorFlow's own, never a Python function, which would hold the
interpreter's lock: computing is drawing as many random numbers as take that long on one core (found
out at the start), waiting is the dataset that tf.data's own tests sleep with.
"""

import glob
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402
from tensorflow.python.data.experimental.ops import testing  # noqa: E402

AUTOTUNE = tf.data.AUTOTUNE
ENDLESS = 1 << 50
BUCKET_SECONDS = 0.1
# Tensors pass to Python in half of a bucket at least, where they are small.
STEP_SECONDS = 0.05


# Its interleave stays at two calls at a time in the pool that it has by default, one a core.
THREADS_WHERE_IT_WAITS = 64


def _options(memory_mib=None, threads=None):
    options = tf.data.Options()
    if threads:
        options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1  # a function is work for one core
    if memory_mib:
        options.autotune.ram_budget = memory_mib << 20
    return options


def _draw(number, count):
    return tf.random.stateless_normal([count], [number, 1])[0]


def _behind(number, count):
    """The number, once so many were drawn; what isn't used for it is pruned from the graph."""
    return number + tf.cast(_draw(number, count) > 1000.0, tf.int64)


class Computing:
    """How many random numbers take so many microseconds, with what calling a function costs."""

    def __init__(self):
        self._small, self._large = self._us(1000), self._us(50_000)

    @staticmethod
    def _us(count):
        dataset = tf.data.Dataset.range(ENDLESS).map(lambda x: _draw(x, count), synchronous=True)
        iterator = iter(dataset.with_options(_options()).ignore_errors().shard(200, 199))
        next(iterator)
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            next(iterator)
            times.append(time.perf_counter() - begin)
        return min(times) / 200 * 1e6

    def count(self, us):
        return max(1, int(1000 + (us - self._small) * 49_000 / (self._large - self._small)))

    def of(self, us):
        count = self.count(us)

        return lambda x: _behind(x, count)


def _endless():
    return tf.data.Dataset.range(ENDLESS)


def _waiting(us):
    """As many at once as AUTOTUNE likes, up to 64."""
    return tf.data.Dataset.range(64).interleave(
        lambda _: _endless().apply(testing.sleep(us)), cycle_length=64, num_parallel_calls=AUTOTUNE)


def _slow_one_of_100(computing):
    few, many = computing.count(20), computing.count(2000)

    def function(x):
        is_slow = tf.equal(tf.math.floormod(x * 7919, 128), 0)
        return _behind(x, tf.where(is_slow, many, few))

    return function


def _files(data, kind):
    files = sorted(glob.glob(os.path.join(data, kind, "data-*.tfrecord")))
    assert files, f"no record files in {data}/{kind}"
    return files


def _records(data, kind):
    return tf.data.Dataset.from_tensor_slices(_files(data, kind)).interleave(
        lambda file: tf.data.TFRecordDataset(file).repeat(), num_parallel_calls=AUTOTUNE)


FEATURES = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}


def _parse(records):
    columns = tf.io.parse_example(records, FEATURES)
    return tf.io.decode_raw(columns["image"], tf.uint8), columns["label"]


def _photograph(record):
    """As the reference programs for ImageNet do it: the shape from the header, then the crop alone."""
    example = tf.io.parse_single_example(record, FEATURES)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(example["image"]),
        bounding_boxes=tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4]), min_object_covered=0.0,
        aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1.0), max_attempts=10,
        use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.io.decode_and_crop_jpeg(example["image"], window, channels=3,
                                       dct_method="INTEGER_FAST")
    return tf.image.random_flip_left_right(tf.image.resize(image, [224, 224])), example["label"]


def shapes(computing, data):
    """Each workload's dataset and the consumer's step in seconds."""
    def mapped(dataset, us):
        return dataset.map(computing.of(us), num_parallel_calls=AUTOTUNE)

    def stalls():
        parts = tf.data.Dataset.range(1999).concatenate(
            tf.data.Dataset.range(1).apply(testing.sleep(200_000)))
        return mapped(_endless().flat_map(lambda _: parts), 50)

    return {
        "computing": (lambda: mapped(_endless(), 200), 0),
        "waiting": (lambda: _waiting(5000), 0),
        "waiting, slow consumer": (lambda: _waiting(5000), 1e-3),
        "two in balance": (lambda: mapped(mapped(_endless(), 100), 100), 0),
        "waiting and computing": (lambda: mapped(_waiting(1000), 100), 0),
        "tiny elements": (lambda: _endless().map(lambda x: 3 * x, num_parallel_calls=AUTOTUNE), 0),
        "one of 100 is slow": (lambda: _endless().map(_slow_one_of_100(computing),
                                                      num_parallel_calls=AUTOTUNE), 0),
        "storage stalls": (stalls, 200e-6),
        "cached": (lambda: mapped(tf.data.Dataset.range(2000), 100).cache().repeat(), 0),
        "slow consumer": (lambda: mapped(_endless(), 100), 1e-3),
        "a serial filter": (lambda: mapped(_endless().filter(
            lambda x: computing.of(40)(x) >= 0), 20), 0),
        # Batches are made behind each reader: to hand over each record by itself is much slower.
        "read and parse": (lambda: tf.data.Dataset.from_tensor_slices(
            _files(data, "image-784")).interleave(
                lambda file: tf.data.TFRecordDataset(file).repeat().batch(
                    128, drop_remainder=True), num_parallel_calls=AUTOTUNE).map(
                        _parse, num_parallel_calls=AUTOTUNE), 0),
        "JPEG": (lambda: _records(data, "photos").map(_photograph, num_parallel_calls=AUTOTUNE)
                 .batch(8, drop_remainder=True), 0),
    }


def _status_mib(key):
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":")) / 1024


def _steps(dataset, count, seconds, step):
    """When steps of `count` elements were there, since the iterator was made. Nothing but the last
    element of each passes through Python, and behind ignore_errors() no stage jumps over any."""
    begin = time.perf_counter()
    iterator = iter(dataset.ignore_errors().shard(count, count - 1) if count > 1 else dataset)
    times = []
    while not times or times[-1] < seconds:
        next(iterator)
        times.append(time.perf_counter() - begin)
        if step:
            time.sleep(step)
    return times


def main():
    # Libraries print to the standard output now and then; the answer gets a channel of its own.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, seconds, data, memory_mib = sys.argv[1:]
    make, step = shapes(Computing(), data)[name]
    threads = THREADS_WHERE_IT_WAITS if name.startswith("waiting") else None

    def dataset():
        return make().prefetch(AUTOTUNE).with_options(_options(int(memory_mib), threads))

    before = _status_mib("VmRSS")
    count = 1
    while not step:
        times = _steps(dataset(), count, 0.7, 0)
        rate = count * len(times) / times[-1]
        if rate * STEP_SECONDS <= 2 * count:
            break
        count = max(2 * count, int(rate * STEP_SECONDS))
    times = _steps(dataset(), count, float(seconds), step)
    elements = [0.0] * (int(times[-1] / BUCKET_SECONDS) + 1)
    for at in times:
        elements[int(at / BUCKET_SECONDS)] += count
    print(json.dumps({"elements": elements, "resident_mib": _status_mib("VmHWM") - before}),
          file=answer)


if __name__ == "__main__":
    main()
