"""infeed.read: a dataset by the kind of its files."""

import os

from ._dataset import SOURCES
from ._errors import invalid
from ._stages import file_names

_COMPRESSED = (".gz", ".zst", ".lz4", ".zz")
_KINDS = {
    ".tfrecord": "records", ".tfrecords": "records", ".records": "records",
    ".txt": "lines", ".text": "lines", ".log": "lines",
    ".csv": "csv", ".tsv": "csv",
    ".jsonl": "json_lines", ".ndjson": "json_lines",
    ".npy": "npy", ".npz": "npz", ".tar": "tar",
}


def _kind_of(name):
    stem = name.rstrip("*")
    for ending in _COMPRESSED:
        stem = stem.removesuffix(ending)
    base = stem.rsplit("/", 1)[-1]
    for ending, kind in _KINDS.items():
        if stem.endswith(ending) or ending + "-" in base:  # train.tfrecord-00000-of-00016
            return kind, ending
    return None, None


def read(files, **options):
    """Reads files by the kind that their names say.

    files: a pattern ("train-*.tfrecord"), a list of names, or a folder with one folder per class.
    options: those of the source: records, lines, csv, json_lines, npy, npz, tar or folder.

    Other files are read by naming the source: infeed.records("shard-*").
    """
    if isinstance(files, (str, bytes, os.PathLike)):
        name = os.fsdecode(files)
        if os.path.isdir(name):
            return SOURCES["folder"](name, **options)
    else:
        files = file_names("read: files", files)
        name = files[0] if files else ""
    kind, ending = _kind_of(name)
    if kind is None:
        raise invalid(f"read: the name {name!r} doesn't say what kind of file it is; the endings "
                      f"are {', '.join(_KINDS)}; or name the source, as infeed.records(files)")
    if ending == ".tsv":
        options = {"delimiter": "\t", "quotes": "none", **options}
    return SOURCES[kind](files, **options)
