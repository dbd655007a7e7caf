"""pyarrow's side of `text`: its own readers with two threads, in blocks of several sizes."""

import os
import time

import peer
import pyarrow
import pyarrow.csv
import pyarrow.json

_INTEGERS = ("id", "user", "count", "year")
_FLOATS = ("price", "score", "x", "y")
_TEXTS = ("name", "comment")

pyarrow.set_cpu_count(2)


def _types():
    return {**{name: pyarrow.int64() for name in _INTEGERS},
            **{name: pyarrow.float64() for name in _FLOATS},
            **{name: pyarrow.string() for name in _TEXTS}}


def _rate(path, read):
    """Megabytes a second of one pass."""
    start = time.perf_counter()
    read(path)
    return os.path.getsize(path) / (time.perf_counter() - start) / 1e6


def _csv(block_mib):
    def measure(request):
        read = pyarrow.csv.ReadOptions(use_threads=True, block_size=block_mib << 20)
        convert = pyarrow.csv.ConvertOptions(column_types=_types())
        return _rate(os.path.join(request.data, "table", "table.csv"),
                     lambda path: pyarrow.csv.read_csv(path, read, None, convert))
    return measure


def _json(block_mib):
    def measure(request):
        read = pyarrow.json.ReadOptions(use_threads=True, block_size=block_mib << 20)
        parse = pyarrow.json.ParseOptions(explicit_schema=pyarrow.schema(list(_types().items())))
        return _rate(os.path.join(request.data, "table", "table.jsonl"),
                     lambda path: pyarrow.json.read_json(path, read, parse))
    return measure


def measurements():
    sizes = (1, 4, 16)
    return {
        "csv to batches": {f"read_csv, blocks of {size} MiB": _csv(size) for size in sizes},
        "json lines to batches": {f"read_json, blocks of {size} MiB": _json(size) for size in sizes},
    }


if __name__ == "__main__":
    peer.serve(measurements())
