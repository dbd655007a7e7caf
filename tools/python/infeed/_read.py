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


def _source_of(name):
    """Returns the name of the source that reads the file, and its options."""
    stem = name.rstrip("*")
    for ending in _COMPRESSED:
        stem = stem.removesuffix(ending)
    base = stem.rsplit("/", 1)[-1]
    for ending, kind in _KINDS.items():
        if stem.endswith(ending) or ending + "-" in base:  # train.tfrecord-00000-of-00016
            return kind, {"delimiter": "\t", "quotes": "none"} if ending == ".tsv" else {}
    raise invalid(f"read: the name {name!r} doesn't say what kind of file it is; the endings "
                  f"are {', '.join(_KINDS)}; or name the source, as infeed.records(files)")


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
        names = [name]
    else:
        names = files = file_names("read: files", files)
        if not names:
            raise invalid("read: files is an empty list; it must have the name of a file at least")
    (source, preset), first = _source_of(names[0]), names[0]
    for name in names[1:]:
        if _source_of(name) != (source, preset):
            raise invalid(f"read: {first!r} and {name!r} are of different kinds; read the files of each kind by themselves")
    return SOURCES[source](files, **{**preset, **options})
