"""mlx-data's side: the stages that it has and that run in its C++ core."""

import glob
import os
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


_MEAN = np.array([0.485 * 255, 0.456 * 255, 0.406 * 255], np.float32)
_DEVIATION = np.array([0.229 * 255, 0.224 * 255, 0.225 * 255], np.float32)


def _normalised(images):
    return (images.astype(np.float32) - _MEAN) / _DEVIATION


def _photographs_a_second(request, threads, by_image, in_memory):
    """Normalising is the only step that it has no function for: NumPy does it, of an image in the
    threads that decode or of a batch."""
    files = sorted(glob.glob(os.path.join(request.data, "photos", "jpeg", "*.jpg")))
    assert len(files) == 1000, len(files)

    def content(name):
        if not in_memory:
            return name.encode()
        with open(name, "rb") as file:
            return np.frombuffer(file.read(), np.uint8).copy()

    images = (dx.buffer_from_vector([{"image": content(name)} for name in files])
              .to_stream().repeat(1000).load_image("image", from_memory=in_memory)
              .image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3), 10)
              .image_resize("image", 224, 224).image_random_h_flip("image", 0.5))
    if by_image:
        images = images.key_transform("image", _normalised)
    batches = images.prefetch(2 * 128, threads).batch(128)

    def batches_until(seconds):
        count = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            images = batches.next()["image"]
            if not by_image:
                images = _normalised(images)
            assert images.shape == (128, 224, 224, 3) and images.dtype == np.float32
            count += 1
        return count / elapsed

    # A batch takes a quarter of a second.
    batches_until(request.seconds)
    return 128 * batches_until(5 * request.seconds)


def _photographs():
    forms = {"two threads": (2, True, False), "two threads, normalised as batches": (2, False, False),
             "two threads, files in memory": (2, True, True), "four threads": (4, True, False)}
    return {name: (lambda request, form=form: _photographs_a_second(request, *form))
            for name, form in forms.items()}


def main():
    peer.serve({
        "decode, random resized crop, flip, normalise: batches of 128": _photographs(),
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
