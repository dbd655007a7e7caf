"""Hugging Face datasets and WebDataset on the images of the group `python`."""

import functools
import glob
import os
import sys

import numpy as np

import peer
from python_loop import forever, image_arrays, images_a_second, of_both_sizes


@functools.lru_cache(None)
def _table(data):
    import datasets  # pylint: disable=import-outside-toplevel
    import pyarrow as pa  # pylint: disable=import-outside-toplevel
    images, labels = image_arrays(peer.Request("", "", 0, data))
    pixels = pa.FixedSizeListArray.from_arrays(pa.array(images.reshape(-1)), 784)
    return datasets.Dataset(pa.table({"image": pixels, "label": labels}))


def _hugging_face(rows):
    def shuffled(request):
        table = _table(request.data)
        return forever(lambda: table.shuffle(seed=42).with_format("numpy").iter(rows, drop_last_batch=True))

    def flattened(request):
        table = _table(request.data).shuffle(seed=42).flatten_indices().with_format("numpy")
        return forever(lambda: table.iter(rows, drop_last_batch=True))

    def streamed(request):
        stream = _table(request.data).to_iterable_dataset(16).shuffle(seed=42, buffer_size=10_000)
        return forever(lambda: iter(stream.with_format("numpy").batch(rows, drop_last_batch=True)))

    return {name: (lambda request, make=make: images_a_second(lambda: make(request), rows, request))
            for name, make in (("an index, shuffled", shuffled), ("shuffled once, flattened", flattened),
                               ("streamed, a buffer of 10,000", streamed))}


def _webdataset(rows):
    import webdataset as wds  # pylint: disable=import-outside-toplevel

    def decode(sample):
        return np.frombuffer(sample["bin"], np.uint8), int(sample["cls"])

    def make(request):
        shards = sorted(glob.glob(os.path.join(request.data, "python", "train-*.tar")))
        return wds.WebDataset(shards, shardshuffle=16).shuffle(10_000).map(decode).batched(
            rows, partial=False).repeat()

    def in_a_worker(request, workers):
        return wds.WebLoader(make(request), batch_size=None, num_workers=workers)

    forms = {"plain": make}
    try:
        import torch  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        forms |= {f"{count} workers": functools.partial(in_a_worker, workers=count) for count in (1, 2)}
    except ImportError:
        pass
    return {name: (lambda request, form=form: images_a_second(lambda: form(request), rows, request))
            for name, form in forms.items()}


def main():
    peer.serve(of_both_sizes({"hugging face": _hugging_face, "webdataset": _webdataset}[sys.argv[1]]))


if __name__ == "__main__":
    main()
