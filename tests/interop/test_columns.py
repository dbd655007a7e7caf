"""Columns of infeed in NumPy and pyarrow: equal values, the same memory, and who keeps it alive."""

import ctypes
import gc
import os
import threading
import unittest

import numpy as np
import pyarrow as pa

LIBRARY = ctypes.CDLL(os.environ["INFEED_COLUMNS_LIBRARY"])
LIBRARY.infeed_dlpack.restype = ctypes.c_void_p
LIBRARY.infeed_dlpack.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int]
LIBRARY.infeed_dlpack_data.restype = ctypes.c_void_p
LIBRARY.infeed_dlpack_data.argtypes = [ctypes.c_void_p, ctypes.c_int]
LIBRARY.infeed_dlpack_writable.restype = ctypes.c_void_p

NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
NEW_CAPSULE.restype = ctypes.py_object
NEW_CAPSULE.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

CPU = (1, 0)
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


class Exported:
    """An object with DLPack's protocol. One that numpy asks without max_version gets the old struct."""

    def __init__(self, pointer, is_versioned):
        self.pointer, self.name = pointer, b"dltensor_versioned" if is_versioned else b"dltensor"

    def __dlpack__(self, **_):
        return NEW_CAPSULE(self.pointer, self.name, None)

    def __dlpack_device__(self):
        return CPU


class Structs:
    """Places for ArrowSchema, ArrowArray and ArrowArrayStream, which are 9, 10 and 5 words."""

    def __init__(self):
        self.schema, self.array, self.stream = ((ctypes.c_void_p * words)() for words in (9, 10, 5))

    def __getattr__(self, name):
        return ctypes.addressof(self.__dict__[name.removesuffix("_at")])


def arrow_batch(first=0, rows=6, column="int32"):
    """A RecordBatch, and where infeed has the values of `column`."""
    structs, data = Structs(), ctypes.c_void_p()
    LIBRARY.infeed_arrow(ctypes.c_int64(first), ctypes.c_int64(rows), ctypes.byref(structs.schema),
                         ctypes.byref(structs.array), column.encode(), ctypes.byref(data))
    batch = pa.RecordBatch._import_from_c(structs.array_at, structs.schema_at)
    batch.validate(full=True)
    return batch, data.value


def arrow_stream(fails_at=-1):
    structs = Structs()
    LIBRARY.infeed_arrow_stream(fails_at, ctypes.byref(structs.stream))
    return pa.RecordBatchReader._import_from_c(structs.stream_at)


def counted(dtype, shape):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return values % 2 == 1 if dtype == "bool" else values.astype(dtype)


class ColumnsTest(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.assertEqual(LIBRARY.infeed_living(), 0)

    def tearDown(self):
        gc.collect()
        self.assertEqual(LIBRARY.infeed_living(), 0, "memory that nobody shows any more is still alive")


class DLPack(ColumnsTest):
    def test_values_in_the_same_memory(self):
        for is_versioned in (0, 1):
            for dtype in DTYPES:
                pointer = LIBRARY.infeed_dlpack(dtype.encode(), 2, 3, is_versioned)
                place = LIBRARY.infeed_dlpack_data(pointer, is_versioned)
                array = np.from_dlpack(Exported(pointer, is_versioned))
                self.assertEqual(array.ctypes.data, place)
                self.assertEqual(array.dtype.name, dtype)
                np.testing.assert_array_equal(array, counted(dtype, (5, 2, 3))[2:])
                if is_versioned:
                    self.assertFalse(array.flags.writeable, "others may read the same memory")

    def test_the_array_keeps_the_memory_and_any_thread_lets_it_go(self):
        array = np.from_dlpack(Exported(LIBRARY.infeed_dlpack(b"float32", 0, 1000, 1), True))
        part = array[500:, 0]
        del array
        gc.collect()
        self.assertEqual(LIBRARY.infeed_living(), 1)
        np.testing.assert_array_equal(part, counted("float32", (1000, 2, 3))[500:, 0])
        box = [part]
        del part
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
        self.assertEqual(LIBRARY.infeed_living(), 0)

    def test_a_tensor_that_was_given_away_may_be_written(self):
        array = np.from_dlpack(Exported(LIBRARY.infeed_dlpack_writable(), True))
        array += 1
        np.testing.assert_array_equal(array, np.full(4, 8, np.int32))

    def test_without_rows(self):
        array = np.from_dlpack(Exported(LIBRARY.infeed_dlpack(b"int16", 3, 0, 1), True))
        self.assertEqual(array.shape, (0, 2, 3))


class Arrow(ColumnsTest):
    def test_every_kind_of_column(self):
        batch, _ = arrow_batch()
        for dtype in DTYPES:
            np.testing.assert_array_equal(
                batch[dtype].to_numpy(zero_copy_only=dtype != "bool"), counted(dtype, 6))
            self.assertFalse(batch.schema.field(dtype).nullable)
        self.assertEqual(batch.schema.field("bfloat16").type, pa.uint16())
        self.assertEqual(batch.schema.field("bfloat16").metadata, {b"infeed.dtype": b"bfloat16"})
        bits = batch["bfloat16"].to_numpy().astype(np.uint32) << 16
        np.testing.assert_array_equal(bits.view(np.float32), np.arange(6))
        self.assertEqual(batch["shaped"].to_pylist(), counted("float32", (6, 2, 3)).tolist())
        self.assertEqual(batch.schema.field("shaped").type.list_size, 2)
        self.assertEqual(batch.schema.field("shaped").type.value_type.list_size, 3)
        self.assertEqual(batch["flags"].to_pylist(), counted("bool", (6, 3)).tolist())
        self.assertEqual(batch["ragged"].to_pylist(), [[0, 1], [], [2, 3, 4], [], [5, 6, 7, 8], [9]])
        self.assertEqual(batch["boxes"].to_pylist()[5], [[36, 37, 38, 39]])
        self.assertEqual(batch["nested"].to_pylist(),
                         [[[0, 1, 2]], [], [[], [3, 4, 5, 6, 7]], [[8, 9]], [], []])
        self.assertEqual(batch["bytes"].to_pylist(), [b"a", b"", b"bc", b"\xff\xfe", b"d", b"\xc3\xa9"])
        self.assertEqual(batch["words"].to_pylist(),
                         [[b"0", b"1"], [], [b"22", b"", b"4"], [], [b"5", b"6", b"7", b"8"], [b"nine"]])
        self.assertEqual(batch["padded"].to_pylist(), counted("int64", (6, 3)).tolist())
        self.assertEqual(batch["padded.lengths"].to_pylist(), [0, 1, 2, 3, 0, 3])

    def test_slices(self):
        whole = arrow_batch()[0].to_pylist()
        for first in range(7):
            for rows in range(7 - first):
                batch, _ = arrow_batch(first, rows)
                self.assertEqual(batch.to_pylist(), whole[first:first + rows])

    def test_the_same_memory(self):
        for column, depth in [("int64", 0), ("float16", 0), ("shaped", 2), ("ragged", 1), ("nested", 2),
                              ("bytes", 0), ("words", 1), ("padded", 1)]:
            batch, place = arrow_batch(2, 3, column)
            array = batch[column]
            for _ in range(depth):
                array = array.values
            self.assertEqual(array.buffers()[-1].address, place, column)
        batch, place = arrow_batch(0, 6, "bool")
        self.assertNotEqual(batch["bool"].buffers()[-1].address, place, "bits are made of bools")

    def test_a_child_keeps_its_memory(self):
        batch, _ = arrow_batch()
        column = batch["shaped"]
        del batch
        gc.collect()
        self.assertGreater(LIBRARY.infeed_living(), 0)
        self.assertEqual(column.to_pylist(), counted("float32", (6, 2, 3)).tolist())

    def test_stream(self):
        whole = arrow_batch()[0].to_pylist()
        table = arrow_stream().read_all()
        rows = [row for number in range(6) for row in whole[number:]]
        self.assertEqual(table.to_pylist(), rows)
        self.assertEqual(table.num_rows, 21)

    def test_a_batch_outlives_its_stream(self):
        reader = arrow_stream()
        batch = reader.read_next_batch()
        del reader
        gc.collect()
        self.assertEqual(batch["int8"].to_pylist(), list(range(6)))

    def test_an_error_of_the_source(self):
        reader = arrow_stream(fails_at=1)
        self.assertEqual(reader.read_next_batch().num_rows, 6)
        with self.assertRaisesRegex(OSError, r"data_loss: the record is cut \[file a.tfrecord, record 5\]"):
            reader.read_next_batch()
        self.assertEqual(reader.read_next_batch().num_rows, 4, "the stream goes on behind it")
        with self.assertRaisesRegex(OSError, "the record is cut"):
            arrow_stream(fails_at=0).schema.names  # pylint: disable=expression-not-assigned


if __name__ == "__main__":
    unittest.main()
