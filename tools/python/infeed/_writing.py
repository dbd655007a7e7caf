"""Rows of Python as shards of records (infeed.convert)."""

import os
from dataclasses import dataclass
from typing import List, Tuple

from . import _core
from ._dataset import Dataset
from ._errors import invalid, require_whole


@dataclass(frozen=True)
class Converted:
    """What convert() made, or found.

    files: the shards. manifest_file: what is in them, for people and programs.
    examples, bytes: of all shards. quarantined: (row, error) of rows that were left out.
    shards_found: finished by an earlier call. was_complete: there was nothing to do.
    rebuilt: shards that were missing or damaged and were made anew.
    """

    files: List[str]
    manifest_file: str
    examples: int
    bytes: int
    quarantined: List[Tuple[str, str]]
    seconds: float
    shards_found: int
    was_complete: bool
    rebuilt: List[str]


def _opened(rows, size):
    """Returns the function that gives an iterable from a row on, and the number of rows."""
    if isinstance(rows, Dataset):
        raise invalid("convert: rows is a Dataset, whose elements have no index: give a function that returns an "
                      "iterable of rows (mappings of names to values) from a row's number on, and size=")
    if hasattr(rows, "__getitem__") and hasattr(rows, "__len__"):
        count = len(rows)
        if size is not None and size != count:
            raise invalid(f"convert: size is {size!r}, but there are {count} rows")
        return lambda first: (rows[index] for index in range(first, count)), count
    if not callable(rows):
        raise invalid("convert: rows are a sequence (with len() and rows[i]), or a function from a row's number to "
                      "an iterable that begins there: a generator alone could not go on after a stop")
    if size is None:
        raise invalid("convert: say how many rows there are: size=")
    require_whole("convert: size", size, 0)
    return rows, size


def convert(rows, prefix, *, size=None, shard_count=16, shard_bytes=0, compression="none",
            compression_level=None, existing="refuse", seed=None, part="all", validation_share=0.0,
            split_column="", quarantine_max=0, check_content=False, durability="synced", threads=0,
            files=(), version="", columns=(), classes=(), progress=None):
    """Writes rows as shards of tf.train.Example, several at once. After a kill at any moment the same
    call goes on where it was, and the files are the same to the byte, as with `infeed convert`.

    rows: a sequence (len(rows) and rows[i], as lists, PyTorch's and Hugging Face's datasets have), or
        a function: rows(first) returns an iterable of the rows from number `first` on, `size` in
        all. A row is a mapping of names to values (see example()), or the bytes of a record. Threads
        call it, each for the shards that it makes.
    prefix: folder and begin of the names: "data/train" makes data/train-00000-of-00016.tfrecord, ...
        and data/train.manifest.json, which is written last.
    shard_count: the number of shards; 0: of about 128 MiB each. shard_bytes: their size instead.
    compression: "none", "gzip" or "lz4"; compression_level: 0 to 9.
    existing: "refuse" another dataset of that name, "replace" it, or "replace_unless_same".
    seed: of the shuffled order; without it that of the rows.
    part, validation_share, split_column: "train" or "validation", of this share, by the hash of that
        column, or of the row's number.
    quarantine_max: rows that raise, or can't be written, and are left out, at most.
    check_content: also read an existing dataset, to find damaged shards.
    durability: "synced" survives a power cut, "leave_to_system" the end of the process.
    threads: 0: as many as there are cores.
    files: the files that the rows come from. version: changed when the rows change. An unfinished
        conversion of others is refused.
    columns: the names of all features, if the first rows don't have all of them. classes: meanings of
        the labels 0, 1, ..., for the manifest.
    progress: called with the rows done and their number, some times a second.

    Returns a Converted. Ctrl-C keeps the finished shards.
    """
    opened, count = _opened(rows, size)
    for name, given in (("files", files), ("columns", columns), ("classes", classes)):
        if isinstance(given, (str, bytes, os.PathLike)):
            raise invalid(f"convert: {name} is {given!r}; it must be a list")
    facts = {"version": version, "columns": list(columns), "classes": list(classes),
             "files": [os.fspath(file) for file in files]}
    options = {"prefix": os.fspath(prefix), "shard_count": shard_count, "shard_bytes": shard_bytes,
               "compression": compression, "compression_level": compression_level,
               "existing": existing, "seed": seed, "part": part,
               "validation_share": validation_share, "split_column": split_column,
               "quarantine_max": quarantine_max, "check_content": check_content,
               "durability": durability, "threads": threads}
    return Converted(**_core._convert(opened, count, facts, options, progress))
