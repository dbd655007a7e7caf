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


def _rate(request, name, is_zstd, read):
    """Megabytes of text a second of one pass. The file's name tells that it is compressed."""
    plain = os.path.join(request.data, "table", name)
    path = os.path.join(request.data, "table-zstd", name + ".zst") if is_zstd else plain
    start = time.perf_counter()
    read(path)
    return os.path.getsize(plain) / (time.perf_counter() - start) / 1e6


def _csv(block_mib, is_zstd=False):
    def measure(request):
        read = pyarrow.csv.ReadOptions(use_threads=True, block_size=block_mib << 20)
        convert = pyarrow.csv.ConvertOptions(column_types=_types())
        return _rate(request, "table.csv", is_zstd,
                     lambda path: pyarrow.csv.read_csv(path, read, None, convert))
    return measure


def _json(block_mib, is_zstd=False):
    def measure(request):
        read = pyarrow.json.ReadOptions(use_threads=True, block_size=block_mib << 20)
        parse = pyarrow.json.ParseOptions(explicit_schema=pyarrow.schema(list(_types().items())))
        return _rate(request, "table.jsonl", is_zstd,
                     lambda path: pyarrow.json.read_json(path, read, parse))
    return measure


def measurements():
    forms = {}
    for row, is_zstd in (("", False), (", from zstd", True)):
        for kind, verb, measure in (("csv", "read_csv", _csv), ("json lines", "read_json", _json)):
            forms[f"{kind} to batches{row}"] = {
                f"{verb}, blocks of {size} MiB": measure(size, is_zstd) for size in (1, 4, 16)}
    return forms


if __name__ == "__main__":
    peer.serve(measurements())
