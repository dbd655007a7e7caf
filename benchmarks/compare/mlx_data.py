"""mlx-data's side: the stages that it has and that run in its C++ core."""

import time

import mlx.data as dx
import numpy as np

import peer

_SOURCE = 1000
_BUFFER_MAX = 256_000  # a buffer's samples are made in Python, one by one


def _buffer(n):
    return dx.buffer_from_vector([{"x": np.array([i])} for i in range(n)])


def _stream(n):
    return _buffer(_SOURCE).to_stream().repeat(n // _SOURCE + 1)


def _ns_an_element(make, request, n_max):
    """make(n) -> (stream, how many samples it gives at least). partition() drains in C++: it makes
    `count` samples and hands over the last one."""

    def seconds(n):
        stream, count = make(n)
        stream = stream.partition(count, count - 1)
        start = time.perf_counter()
        sample = stream.next()
        elapsed = time.perf_counter() - start
        if not sample:
            raise RuntimeError("mlx-data ended early")
        return elapsed

    n = 12_800
    while (elapsed := seconds(n)) < request.seconds / 6 and 4 * n <= n_max:
        n *= 4
    if elapsed < request.seconds:
        n = min(n_max, int(n * request.seconds / elapsed)) // 1280 * 1280 or n
        elapsed = seconds(n)
    return elapsed / n * 1e9


def _forms(**makes):
    """By name, with _ for a space and __ for a comma. Those that begin with `buffer` need all
    samples in memory."""
    return {name.replace("__", ", ").replace("_", " "): (
        lambda request, make=make, n_max=_BUFFER_MAX if name.startswith("buffer") else 1 << 40:
        _ns_an_element(make, request, n_max)) for name, make in makes.items()}


def main():
    peer.serve({
        "repeat": _forms(stream=lambda n: (_stream(n), n)),
        "filter": _forms(
            stream=lambda n: (_stream(n).filter_by_shape("x", 0, 1, 1), n),
            stream__prefetch=lambda n: (
                _stream(n).filter_by_shape("x", 0, 1, 1).prefetch(1024, 2), n),
            buffer=lambda n: (_buffer(n).filter_by_shape("x", 0, 1, 1).to_stream(), n)),
        "shuffle(10000)": _forms(
            stream=lambda n: (_stream(n + 10_000).shuffle(10_000), n),
            # A permutation of everything, which is more than was asked for.
            buffer=lambda n: (_buffer(n).shuffle().to_stream(), n)),
        "batch(128)": _forms(
            stream=lambda n: (_stream(n).batch(128), n // 128),
            stream__prefetch=lambda n: (_stream(n).batch(128).prefetch(16, 2), n // 128),
            buffer=lambda n: (_buffer(n).batch(128).to_stream(), n // 128),
            buffer__ordered_prefetch=lambda n: (
                _buffer(n).batch(128).ordered_prefetch(16, 2), n // 128)),
        "shard(4)": _forms(
            stream=lambda n: (_stream(4 * n).partition(4, 1), n),
            buffer=lambda n: (_buffer(4 * n).partition(4, 1).to_stream(), n)),
        "prefetch(2)": _forms(
            stream=lambda n: (_stream(n).prefetch(2, 1), n),
            stream__two_threads=lambda n: (_stream(n).prefetch(2, 2), n),
            buffer__ordered_prefetch=lambda n: (_buffer(n).ordered_prefetch(2, 1), n)),
    })


if __name__ == "__main__":
    main()
