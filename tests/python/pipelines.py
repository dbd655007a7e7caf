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


def _tokens(folder):
    """Rows of 1 to 9 tokens."""
    return _records(folder).parse(_schema_of_tokens())


def _left_out(folder):
    shard = os.path.join(folder, "images.tfrecord-00001-of-00004")
    return _records(folder).leave_out([infeed.Place(shard, 7), (shard, 9)],
                                      instead={"label": -1, "image": [0] * data.IMAGE_BYTES})


def _written_snapshot(folder):
    path = os.path.join(folder, "snapshots")
    for _ in infeed.range(60).batch(5).snapshot(path):
        pass
    return path


def _pictures():
    return infeed.from_numpy({"image": [data.png(9 + i % 3, 8, i) for i in range(24)]}).batch(4)


PIPELINES = {
    "records": _records,
    "lines": lambda f: infeed.lines(os.path.join(f, "lines.txt")),
    "csv": lambda f: infeed.csv(os.path.join(f, "table.csv")).batch(7),
    "json_lines": lambda f: infeed.json_lines(os.path.join(f, "documents.jsonl"), columns={
        "id": "int64", "tokens": infeed.ragged("int64")}).batch(7),
    "npy": lambda f: infeed.npy(os.path.join(f, "rows.npy")).batch(7),
    "npz": lambda f: infeed.npz(os.path.join(f, "parts.npz")).batch(7),
    "npy_columns": lambda f: infeed.npy_columns({"x": os.path.join(f, "rows.npy"),
                                                 "n": os.path.join(f, "numbers.npy")}).batch(7),
    "fixed_length_records": lambda f: infeed.fixed_length_records(
        os.path.join(f, "rows.npy"), 24, header_bytes=128).batch(7),
    "folder": lambda f: infeed.folder(os.path.join(f, "classes")),
    "tar": lambda f: infeed.tar(os.path.join(f, "samples.tar")),
    "files": lambda f: infeed.files(os.path.join(f, "images.tfrecord-*"), shuffle=True, seed=1),
    "url": lambda f: infeed.lines(os.path.join(f, "lines.txt"), url={"retries": 2, "stall_timeout_ms": 500}),
    "counter": lambda f: infeed.counter(start=3).take(20),
    "random_integers": lambda f: infeed.random_integers(seed=4).take(20),
    "range": lambda f: infeed.range(100).batch(7),
    "from_numpy": lambda f: infeed.from_numpy({"x": np.arange(300), "y": np.arange(300) / 2}).batch(7),
    "from_generator": lambda f: infeed.from_generator(_generated),
    "parse and batch": _batches,
    "batch, drop_remainder": lambda f: _records(f).parse(data.SCHEMA).batch(64, drop_remainder=True),
    "padded_batch": lambda f: _records(f).parse(_schema_of_tokens()).padded_batch(16),
    "ragged": lambda f: _records(f).parse(_schema_of_tokens()).batch(16),
    "bucket_by_sequence_length": lambda f: _tokens(f).bucket_by_sequence_length("tokens", [3, 6], [16, 8, 4]),
    "window": lambda f: _tokens(f).window(8, shift=3, stride=2),
    "enumerate": lambda f: _tokens(f).enumerate(start=2).batch(9),
    "unique": lambda f: infeed.csv(os.path.join(f, "table.csv")).repeat(2).unique().batch(7),
    "leave_out": lambda f: _left_out(f).shuffle(64, seed=5).parse(data.SCHEMA).batch(16),
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
    "sample_from_datasets by tokens": lambda f: infeed.sample_from_datasets(
        _tokens(f), _tokens(f).take(99).repeat(), weights=[1, 3], schedule=[(50, [3, 1])], change="at_once", seed=4,
        weigh_by="items", column="tokens", stop_on_empty_dataset=True).batch(16),
    "choose_from_datasets": lambda f: infeed.choose_from_datasets(
        [_batches(f), _batches(f, 20)], infeed.range(2).repeat()),
    "snapshot": lambda f: infeed.range(60).batch(5).snapshot(os.path.join(f, "other snapshots")),
    "read_snapshot": lambda f: infeed.read_snapshot(_written_snapshot(f)),
    "optional_cache": lambda f: _batches(f).optional_cache().repeat(2),
    "assert_cardinality": lambda f: infeed.from_generator(_generated).assert_cardinality(60),
    "features": lambda f: _batches(f).features([
        {"name": "hash_buckets", "column": "label", "buckets": 7, "to": "bucket"}]),
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

if hasattr(infeed.Dataset, "central_crop"):  # a build with images
    PIPELINES["central_crop"] = lambda f: _pictures().central_crop("image", width=6, height=6)
    PIPELINES["random_resized_crop"] = lambda f: _pictures().random_resized_crop(
        "image", width=6, height=6, seed=4)


def text_of(element):
    """Returns an element as text that is equal where all of its values are."""
    if isinstance(element, (dict, infeed.Batch)):
        return repr({name: (value.to_pylist() if hasattr(value, "to_pylist") else np.asarray(value).tolist())
                     for name, value in element.items()})
    return repr(element)
