"""tf.data, stage by stage. The twins of engine_rows.cc and thread_rows.cc, under the same names."""

import os
import tempfile
import time

import numpy as np
import tensorflow as tf

from tfdata_drain import AUTOTUNE, drain_seconds, stage

_BATCH = 1024


def _range(n):
    return tf.data.Dataset.range(n)


def _add_one(x):
    return x + 1


def _ten_times(dataset, **how):
    for _ in range(10):
        dataset = dataset.map(_add_one, **how)
    return dataset


def _add_one_ten_times(x):
    for _ in range(10):
        x = _add_one(x)
    return x


def _vectorised(dataset, function):
    """One call for many elements, then elements again."""
    return dataset.batch(_BATCH).map(function, synchronous=True).unbatch()


def map_forms(source, function, **more):
    """What an expert writes for a cheap function: no hand-over to another thread (synchronous), a
    whole batch a call, or the default of the tutorials."""
    return stage(lambda n: (source(n).map(function), n),
                 synchronous=lambda n: (source(n).map(function, synchronous=True), n),
                 AUTOTUNE=lambda n: (source(n).map(function, num_parallel_calls=AUTOTUNE), n),
                 vectorised=lambda n: (_vectorised(source(n), function), n), **more)


def _slices(values, n):
    return tf.data.Dataset.from_tensor_slices(values).repeat(n // 1000 + 1).take(n)


# The sources are the cheapest that tf.data has for such elements; ours makes each one by a map.
_LINES = np.zeros([1000, 16], np.float32)
_TEXTS = np.array([b"a" * 40] * 1000)


def _interleave(n, calls):
    return _range(n // 1000).interleave(lambda _: _range(1000), cycle_length=16,
                                        num_parallel_calls=calls)


def _running_sums(total, xs):
    return total + tf.reduce_sum(xs), total + tf.cumsum(xs)


def _fill(x):
    return tf.fill([x % 20], x)


def _filled_batch(xs):
    """What _fill and padded_batch make of 32 elements, in one call."""
    return tf.where(tf.sequence_mask(xs % 20), xs[:, None], 0)


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


def _hold_backs_ms(synchronous=None):
    """Hold-backs of elements that come every 20 ms, through three maps and a prefetch."""

    def source():
        start = time.perf_counter() + 0.02
        for i in range(75):
            time.sleep(max(0.0, start + i * 0.02 - time.perf_counter()))
            yield time.perf_counter()

    dataset = tf.data.Dataset.from_generator(
        source, output_signature=tf.TensorSpec([], tf.float64))
    for _ in range(3):
        dataset = dataset.map(lambda x: x, synchronous=synchronous)
    return [(time.perf_counter() - float(given)) * 1e3 for given in dataset.prefetch(AUTOTUNE)]


def _hold_back(of_all):
    return {"as written": lambda _: float(of_all(_hold_backs_ms())),
            "synchronous": lambda _: float(of_all(_hold_backs_ms(True)))}


_POSITION = 1_000_000


def _resume_by_dropping_ms(_):
    """tf.data's way to a place that was not saved: make and drop what comes before it."""
    dataset = _range(100_000_000).shuffle(10_000, seed=42)
    return drain_seconds(dataset, _POSITION + 1) * 1e3


def _resume_by_checkpoint_ms(_):
    """To a place that was saved, with the whole buffer."""
    dataset = _range(100_000_000).shuffle(10_000, seed=42).skip(_POSITION)
    iterator = iter(dataset)
    next(iterator)
    with tempfile.TemporaryDirectory() as folder:
        saved = tf.train.Checkpoint(iterator=iterator).save(os.path.join(folder, "iterator"))
        start = time.perf_counter()
        resumed = iter(dataset)
        tf.train.Checkpoint(iterator=resumed).restore(saved)
        next(resumed)
        return (time.perf_counter() - start) * 1e3


def measurements():
    return {
        "range": stage(lambda n: (_range(n), n)),
        "map": map_forms(_range, _add_one),
        "range | map x10": stage(
            lambda n: (_ten_times(_range(n)), n), start_n=640, fusion=True,
            synchronous=lambda n: (_ten_times(_range(n), synchronous=True), n),
            vectorised=lambda n: (
                _ten_times(_range(n).batch(_BATCH), synchronous=True).unbatch(), n),
            vectorised__fused_by_hand=lambda n: (_vectorised(_range(n), _add_one_ten_times), n)),
        "filter": stage(
            lambda n: (_range(n).filter(lambda x: x % 2 == 0), n // 2),
            vectorised=lambda n: (
                _vectorised(_range(n), lambda x: tf.boolean_mask(x, x % 2 == 0)), n // 2)),
        "shuffle(10000)": stage(lambda n: (_range(n).shuffle(10_000, seed=42), n), start_n=64_000),
        "scan": stage(lambda n: (
            _range(n).scan(tf.constant(0, tf.int64), lambda total, x: (total + x, total + x)), n),
            vectorised=lambda n: (_range(n).batch(_BATCH).scan(tf.constant(0, tf.int64),
                                                               _running_sums).unbatch(), n)),
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
            lambda n: (_range(n).map(_add_one).shuffle(10_000, seed=42).batch(128)
                       .prefetch(AUTOTUNE), n // 128), start_n=12_800,
            synchronous=lambda n: (_range(n).map(_add_one, synchronous=True)
                                   .shuffle(10_000, seed=42).batch(128).prefetch(AUTOTUNE),
                                   n // 128),
            map_behind_the_batch=lambda n: (_range(n).shuffle(10_000, seed=42).batch(128)
                                            .map(_add_one).prefetch(AUTOTUNE), n // 128),
            map_behind_the_batch__synchronous=lambda n: (
                _range(n).shuffle(10_000, seed=42).batch(128).map(_add_one, synchronous=True)
                .prefetch(AUTOTUNE), n // 128)),
        "zip": stage(lambda n: (tf.data.Dataset.zip((_range(n), _range(n))), n)),
        "flat_map": stage(lambda n: (_range(n // 1000).flat_map(lambda _: _range(1000)),
                                     n // 1000 * 1000), start_n=16_000),
        "interleave(16)": stage(lambda n: (_interleave(n, None), n // 1000 * 1000), start_n=16_000),
        "interleave(16), parallel": stage(lambda n: (_interleave(n, AUTOTUNE), n // 1000 * 1000),
                                          start_n=16_000,
                                          two_calls=lambda n: (_interleave(n, 2),
                                                               n // 1000 * 1000)),
        # Ours hands over vectors of ten, which is what batch(10) gives.
        "window(10)": stage(lambda n: (_range(n).window(10), n // 10), start_n=12_800,
                            batch=lambda n: (_range(n).batch(10), n // 10)),
        "padded_batch(32)": stage(
            lambda n: (_range(n).map(_fill).padded_batch(32), n // 32), start_n=12_800,
            synchronous=lambda n: (_range(n).map(_fill, synchronous=True).padded_batch(32),
                                   n // 32),
            batch_and_sequence_mask=lambda n: (
                _range(n).batch(32).map(_filled_batch, synchronous=True), n // 32)),
        "cache": _cache,
        "map, 64-byte elements": map_forms(lambda n: _slices(_LINES, n), _add_one),
        "shuffle(10000), 64-byte elements": stage(
            lambda n: (_slices(_LINES, n).shuffle(10_000, seed=42), n), start_n=64_000),
        "batch(128), 64-byte elements": stage(
            lambda n: (_slices(_LINES, n).batch(128), n // 128), start_n=12_800),
        "map, std::string": map_forms(lambda n: _slices(_TEXTS, n),
                                      lambda x: tf.strings.join([x, "!"])),
        "shuffle(10000), std::string": stage(
            lambda n: (_slices(_TEXTS, n).shuffle(10_000, seed=42), n), start_n=64_000),
        "batch(128), std::string": stage(
            lambda n: (_slices(_TEXTS, n).batch(128), n // 128), start_n=12_800),
        "hold-back of an element every 20 ms, median": _hold_back(np.median),
        "hold-back of an element every 20 ms, longest": _hold_back(max),
        "resume at element 1,000,000 of shuffle(10000)": {
            "make and drop": _resume_by_dropping_ms, "a saved iterator": _resume_by_checkpoint_ms},
    }
