"""One pipeline for each stage that Python can name, over the files of data.py. They come by name, so that another
process can make the same."""

import os

import numpy as np

import infeed
import data


def _records(folder):
    return infeed.records(os.path.join(folder, "images.tfrecord-*"))


def _batches(folder, size=16):
    return _records(folder).parse(data.SCHEMA).batch(size)


def _double(batch, rng):
    # The random numbers belong to the batch's place, so they are the same after a resume.
    return {"x": batch["label"].numpy() * 2 + rng.integers(0, 1000, size=len(batch["label"]))}


def _generated():
    return ({"x": np.arange(first, first + 5)} for first in range(0, 300, 5))


def _schema_of_tokens():
    return {"label": "int64", "tokens": infeed.ragged("int64")}


PIPELINES = {
    "records": _records,
    "lines": lambda f: infeed.lines(os.path.join(f, "lines.txt")),
    "csv": lambda f: infeed.csv(os.path.join(f, "table.csv")).batch(7),
    "json_lines": lambda f: infeed.json_lines(os.path.join(f, "documents.jsonl"), columns={
        "id": "int64", "tokens": infeed.ragged("int64")}).batch(7),
    "npy": lambda f: infeed.npy(os.path.join(f, "rows.npy")).batch(7),
    "npz": lambda f: infeed.npz(os.path.join(f, "parts.npz")).batch(7),
    "range": lambda f: infeed.range(100).batch(7),
    "from_numpy": lambda f: infeed.from_numpy({"x": np.arange(300), "y": np.arange(300) / 2}).batch(7),
    "from_generator": lambda f: infeed.from_generator(_generated),
    "parse and batch": _batches,
    "batch, drop_remainder": lambda f: _records(f).parse(data.SCHEMA).batch(64, drop_remainder=True),
    "padded_batch": lambda f: _records(f).parse(_schema_of_tokens()).padded_batch(16),
    "ragged": lambda f: _records(f).parse(_schema_of_tokens()).batch(16),
    "pack": lambda f: _records(f).parse({"tokens": infeed.ragged("int64")}).batch(16).pack(4, 16),
    "rebatch": lambda f: _batches(f).rebatch(10),
    "unbatch": lambda f: _batches(f).unbatch().batch(9),
    "shuffle": lambda f: _records(f).shuffle(64, seed=5).parse(data.SCHEMA).batch(16),
    "shuffle of batches": lambda f: _batches(f).shuffle(10, seed=5),
    "global_shuffle": lambda f: infeed.indexed_records(os.path.join(f, "images.tfrecord-*"), without_index="scan")
    .global_shuffle(seed=5).parse(data.SCHEMA).batch(16),
    "repeat": lambda f: _records(f).shuffle(64, seed=5).repeat(3).parse(data.SCHEMA).batch(16),
    "take": lambda f: _batches(f).take(11),
    "skip": lambda f: _batches(f).skip(11),
    "shard": lambda f: _records(f).shard(3, 1).parse(data.SCHEMA).batch(16),
    "cache": lambda f: _batches(f).cache().repeat(2),
    "interleave": lambda f: infeed.files(os.path.join(f, "images.tfrecord-*"))
    .interleave(infeed.records, cycle_length=2).parse(data.SCHEMA).batch(16),
    "concatenate": lambda f: infeed.concatenate(_batches(f), _batches(f, 20)),
    "zip": lambda f: infeed.zip(infeed.npy(os.path.join(f, "rows.npy")).batch(7),
                                infeed.npz(os.path.join(f, "parts.npz")).batch(7)),
    "sample_from_datasets": lambda f: infeed.sample_from_datasets(_batches(f), _batches(f, 20), weights=[1, 3],
                                                                  seed=4),
    "select, rename, cast": lambda f: _batches(f).select(["label"]).rename("label", "y").cast("y", "float32"),
    "normalise": lambda f: _batches(f).normalise("image", mean=100, deviation=50),
    "prefetch": lambda f: _batches(f).prefetch(),
    "skip_errors": lambda f: _batches(f).skip_errors(),
    "map_batches, consumer": lambda f: _batches(f).map_batches(_double, seed=3),
    "map_batches, thread": lambda f: _batches(f).map_batches(_double, where="thread", seed=3),
    "map_batches, process": lambda f: _batches(f).map_batches(_double, where="process", workers=2, seed=3),
    "all of it": lambda f: _records(f).shuffle(100, seed=1).repeat(2).parse(data.SCHEMA).batch(
        32).map_batches(_double, where="thread", seed=3).shuffle(5, seed=2).prefetch(),
}


def text_of(element):
    """Returns an element as text that is equal where all of its values are."""
    if isinstance(element, (dict, infeed.Batch)):
        return repr({name: (value.to_pylist() if hasattr(value, "to_pylist") else np.asarray(value).tolist())
                     for name, value in element.items()})
    return repr(element)
