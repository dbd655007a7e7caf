"""Grain on the images of the group `python`, in its three ways of reading ahead."""

import functools

import grain
from absl import flags
import numpy as np

import peer
from python_loop import image_arrays, images_a_second, of_both_sizes


class _Images:
    """A source in memory."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"image": self.images[index], "label": self.labels[index]}


@functools.lru_cache(None)
def _source(data):
    return _Images(*image_arrays(peer.Request("", "", 0, data)))


def _stack(rows):
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _forms(rows):
    def shuffled(request, **batch):
        return grain.MapDataset.source(_source(request.data)).shuffle(seed=42).repeat().batch(rows, **batch)

    alone = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    ways = {
        "a MapDataset": shuffled,
        "one thread": lambda request: shuffled(request).to_iter_dataset(alone),
        "16 threads (its default)": lambda request: shuffled(request).to_iter_dataset(),
        "batch_fn of ours": lambda request: shuffled(request, batch_fn=_stack).to_iter_dataset(alone),
        "two processes": lambda request: shuffled(request).to_iter_dataset(alone).mp_prefetch(
            grain.MultiprocessingOptions(num_workers=2)),
    }
    return {name: (lambda request, way=way: images_a_second(lambda: way(request), rows, request))
            for name, way in ways.items()}


def measurements():
    flags.FLAGS(["grain"])  # its processes look at them
    return of_both_sizes(_forms)
