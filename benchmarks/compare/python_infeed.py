"""Our own side of the group `python`: the package, as its README writes it. PYTHONPATH names its build folder."""

import os
import time

import infeed
import numpy as np
import pyarrow

import peer
from python_loop import (
    FEATURES, FEATURES_ROWS, PACKED_ROW, features_file, images_a_second, of_both_sizes, of_features)

_TABLE = {**{name: "int64" for name in ("id", "user", "count", "year")},
          **{name: "float64" for name in ("price", "score", "x", "y")}, "name": "bytes", "comment": "bytes"}


def _shuffled(rows):
    def make(request):
        return (infeed.records(os.path.join(request.data, "fashion-mnist", "train-*.tfrecord"), map_files=True)
                .shuffle(10_000, seed=42).repeat()
                .parse({"image": ("uint8", (784,)), "label": "int64"}).batch(rows).prefetch().numpy())

    return lambda request: images_a_second(lambda: make(request), rows, request)


def _text(name, read):
    """Megabytes of text a second of one pass, as in text_rows.cc: batches whose texts stay where they are, as in
    pyarrow's tables. numpy() would make an object of Python's of each text."""
    def measure(request):
        path = os.path.join(request.data, "table", name)
        start = time.perf_counter()
        rows = sum(len(columns["id"]) for columns in read(path, columns=_TABLE).batch(256))
        assert rows
        return os.path.getsize(path) / (time.perf_counter() - start) / 1e6

    return measure


def _photographs(request):
    """Photographs a second, as in image_rows.cc: each batch is a training set's, decoded and cropped anew."""
    batches = iter(infeed.records(os.path.join(request.data, "photos", "data-*.tfrecord")).repeat()
                   .parse({"image": "bytes", "label": "int64"}).batch(128)
                   .random_resized_crop("image", width=224, height=224, seed=17).prefetch().numpy())

    def images_for(seconds):
        images, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            images += len(next(batches)["label"])
        return images / elapsed

    images_for(5 * request.seconds / 4)
    return images_for(5 * request.seconds)


def _packed(request):
    """Documents a second, as in pack_rows.cc."""
    lengths = np.fromfile(os.path.join(request.data, "documents", "lengths.bin"), dtype=np.int32)
    splits = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    tokens = pyarrow.array(np.arange(splits[-1], dtype=np.int32) % 50_000)
    table = pyarrow.table({"tokens": pyarrow.LargeListArray.from_arrays(splits, tokens)})
    packed = infeed.from_arrow(table).batch(256).repeat(20).pack(8, 2048, window=64)
    passes, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < request.seconds:
        assert sum(len(batch["tokens"]) for batch in packed)
        passes += 20
    return passes * len(lengths) / elapsed


def _features(request):
    return (infeed.csv(features_file(request), columns=FEATURES).batch(FEATURES_ROWS, drop_remainder=True)
            .repeat().prefetch().numpy())


def _packed_lines(request):
    path = os.path.join(request.data, "documents-json", "documents.jsonl")
    return images_a_second(
        lambda: (infeed.json_lines(path, columns={"tokens": infeed.ragged("int32")}).batch(256).repeat()
                 .pack(8, 2048, window=64).prefetch().numpy()),
        lambda batch: len(batch["tokens"]), request)


def main():
    peer.serve({**of_both_sizes(_shuffled), **of_features({"as written": _features}), PACKED_ROW: _packed_lines,
                "decode, random resized crop, flip, normalise: batches of 128": _photographs,
                "documents packed into rows of 2048": _packed,
                "csv to batches": _text("table.csv", infeed.csv),
                "json lines to batches": _text("table.jsonl", infeed.json_lines)})


if __name__ == "__main__":
    main()
