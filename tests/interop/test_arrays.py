"""Arrays that NumPy saves, of drawn types, shapes, orders and versions of the format: infeed reads NumPy's
own values, or refuses the file and says what to save instead."""

import ctypes
import os
import random
import tempfile
import unittest

import numpy as np
import pyarrow as pa

LIBRARY = ctypes.CDLL(os.environ["INFEED_COLUMNS_LIBRARY"])
LIBRARY.infeed_read_arrays.restype = ctypes.c_char_p
LIBRARY.infeed_read_arrays.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

FILES = int(os.environ.get("INFEED_DRAWN_ARRAYS", "1000"))
SEED = int(os.environ.get("INFEED_TEST_SEED", random.SystemRandom().randrange(1 << 32)))

NUMBERS = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
REFUSED = ["c8", "c16", "U3", "M8[s]", "m8[s]", "O", "i4,f4"]


def read(name, is_archive=False):
    """The columns by name, or the refusal."""
    schema_at, array_at = (ctypes.c_void_p * 9)(), (ctypes.c_void_p * 10)()
    refusal = LIBRARY.infeed_read_arrays(name.encode(), int(is_archive), ctypes.byref(schema_at),
                                         ctypes.byref(array_at))
    if refusal is not None:
        return None, refusal.decode()
    batch = pa.RecordBatch._import_from_c(ctypes.addressof(array_at), ctypes.addressof(schema_at))
    return {name: batch.column(i) for i, name in enumerate(batch.schema.names)}, None


def bits(values):
    """In this machine's order of bytes; NaNs of any kind are compared, too."""
    values = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))
    return values.shape, str(values.dtype), values.tobytes()


def array_of(column, like):
    """What Arrow has as lists of lists, as an array again."""
    while pa.types.is_fixed_size_list(column.type):
        column = column.flatten()
    flat = column.to_numpy(zero_copy_only=False)
    return flat.astype(like.dtype.newbyteorder("=")).reshape(like.shape)


def drawn_array(draw, dtype):
    shape = tuple(draw.randint(1, 4) for _ in range(draw.randint(0, 3)))
    shape = (draw.choice([1, 2, 7, 50]),) + shape
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    content = draw.randbytes(size)
    if dtype == "b1":
        content = bytes(byte & 1 for byte in content)
    order = draw.choice("<>") if np.dtype(dtype).itemsize > 1 else "|"
    return np.frombuffer(content, order + dtype).reshape(shape)


class DrawnArrays(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def save(self, draw, array):
        name = os.path.join(self.folder, "array.npy")
        with open(name, "wb") as file:
            np.lib.format.write_array(file, array, version=draw.choice([(1, 0), (2, 0), (3, 0)]))
        return name

    def test_numbers_of_every_type_shape_order_and_version(self):
        for number in range(FILES):
            draw = random.Random(f"{SEED} numbers {number}")
            array = drawn_array(draw, draw.choice(NUMBERS))
            with self.subTest(seed=SEED, number=number, dtype=str(array.dtype), shape=array.shape):
                columns, refusal = read(self.save(draw, array))
                self.assertIsNone(refusal)
                self.assertEqual(bits(array_of(columns["values"], array)), bits(array))

    def test_column_by_column_is_refused_unless_it_makes_no_difference(self):
        refused = 0
        for number in range(FILES // 10):
            draw = random.Random(f"{SEED} fortran {number}")
            array = np.asfortranarray(drawn_array(draw, draw.choice(NUMBERS)))
            with self.subTest(seed=SEED, number=number, dtype=str(array.dtype), shape=array.shape):
                columns, refusal = read(self.save(draw, array))
                if refusal is None:
                    self.assertLessEqual(sum(extent > 1 for extent in array.shape), 1)
                    self.assertEqual(bits(array_of(columns["values"], array)), bits(array))
                else:
                    refused += 1
                    self.assertIn("ascontiguousarray", refusal)
        self.assertGreater(refused, 0)

    def test_texts_lose_the_zeros_that_fill_them_up(self):
        for number in range(FILES // 10):
            draw = random.Random(f"{SEED} texts {number}")
            texts = [draw.randbytes(draw.randint(0, 9)).rstrip(b"\0") for _ in range(20)]
            array = np.array(texts, "S")
            with self.subTest(seed=SEED, number=number, texts=texts):
                columns, refusal = read(self.save(draw, array))
                self.assertIsNone(refusal)
                self.assertEqual(columns["values"].to_pylist(), array.tolist())

    def test_other_types_are_refused_with_what_to_save_instead(self):
        for dtype in REFUSED:
            with self.subTest(dtype=dtype):
                name = os.path.join(self.folder, "refused.npy")
                np.save(name, np.zeros(3, dtype), allow_pickle=True)
                columns, refusal = read(name)
                self.assertIsNone(columns)
                self.assertIn("save", refusal)

    def test_archives_stored_and_compressed(self):
        for number in range(FILES // 20):
            draw = random.Random(f"{SEED} archives {number}")
            rows = draw.choice([1, 5, 30])
            arrays = {}
            for name in ("a", "b.c", "ümläut")[:draw.randint(1, 3)]:
                array = drawn_array(draw, draw.choice(NUMBERS))
                arrays[name] = np.resize(array, (rows,) + array.shape[1:])
            with self.subTest(seed=SEED, number=number):
                name = os.path.join(self.folder, "arrays.npz")
                draw.choice([np.savez, np.savez_compressed])(name, **arrays)
                columns, refusal = read(name, is_archive=True)
                self.assertIsNone(refusal)
                self.assertEqual(list(columns), list(arrays))
                for key, array in arrays.items():
                    self.assertEqual(bits(array_of(columns[key], array)), bits(array))


if __name__ == "__main__":
    unittest.main()
