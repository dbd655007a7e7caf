"""tf.data, stage by stage. The twins of engine_rows.cc and thread_rows.cc, under the same names."""

import time

import numpy as np
import tensorflow as tf

from tfdata_drain import AUTOTUNE, drain_seconds, stage


def _range(n):
    return tf.data.Dataset.range(n)


def _map_ten_times(dataset):
    for _ in range(10):
        dataset = dataset.map(lambda x: x + 1)
    return dataset


def _slices(values, n):
    return tf.data.Dataset.from_tensor_slices(values).repeat(n // 1000 + 1).take(n)


# The sources are the cheapest that tf.data has for such elements; ours makes each one by a map.
_LINES = np.zeros([1000, 16], np.float32)
_TEXTS = np.array([b"a" * 40] * 1000)


def _interleave(n, calls):
    return _range(n // 1000).interleave(lambda _: _range(1000), cycle_length=16,
                                        num_parallel_calls=calls)


def _cache(request):
    """The second pass over a cache; the first one fills it."""

    def seconds(n):
        # ignore_errors() knows no jumping, so that shard() makes all elements and hands over the
        # last one of each pass.
        iterator = iter(_range(n).cache().repeat(2).ignore_errors().shard(n, n - 1))
        next(iterator)
        start = time.perf_counter()
        next(iterator)
        return time.perf_counter() - start

    n = 64_000
    while (elapsed := seconds(n)) < request.seconds / 6:
        n *= 4
    return elapsed / n * 1e9


def _hold_backs_ms():
    """Hold-backs of elements that come every 20 ms, through three maps and a prefetch."""

    def source():
        start = time.perf_counter() + 0.02
        for i in range(75):
            time.sleep(max(0.0, start + i * 0.02 - time.perf_counter()))
            yield time.perf_counter()

    dataset = tf.data.Dataset.from_generator(
        source, output_signature=tf.TensorSpec([], tf.float64))
    for _ in range(3):
        dataset = dataset.map(lambda x: x)
    return [(time.perf_counter() - float(given)) * 1e3 for given in dataset.prefetch(AUTOTUNE)]


def _resume_ms(_):
    """tf.data's way to a place that was not saved: make and drop what comes before it."""
    dataset = _range(100_000_000).shuffle(10_000, seed=42)
    return drain_seconds(dataset, 1_000_001) * 1e3


def measurements():
    return {
        "range": stage(lambda n: (_range(n), n)),
        "map": stage(lambda n: (_range(n).map(lambda x: x + 1), n)),
        "range | map x10": stage(lambda n: (_map_ten_times(_range(n)), n), start_n=640),
        "filter": stage(lambda n: (_range(n).filter(lambda x: x % 2 == 0), n // 2)),
        "shuffle(10000)": stage(lambda n: (_range(n).shuffle(10_000, seed=42), n), start_n=64_000),
        "scan": stage(lambda n: (
            _range(n).scan(tf.constant(0, tf.int64), lambda total, x: (total + x, total + x)), n)),
        "batch(128)": stage(lambda n: (_range(n).batch(128), n // 128), start_n=12_800),
        "batch(128) | unbatch": stage(lambda n: (_range(n).batch(128).unbatch(), n),
                                      start_n=12_800),
        "take_while": stage(lambda n: (_range(n).take_while(lambda x: x < n), n)),
        "unique": stage(lambda n: (_range(n).unique(), n)),
        "repeat": stage(lambda n: (_range(1000).repeat(n // 1000 + 1).take(n), n)),
        "enumerate": stage(lambda n: (_range(n).enumerate(), n)),
        "take": stage(lambda n: (_range(2 * n).take(n), n)),
        "skip": stage(lambda n: (_range(n + 1000).skip(1000), n)),
        "shard(4)": stage(lambda n: (_range(4 * n).shard(4, 1), n)),
        "prefetch(2)": stage(lambda n: (_range(n).prefetch(2), n)),
        "prefetch(autotune)": stage(lambda n: (_range(n).prefetch(AUTOTUNE), n), start_n=64_000),
        "range | map | shuffle(10000) | batch(128) | prefetch": stage(
            lambda n: (_range(n).map(lambda x: x + 1).shuffle(10_000, seed=42).batch(128)
                       .prefetch(AUTOTUNE), n // 128), start_n=12_800),
        "zip": stage(lambda n: (tf.data.Dataset.zip((_range(n), _range(n))), n)),
        "flat_map": stage(lambda n: (_range(n // 1000).flat_map(lambda _: _range(1000)),
                                     n // 1000 * 1000), start_n=16_000),
        "interleave(16)": stage(lambda n: (_interleave(n, None), n // 1000 * 1000), start_n=16_000),
        "interleave(16), parallel": stage(lambda n: (_interleave(n, AUTOTUNE), n // 1000 * 1000),
                                          start_n=16_000),
        "window(10)": stage(lambda n: (_range(n).window(10), n // 10), start_n=12_800),
        "padded_batch(32)": stage(
            lambda n: (_range(n).map(lambda x: tf.fill([x % 20], x)).padded_batch(32), n // 32),
            start_n=12_800),
        "cache": _cache,
        "map, 64-byte elements": stage(lambda n: (_slices(_LINES, n).map(lambda x: x + 1), n)),
        "shuffle(10000), 64-byte elements": stage(
            lambda n: (_slices(_LINES, n).shuffle(10_000, seed=42), n), start_n=64_000),
        "batch(128), 64-byte elements": stage(
            lambda n: (_slices(_LINES, n).batch(128), n // 128), start_n=12_800),
        "map, std::string": stage(
            lambda n: (_slices(_TEXTS, n).map(lambda x: tf.strings.join([x, "!"])), n)),
        "shuffle(10000), std::string": stage(
            lambda n: (_slices(_TEXTS, n).shuffle(10_000, seed=42), n), start_n=64_000),
        "batch(128), std::string": stage(
            lambda n: (_slices(_TEXTS, n).batch(128), n // 128), start_n=12_800),
        "hold-back of an element every 20 ms, median": lambda _: float(np.median(_hold_backs_ms())),
        "hold-back of an element every 20 ms, longest": lambda _: max(_hold_backs_ms()),
        "resume at element 1,000,000 of shuffle(10000)": _resume_ms,
    }
