"""Our own side of the group `python`: the package, as its README writes it. PYTHONPATH names its build folder."""

import os
import time

import infeed

import peer
from python_loop import images_a_second, of_both_sizes

_TABLE = {**{name: "int64" for name in ("id", "user", "count", "year")},
          **{name: "float64" for name in ("price", "score", "x", "y")}, "name": "bytes", "comment": "bytes"}


def _shuffled(rows):
    def make(request):
        return (infeed.records(os.path.join(request.data, "fashion-mnist", "train-*.tfrecord"))
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


def main():
    peer.serve({**of_both_sizes(_shuffled),
                "csv to batches": _text("table.csv", infeed.csv),
                "json lines to batches": _text("table.jsonl", infeed.json_lines)})


if __name__ == "__main__":
    main()
