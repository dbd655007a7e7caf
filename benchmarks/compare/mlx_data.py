"""mlx-data's side: the stages that it has and that run in its C++ core."""

import time

import mlx.data as dx
import numpy as np

import peer

_SOURCE = 1000


def _source(n):
    samples = dx.buffer_from_vector([{"x": np.array([i])} for i in range(_SOURCE)])
    return samples.to_stream().repeat(n // _SOURCE + 1)


def _ns_an_element(make, request):
    """make(n) -> stream that gives at least n / per samples. partition() drains in C++: it makes
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
    while seconds(n) < request.seconds / 6:
        n *= 4
    elapsed = seconds(n)
    if elapsed < request.seconds:
        n = int(n * request.seconds / elapsed) // 1280 * 1280 or n
        elapsed = seconds(n)
    return elapsed / n * 1e9


def _stage(make):
    return lambda request: _ns_an_element(make, request)


def main():
    peer.serve({
        "repeat": _stage(lambda n: (_source(n), n)),
        "filter": _stage(lambda n: (_source(n).filter_by_shape("x", 0, 1, 1), n)),
        "shuffle(10000)": _stage(lambda n: (_source(n + 10_000).shuffle(10_000), n)),
        "batch(128)": _stage(lambda n: (_source(n).batch(128), n // 128)),
        "shard(4)": _stage(lambda n: (_source(4 * n).partition(4, 1), n)),
        "prefetch(2)": _stage(lambda n: (_source(n).prefetch(2, 1), n)),
    })


if __name__ == "__main__":
    main()
