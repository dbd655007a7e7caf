"""What the package does, again and again, with the bytes that are in use counted by the C library: python leaks.py
prints a line for each thing, and fails if the bytes grow. PYTHONMALLOC=malloc must be set, so that Python's own
objects are counted, too."""

import ctypes
import gc
import os
import pickle
import sys
import tempfile

import numpy as np

import data
import infeed

WARM_UP = 400  # with 40 the allocator still fills its lists: 45 bytes a call that are none
CALLS = 200
BYTES_MAX = 24  # a call; the smallest object of Python's takes 32 with malloc's header


class Mallinfo2(ctypes.Structure):
    """The C library's figures, in bytes."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


LIBRARY = ctypes.CDLL("libc.so.6")
LIBRARY.mallinfo2.restype = Mallinfo2


def bytes_in_use():
    gc.collect()
    figures = LIBRARY.mallinfo2()
    return figures.uordblks + figures.hblkhd


def growth(function):
    """Returns the bytes that a call leaves behind, on average. Threads that are ending, and caches that fill, make
    single measurements larger, never smaller: so the smallest of some counts."""
    for _ in range(WARM_UP):
        function()
    least = None
    for _ in range(10):
        before = bytes_in_use()
        for _ in range(CALLS // 5):
            function()
        grown = (bytes_in_use() - before) / (CALLS // 5)
        least = grown if least is None else min(least, grown)
    return least


def twice(batch, rng):
    return {"x": batch["value"].numpy() * 2, "r": rng.integers(0, 9, size=len(batch["value"]))}


def failing(batch):
    raise ValueError("bad batch")


def consume(dataset):
    with iter(dataset) as iterator:
        for batch in iterator:
            batch["value"].numpy()


def everything(folder):
    """Returns the things by name."""
    records = infeed.records(os.path.join(folder, "images.tfrecord-*")).shuffle(64, seed=1)
    parsed = records.parse({**data.SCHEMA, "tokens": infeed.ragged("int64")}).batch(16)
    numbers = infeed.range(40).batch(8)
    state = iter(parsed).state_dict()
    batch = next(iter(parsed))

    def pickled():
        buffers = []  # beside the text: NumPy's own way without them leaves bytes behind
        text = pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
        pickle.loads(text, buffers=buffers)

    def errors():
        for attempt in (lambda: infeed.range(4).shuffle("x"), lambda: infeed.records("none-*"),
                        lambda: infeed.batch({"x": [object()]}),
                        lambda: next(iter(numbers.map_batches(failing, where="thread")))):
            try:
                attempt()
            except infeed.Error:
                pass

    def resumed():
        with parsed.iterate(resume=state) as iterator:
            next(iterator)
            iterator.load_state_dict(iterator.state_dict())
            str(iterator.statistics())
            str(iterator.tuning())

    def written():
        with infeed.RecordWriter(os.path.join(folder, "w"), existing="replace") as writer:
            writer.write({"image": np.zeros((2, 2), np.uint8), "label": 3, "text": "a", "w": [0.5], "none": None})
            writer.write(b"raw")

    rows = [{"x": i} for i in range(8)]
    return {
        "describe": lambda: pickle.loads(pickle.dumps(infeed.range(9).shuffle(3, seed=1).batch(2))).to_json(),
        "iterate": lambda: consume(numbers.prefetch()),
        "iterate records": lambda: next(iter(parsed.prefetch())),
        "lists of columns": lambda: [column.to_pylist() for column in batch.values()],
        "arrow of columns": lambda: [column.__arrow_c_array__() for column in batch.values()],
        "arrow of a batch": lambda: batch.__arrow_c_stream__(),
        "from_dlpack": lambda: np.from_dlpack(batch["image"]),
        "a capsule that nobody takes": lambda: batch["label"].__dlpack__(),
        "a newer one": lambda: batch["label"].__dlpack__(max_version=(1, 0)),
        "NumPy": batch.numpy,
        "pickle": pickled,
        "items and slices": lambda: (batch["tokens"][2], batch[1:3], repr(batch), hash(batch)),
        "take columns": lambda: infeed.batch({"x": np.zeros(2), "t": [b"a", "b"],
                                              "r": infeed.Ragged(np.zeros(3), ([0, 1, 3],))}),
        "map_batches, consumer": lambda: list(numbers.map_batches(twice)),
        "map_batches, thread": lambda: list(numbers.map_batches(twice, where="thread", seed=2)),
        "from_numpy": lambda: list(infeed.from_numpy({"x": np.zeros(9)}).batch(4)),
        "from_generator": lambda: list(infeed.from_generator(lambda: ({"x": [i]} for i in range(5)))),
        "errors": errors,
        "resume": resumed,
        "at": lambda: parsed.at(3, epoch=0),
        "reshard": lambda: infeed.reshard(iter(numbers.shard(2, 0)).state_dict(), numbers.shard(3, 1)),
        "RecordWriter": written,
        "convert": lambda: infeed.convert(rows, os.path.join(folder, "c"), shard_count=1, existing="replace",
                                          durability="leave_to_system", threads=1),
    }


def main():
    """Prints the growth of each thing, and says whether all are small."""
    assert os.environ.get("PYTHONMALLOC") == "malloc", "set PYTHONMALLOC=malloc"
    leaked = []
    seen = growth(lambda: leaked.append(object()))
    assert seen > BYTES_MAX, f"a leak of an object a call is seen as {seen} bytes"
    leaked.clear()
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        data.make(folder)
        for name, function in everything(folder).items():
            grown = growth(function)
            print(f"{name}: {grown:.1f} bytes a call", flush=True)
            if grown > BYTES_MAX:
                status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
