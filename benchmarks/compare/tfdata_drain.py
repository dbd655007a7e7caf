"""How tf.data is measured: drained in its own C++ core, with nothing short-cut."""

import time

import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE


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


def elements_a_second(make, request):
    """Of an endless dataset, once its autotuner has had as long as is then measured.

    Behind ignore_errors() shard(n, n - 1) makes n elements and hands over the last one; so the first
    one that comes is the warm-up, and the second is what counts.
    """
    n = 16
    while True:
        iterator = iter(make().ignore_errors().shard(n, n - 1))
        next(iterator)
        start = time.perf_counter()
        next(iterator)
        elapsed = time.perf_counter() - start
        if elapsed >= request.seconds:
            return n / elapsed
        n = int(n * max(2, min(64, 1.3 * request.seconds / elapsed)))


def _with_options(make, change):
    def changed(n):
        dataset, count = make(n)
        options = tf.data.Options()
        change(options)
        return dataset.with_options(options), count

    return changed


def _one_thread(options):
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1


def _no_autotune(options):
    options.autotune.enabled = False


def _fusion(options):
    options.experimental_optimization.map_fusion = True
    options.experimental_optimization.filter_fusion = True


def stage(make, start_n=2560, fusion=False, **others):
    """The forms of a stage: as written, with the options that people reach for, and other ways to
    write it that give the same elements. Names of those: keywords, with _ for a space and __ for a comma."""
    makes = {"as written": make, "a thread pool of one": _with_options(make, _one_thread),
             "autotune off": _with_options(make, _no_autotune)}
    if fusion:
        makes["map_fusion"] = _with_options(make, _fusion)
    makes |= {name.replace("__", ", ").replace("_", " "): other for name, other in others.items()}
    return {name: (lambda request, make=make: ns_an_element(make, request, start_n))
            for name, make in makes.items()}
