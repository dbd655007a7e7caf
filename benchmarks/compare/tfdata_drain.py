"""How tf.data is measured: drained in its own C++ core, with nothing short-cut."""

import time

import tensorflow as tf


def drain_seconds(dataset, count):
    """Seconds to produce `count` elements without one of them passing through Python.

    skip() alone jumps over what ranges and readers could give; behind ignore_errors(), which knows
    no jumping, every stage really makes every element.
    """
    iterator = iter(dataset.ignore_errors().skip(count - 1))
    start = time.perf_counter()
    next(iterator)
    return time.perf_counter() - start


def ns_an_element(make, request, start_n=2000):
    """Nanoseconds an element of make(n) -> (dataset, how many elements that gives).

    n grows until a drain takes about the time that was asked for: then starting is below 2 %, and
    buffers that adapt (prefetch) have adapted.
    """
    n = start_n
    while True:
        seconds = drain_seconds(*make(n))
        if seconds > request.seconds / 6:
            break
        n *= 4
    if seconds < request.seconds:
        n = int(n * request.seconds / seconds) // 1280 * 1280 or n
        seconds = drain_seconds(*make(n))
    return seconds / n * 1e9


def stage(make, start_n=2560):
    return lambda request: ns_an_element(make, request, start_n)


AUTOTUNE = tf.data.AUTOTUNE
