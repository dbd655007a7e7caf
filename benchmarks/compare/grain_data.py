"""Grain's side. It is Python throughout, so its elements are drained there: for people who use it
that is what it costs."""

import os

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

import itertools
import time

import grain

import grain_pack
import peer
import python_grain
from grain import experimental

_ALONE = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)


class _Range:
    """A source that costs nothing; of ten million, as some forms must know an end."""

    def __len__(self):
        return 10_000_000

    def __getitem__(self, index):
        return index


def _add_one(x):
    return x + 1


def _is_of_first_half(x):
    """Half of the elements, as on our side, but not one process's half."""
    return x % 4 < 2


def _source():
    return grain.MapDataset.source(_Range())


def _ns_an_element(dataset, per_element, request):
    """Of the source's elements, once the first one is there: threads and processes take long to
    start, and are started once."""
    iterator = iter(dataset)
    next(iterator)
    count = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < 2 * request.seconds:
        for _ in itertools.islice(iterator, 64):
            count += 1
    if hasattr(iterator, "close"):
        iterator.close()
    return elapsed / (count * per_element) * 1e9


def _forms(make, per_element=1, **more):
    """make(MapDataset) -> MapDataset, read in each of Grain's ways; `more`: other ways to write it."""
    ways = {
        "one thread": lambda: make(_source()).to_iter_dataset(_ALONE),
        "16 threads (its default)": lambda: make(_source()).to_iter_dataset(),
        "a MapDataset": lambda: make(_source()),
        "two processes": lambda: make(_source()).to_iter_dataset(_ALONE).mp_prefetch(
            grain.MultiprocessingOptions(num_workers=2)),
    }
    ways |= {name.replace("__", ", ").replace("_", " "): way for name, way in more.items()}
    return {name: (lambda request, way=way: _ns_an_element(way(), per_element, request))
            for name, way in ways.items()}



def _window_shuffle(dataset):
    return experimental.WindowShuffleIterDataset(dataset, window_size=10_000, seed=42)


def main():
    peer.serve({
        **grain_pack.measurements(),
        **python_grain.measurements(),
        "map": _forms(lambda d: d.map(_add_one)),
        "filter": _forms(lambda d: d.filter(_is_of_first_half), per_element=2,
                         an_IterDataset=lambda: _source().to_iter_dataset(_ALONE).filter(_is_of_first_half)),
        "shuffle(10000)": _forms(
            # A permutation of everything, computed by index.
            lambda d: d.shuffle(seed=42),
            windows_of_10000=lambda: _window_shuffle(_source().to_iter_dataset(_ALONE))),
        "batch(128)": _forms(
            lambda d: d.batch(128), per_element=128,
            an_IterDataset=lambda: _source().to_iter_dataset(_ALONE).batch(128)),
        "range | map | shuffle(10000) | batch(128) | prefetch": _forms(
            lambda d: d.map(_add_one).shuffle(seed=42).batch(128), per_element=128,
            map_behind_the_batch=lambda: _source().shuffle(seed=42).batch(128).map(_add_one)
            .to_iter_dataset(_ALONE),
            windows_of_10000=lambda: _window_shuffle(_source().to_iter_dataset(_ALONE))
            .batch(128).map(_add_one)),
    })


if __name__ == "__main__":
    main()
