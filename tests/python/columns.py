"""Columns of every dtype, shape and kind, and how to read one, that several tests share."""

import numpy as np

import infeed

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
           "float32", "float64"]
SHAPES = [(0,), (1,), (5,), (3, 4), (2, 0), (0, 3), (2, 3, 4), (16, 1, 1, 2)]


def counted(dtype, shape):
    """Returns an array with a different value at each place, as far as the dtype has them."""
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return values % 2 == 1 if dtype == "bool" else values.astype(dtype)


def dense(dtype, shape, copy=True):
    """Returns a column; one that is copied is alone, so that it may be written."""
    return infeed.batch({"x": counted(dtype, shape)}, copy=copy)["x"]


def mixed(rows=6):
    """Returns the plain mapping of a batch with all kinds, and the batch."""
    lengths = [2, 0, 3, 0, 4, 1][:rows]
    splits = np.cumsum([0] + lengths)
    items = int(splits[-1])
    plain = {
        "image": counted("uint8", (rows, 3, 4)),
        "label": counted("int64", (rows,)),
        "flag": counted("bool", (rows,)),
        "text": [b"a", b"", b"bc", b"\xff\xfe", b"d", "é".encode()][:rows],
        "tokens": infeed.Ragged(counted("int32", (items,)), (splits,)),
        "boxes": infeed.Ragged(counted("float32", (items, 4)), (splits,)),
        "words": infeed.Ragged([b"w%d" % i for i in range(items)], (splits,)),
    }
    return plain, infeed.batch(plain)


def address(array):
    """Returns where the first value of an array lies."""
    return array.__array_interface__["data"][0]


def values(batches):
    return [value for batch in batches for value in batch["value"].to_pylist()]
