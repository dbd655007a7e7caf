"""The loop of the group `python`: what a training script sees of a loader, whoever wrote it."""

import os
import time

import numpy as np

import peer


def resident_mb():
    """Memory of this process and of the workers that it started."""
    total = 0
    for pid in [os.getpid(), *_children(os.getpid())]:
        try:
            with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
                total += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            pass  # a worker that has ended
    return total / 1e6


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        direct = [int(child) for child in children.read().split()]
    return direct + [grandchild for child in direct for grandchild in _children(child)]


def images_a_second(make, rows, request):
    """Rows a second of an endless loader: make() -> iterable whose items have `rows` rows, a number or a
    function of the item. Besides, how long the first batch took and how much memory came with it."""
    rows_in = rows if callable(rows) else lambda _: rows
    memory = resident_mb()
    start = time.perf_counter()
    iterator = iter(make())
    next(iterator)
    first = time.perf_counter() - start

    def run_for(seconds):
        count = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            count += rows_in(next(iterator))
        return count / elapsed

    run_for(request.seconds / 2)
    value = run_for(2 * request.seconds)
    notes = {"first batch, ms": round(first * 1e3, 1), "memory, MB": round(resident_mb() - memory)}
    return peer.Measured(value, notes)


def forever(make):
    """Epoch behind epoch, for loaders that end."""
    while True:
        yield from make()


def image_arrays(request):
    """All images and labels in memory, as python_files.py left them."""
    folder = os.path.join(request.data, "python")
    return np.load(os.path.join(folder, "images.npy")), np.load(os.path.join(folder, "labels.npy"))


FEATURES = {**{f"i{i:02}": "int64" for i in range(26)}, **{f"f{i:02}": "float32" for i in range(14)}}
FEATURES_ROW, FEATURES_ROWS = "csv of 40 features to batches of 1024", 1024
PACKED_ROW = "json lines of tokens to rows of 2048"


def features_file(request):
    return os.path.join(request.data, "features", "features.csv")


def of_features(ways):
    """Forms of the row of CSV: of functions from the request to an endless iterable of batches of 1,024 rows."""
    return {FEATURES_ROW: {name: (lambda request, way=way: images_a_second(
        lambda: way(request), FEATURES_ROWS, request)) for name, way in ways.items()}}


def of_both_sizes(measure):
    """measure(rows) -> forms; for the rows of the group."""
    return {f"shuffled images of records, batches of {rows}": measure(rows) for rows in (128, 1024)}
