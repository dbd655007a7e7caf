"""Columns in NumPy and pyarrow: equal values, the same memory, who may write, and who keeps it alive."""

import collections.abc
import ctypes
import gc
import operator
import pickle
import threading
import unittest
import weakref
from unittest import mock

import ml_dtypes
import numpy as np
import pyarrow as pa

import infeed
from columns import NUMBERS, SHAPES, address, counted, dense, mixed


class Mapping(unittest.TestCase):
    def test_a_batch_is_a_mapping(self):
        plain, batch = mixed()
        self.assertIsInstance(batch, collections.abc.Mapping)
        self.assertEqual(list(batch), list(plain))
        self.assertEqual(len(batch), len(plain))
        self.assertEqual(batch.rows(), 6)
        self.assertEqual([name for name, _ in batch.items()], batch.keys())
        self.assertIn("image", batch)
        self.assertNotIn("nothing", batch)
        self.assertNotIn(3, batch)
        self.assertNotIn(None, batch)
        self.assertFalse(batch == None or batch == 3)  # noqa: E711  pylint: disable=singleton-comparison
        self.assertTrue(batch == mock.ANY and batch != None)  # noqa: E711  pylint: disable=singleton-comparison
        self.assertIsNone(batch.get("nothing"))
        self.assertEqual(batch.get("label").to_pylist(), list(range(6)))
        with self.assertRaisesRegex(KeyError, "there is no column 'imag'.*did you mean 'image'"):
            batch["imag"]  # pylint: disable=pointless-statement
        self.assertEqual(batch, mixed()[1])
        self.assertEqual(hash(batch), hash(mixed()[1]))
        self.assertNotEqual(batch, batch[1:])
        self.assertIn("<infeed.Batch of 6 rows: 'image': uint8[6, 3, 4]", repr(batch))
        self.assertIn("<infeed.Batch of 1 row: 'image'", repr(batch[1:2]))

    def test_a_column_has_no_equality(self):
        column, other = infeed.batch({"x": np.array([1, 2]), "y": np.array([1, 2])}).values()
        for value in (other, column, 1, 1.5, "a", b"a", [1, 2], (1, 2)):
            for compare in (operator.eq, operator.ne):
                with self.assertRaisesRegex(TypeError, r"has no ==: compare arrays, as column.numpy\(\)"):
                    compare(column, value)
        self.assertEqual([(column == np.array([1, 3])).tolist(), (np.array([1, 3]) == column).tolist()],
                         [[True, False]] * 2)
        self.assertEqual((column == mock.ANY, column in [None, column], len({column, other})), (True, True, 2))

    def test_what_a_column_says_of_itself(self):
        _, batch = mixed()
        seen = {name: (column.kind, column.dtype, column.shape) for name, column in batch.items()}
        self.assertEqual(seen, {
            "image": ("dense", "uint8", (6, 3, 4)), "label": ("dense", "int64", (6,)),
            "flag": ("dense", "bool", (6,)), "text": ("bytes", "bytes", (6,)),
            "tokens": ("ragged", "int32", (6,)), "boxes": ("ragged", "float32", (6, 4)),
            "words": ("ragged_bytes", "bytes", (6,))})
        self.assertEqual(len(batch["words"]), 6)
        self.assertEqual(batch["label"].nbytes, 48)

    def test_rows_as_objects(self):
        plain, batch = mixed()
        self.assertEqual(batch["image"].to_pylist(), plain["image"].tolist())
        self.assertEqual(batch["text"].to_pylist(), plain["text"])
        self.assertEqual(batch["text"][4:].to_pylist("utf-8"), ["d", "é"])
        self.assertEqual(batch["text"][-1], "é".encode())
        with self.assertRaises(UnicodeDecodeError):
            batch["text"].to_pylist("utf-8")
        for name in ["tokens", "boxes", "words"]:
            self.assertEqual(batch[name].to_pylist(), plain[name].to_list())
        np.testing.assert_array_equal(batch["boxes"][4], plain["boxes"].values[5:9])
        np.testing.assert_array_equal(batch["image"][-2], plain["image"][4])
        with self.assertRaisesRegex(IndexError, "row 6 of a column of 6 rows"):
            batch["image"][6]  # pylint: disable=expression-not-assigned

    def test_slices(self):
        _, batch = mixed()
        whole = {name: column.to_pylist() for name, column in batch.items()}
        for first in range(7):
            for end in range(first, 7):
                part = batch[first:end]
                self.assertEqual(part.rows(), end - first)
                for name, column in part.items():
                    self.assertEqual(column.to_pylist(), whole[name][first:end], name)
                    self.assertEqual(batch[name][first:end].to_pylist(), whole[name][first:end], name)
        with self.assertRaisesRegex(ValueError, "step 1 only"):
            batch[::2]  # pylint: disable=expression-not-assigned

    def test_parts_of_columns(self):
        plain, batch = mixed()
        tokens, text = batch["tokens"], batch["text"]
        np.testing.assert_array_equal(tokens.values, plain["tokens"].values)
        np.testing.assert_array_equal(tokens.row_splits(), plain["tokens"].row_splits[0])
        np.testing.assert_array_equal(text.offsets, np.cumsum([0] + [len(x) for x in plain["text"]]))
        self.assertEqual(bytes(np.asarray(text.values)), b"".join(plain["text"]))
        with self.assertRaisesRegex(IndexError, "a ragged column has 1 level"):
            tokens.row_splits(1)
        with self.assertRaisesRegex(AttributeError, "a dense column has no offsets"):
            batch["label"].offsets  # pylint: disable=pointless-statement
        with self.assertRaisesRegex(BufferError, "a ragged column is no single array"):
            np.from_dlpack(tokens)


class Pickled(unittest.TestCase):
    def test_every_kind_comes_back(self):
        _, batch = mixed()
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            self.assertEqual(pickle.loads(pickle.dumps(batch, protocol)), batch)
            for name, column in batch.items():
                again = pickle.loads(pickle.dumps(column, protocol))
                self.assertEqual((again.kind, again.dtype, again.to_pylist()),
                                 (column.kind, column.dtype, column.to_pylist()), name)
        buffers = []
        text = pickle.dumps(batch, 5, buffer_callback=buffers.append)
        self.assertLess(len(text), 4000, "the values are in the buffers")
        self.assertEqual(pickle.loads(text, buffers=buffers), batch)
        with self.assertRaisesRegex(infeed.Error, "too few bytes or too many"):
            infeed._core._column_of_parts((0, ("int32", [2], np.zeros(7, np.uint8)), []))
        with self.assertRaisesRegex(infeed.Error, "unknown kind"):
            infeed._core._column_of_parts((9, ("int32", [2], np.zeros(8, np.uint8)), []))


class NumPy(unittest.TestCase):
    def test_numbers_are_of_numpys_own_types(self):
        for dtype in NUMBERS:
            self.assertIs(dense(dtype, (3,)).numpy().dtype.type, np.dtype(dtype).type)  # there are two of 64 bits

    def test_every_dtype_and_shape_in_the_same_memory(self):
        for dtype in NUMBERS:
            for shape in SHAPES:
                column = dense(dtype, shape)
                forms = [column.numpy(), np.from_dlpack(column), np.asarray(column)]
                for array in forms:
                    self.assertEqual(array.dtype.name, dtype)
                    self.assertEqual(array.shape, shape)
                    np.testing.assert_array_equal(array, counted(dtype, shape))
                if np.prod(shape):
                    self.assertEqual(len({address(array) for array in forms}), 1, (dtype, shape))

    def test_who_may_write(self):
        alone, shared = dense("int32", (4,)), dense("int32", (4,), copy=False)
        self.assertTrue(alone.is_alone)
        self.assertFalse(shared.is_alone)
        for array in [alone.numpy(), np.from_dlpack(alone), np.asarray(alone), alone[1:].numpy()]:
            self.assertTrue(array.flags.writeable)
        for array in [shared.numpy(), np.from_dlpack(shared), np.asarray(shared), shared[1:].numpy()]:
            self.assertFalse(array.flags.writeable)
        alone.numpy()[0] = 7
        self.assertEqual(alone.to_pylist(), [7, 1, 2, 3])
        self.assertTrue(np.from_dlpack(shared, copy=True).flags.writeable)
        self.assertNotEqual(address(np.from_dlpack(shared, copy=True)), address(shared.numpy()))

    def test_capsules_of_both_versions(self):
        column = dense("float32", (2, 3))
        for options, name in [({}, "dltensor"), ({"max_version": (0, 8)}, "dltensor"),
                              ({"max_version": (1, 0)}, "dltensor_versioned"),
                              ({"max_version": (2, 3), "dl_device": (1, 0)}, "dltensor_versioned")]:
            self.assertIn(f'"{name}"', repr(column.__dlpack__(**options)))
        self.assertEqual(column.__dlpack_device__(), (1, 0))
        with self.assertRaisesRegex(BufferError, "no streams"):
            column.__dlpack__(stream=1)
        with self.assertRaisesRegex(BufferError, r"the CPU's, device \(1, 0\)"):
            column.__dlpack__(dl_device=(2, 0))

    def test_bfloat16(self):
        values = np.arange(6).astype(ml_dtypes.bfloat16)
        column = infeed.batch({"x": values})["x"]
        self.assertEqual(column.dtype, "bfloat16")
        self.assertEqual(column.numpy().dtype, ml_dtypes.bfloat16)
        np.testing.assert_array_equal(column.numpy(), values)
        self.assertEqual(column.to_pylist(), list(range(6)))

    def test_array_protocol(self):
        column = dense("int16", (3, 2))
        self.assertEqual(np.asarray(column, dtype="float64").dtype, np.float64)
        self.assertNotEqual(address(np.array(column)), address(column.numpy()))
        with self.assertRaisesRegex(ValueError, "needs a copy"):
            column.__array__(dtype=np.float64, copy=False)
        np.testing.assert_array_equal(column + 0 * np.asarray(column), counted("int16", (3, 2)))

    def test_a_whole_batch(self):
        plain, batch = mixed()
        arrays = batch.numpy()
        for name in ["image", "label", "flag"]:
            np.testing.assert_array_equal(arrays[name], plain[name])
        self.assertEqual(arrays["text"].dtype, object)
        self.assertEqual(arrays["text"].tolist(), plain["text"])
        for name in ["tokens", "boxes", "words"]:
            self.assertEqual(arrays[name].to_list(), plain[name].to_list())

    def test_arrays_keep_the_memory_and_any_thread_lets_it_go(self):
        source = counted("float32", (1000,))
        alive = weakref.ref(source)
        array = infeed.batch({"x": source})["x"].numpy()[500:]
        del source
        gc.collect()
        self.assertIsNotNone(alive(), "the array shows this memory")
        np.testing.assert_array_equal(array, np.arange(500, 1000))
        box = [array]
        del array
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
        gc.collect()
        self.assertIsNone(alive())


class Taken(unittest.TestCase):
    def test_nothing_is_copied_but_on_demand(self):
        source = counted("float32", (8, 3))
        self.assertEqual(address(infeed.batch({"x": source})["x"].numpy()), address(source))
        self.assertNotEqual(address(infeed.batch({"x": source}, copy=True)["x"].numpy()), address(source))

    def test_arrays_with_gaps(self):
        source = counted("int64", (6, 4))
        for part in [source[:, ::2], source[::2], source.T, source[::-1]]:
            np.testing.assert_array_equal(infeed.batch({"x": part})["x"].numpy(), part)

    def test_other_buffers(self):
        for source in [(ctypes.c_int32 * 3)(1, 2, 3), bytearray([1, 2, 3]), memoryview(np.array([1, 2, 3]))]:
            self.assertEqual(infeed.batch({"x": source})["x"].to_pylist(), [1, 2, 3])

    def test_texts(self):
        for texts in [["a", "", "bé"], [b"a", b"", "bé".encode()], ("a", b"", "bé"),
                      np.array(["a", "", "bé"]), np.array(["a", "", "bé"], dtype=object)]:
            self.assertEqual(infeed.batch({"x": texts})["x"].to_pylist("utf-8"), ["a", "", "bé"])

    def test_an_empty_list_tells_no_type(self):
        self.assertEqual(infeed.batch({"x": []})["x"].dtype, "float64")
        self.assertEqual(infeed.batch({"x": np.array([], dtype=object)})["x"].dtype, "bytes")

    def test_what_is_no_column(self):
        for value, reason in [(3, "no array of numbers|one number is no column"), (mock.Mock(spec=["to_numpy"]), "to_numpy"),
                              (np.float32(1), "one number is no column"), ("text", "one text is no column"),
                              ([b"a", 3], "row 1 is a int; rows that are no array of numbers"),
                              ([3, "a"], "row 0 is a int; rows that"), ((b"a", None), "row 1 is a NoneType; rows that"),
                              ([0.5, b"a"], "row 0 is a float; rows that"), ([["a"], ["b"]], "must have one axis"),
                              ([2**70], "row 0 is a int; rows that"),
                              ([[1], [2, 3]], r"inhomogeneous.*several lengths are infeed.Ragged\(values"),
                              (["a", "\udc80"], "a text has no UTF-8 .*surrogates.*give its bytes"),
                              (np.array([1], ">i4"), "the dtype >i4 is no array.*byte order"),
                              (np.datetime64("2026-01-01"), r"the dtype datetime64\[D\] is no array"),
                              (np.array([1], "m8[s]"), r"the dtype timedelta64\[s\] is no array"),
                              (np.ma.array([1, 2], mask=[False, True]), "its mask hides values.*filled"),
                              (infeed.Ragged([1, 2], ([0, 1.5, 2],)), "row_splits are whole numbers, .*float64"),
                              (infeed.Ragged([1, 2], ([0, 3, 2],)), "row splits of a column fall from 3 to 2"),
                              (infeed.Ragged(infeed.Ragged([1], ([0, 1],)), ([0, 1],)), "values .* a ragged column"),
                              ([[0.5], [2**53 + 1]], "would become a float"), (np.array([1j]), "code 5 with 128 bits")]:
            with self.assertRaisesRegex(infeed.Error, f"column 'x'.*({reason})"):
                infeed.batch({"x": value})
        self.assertEqual(infeed.batch({"x": np.ma.array([1, 2])})["x"].to_pylist(), [1, 2])
        with self.assertRaises(UnicodeEncodeError):
            infeed.batch({"\udc80": [1]})
        with self.assertRaisesRegex(infeed.Error, "'b' has 2 rows, but 'a' has 3|has 3 rows"):
            infeed.batch({"a": np.zeros(3), "b": np.zeros(2)})
        for value, kind in [([1, 2], "list"), (None, "NoneType"), ((), "tuple")]:
            with self.assertRaisesRegex(infeed.Error, f"a batch is a mapping .* a {kind} was given"):
                infeed.batch(value)


class Arrow(unittest.TestCase):
    def test_every_kind_of_column(self):
        plain, batch = mixed()
        taken = pa.record_batch(batch)
        taken.validate(full=True)
        self.assertEqual(taken.schema.names, list(plain))
        for name, column in batch.items():
            self.assertEqual(taken[name].to_pylist(), column.to_pylist(), name)
            self.assertEqual(pa.array(column).to_pylist(), column.to_pylist(), name)
        self.assertEqual(pa.table(batch).to_pylist(), taken.to_pylist())

    def test_there_and_back_in_the_same_memory(self):
        _, batch = mixed()
        for first, end in [(0, 6), (2, 5), (3, 4)]:
            (read,) = list(infeed.from_arrow(pa.record_batch(batch[first:end])).batch(10))
            self.assertEqual(read, batch[first:end])
        (read,) = list(infeed.from_arrow(pa.record_batch(batch)).batch(10))
        for name in ["image", "label"]:
            self.assertEqual(address(read[name].numpy()), address(batch[name].numpy()))
        for name in ["text", "tokens"]:
            self.assertEqual(address(read[name].values.numpy()), address(batch[name].values.numpy()))

    def test_pyarrows_own_types(self):
        table = pa.table({
            "small": pa.array(["a", "bc", ""]), "large": pa.array(["a", "bc", ""], pa.large_string()),
            "views": pa.array(["short", "x" * 40, ""], pa.string_view()),
            "lists": pa.array([[1, 2], [], [3]]), "texts": pa.array([["a"], [], ["b", "c"]]),
            "day": pa.array([0, 1, 2], pa.date32()), "time": pa.array([0, 1, 2], pa.timestamp("us")),
            "pair": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float64(), 2)),
            "bits": pa.array([True, False, True]),
            "image": pa.array([{"bytes": b"x", "path": "p"}] * 3)})
        for first, count in [(0, 3), (1, 2), (2, 1)]:
            part = table.slice(first, count)
            (read,) = _batches(part)
            for name in table.schema.names[:4] + ["texts", "pair", "bits"]:
                texts = name in ("small", "large", "views", "texts")
                self.assertEqual(read[name].to_pylist("utf-8" if texts else None), part[name].to_pylist())
            self.assertEqual(read["day"].to_pylist(), list(range(3))[first:first + count])
            self.assertEqual(read["image.bytes"].to_pylist(), [b"x"] * count)
            self.assertEqual(read["image.path"].to_pylist(), [b"p"] * count)

    def test_other_metadata_makes_no_bfloat16(self):
        for metadata in ({"infeed.dtype": "bfloat16 or so"}, {"twelve bytes": ""}):  # the text was read past its end
            schema = pa.schema([pa.field("x", pa.uint16(), metadata=metadata)])
            (read,) = _batches(pa.table({"x": [1, 2]}, schema=schema))
            self.assertEqual((read["x"].dtype, read["x"].to_pylist()), ("uint16", [1, 2]))
        # Parquet's writers add pairs of their own; the bits were numbers then.
        both = {"PARQUET:field_id": "1", "infeed.dtype": "bfloat16", "unit": ""}
        (read,) = _batches(pa.table({"x": [0x3f80]}, schema=pa.schema([pa.field("x", pa.uint16(), metadata=both)])))
        self.assertEqual((read["x"].dtype, read["x"].to_pylist()), ("bfloat16", [1]))

    def test_what_no_column_holds(self):
        for values, reason in [(pa.array([1, None]), "row 1 is null.*fill them first"),
                               (pa.array([[1], [None]]), "row 1 is null|row 0 is null"),
                               (pa.array(["a", "b"]).dictionary_encode(), "dictionary-encoded"),
                               (pa.array([None, None]), "Arrow's type 'n'|is null"),
                               (pa.array([["a", "b"]], pa.list_(pa.string(), 2)), "cast it to lists of any size"),
                               (pa.array([1, 2], pa.decimal128(5)), "Arrow's type 'd:5,0'")]:
            with self.assertRaisesRegex(infeed.Error, f"Arrow column 'x': .*({reason})"):
                infeed.from_arrow(pa.table({"x": values}))
        with self.assertRaisesRegex(infeed.Error, "a list has neither __arrow_c_stream__"):
            infeed.from_arrow([1])

    def test_a_table_without_rows_is_an_empty_dataset(self):
        types = {"x": pa.int8(), "flag": pa.bool_(), "texts": pa.string(), "views": pa.string_view(),
                 "lists": pa.list_(pa.float32()), "image": pa.list_(pa.uint8(), 3), "words": pa.list_(pa.binary()),
                 "s": pa.struct([("a", pa.int64())])}
        schema = pa.schema(types)
        empty = [schema.empty_table(), pa.table({name: pa.chunked_array([], kind) for name, kind in types.items()}),
                 pa.RecordBatchReader.from_batches(schema, [])]
        for table in empty:
            dataset = infeed.from_arrow(table)
            self.assertEqual(list(dataset.batch(5)), [])
            self.assertEqual(len(dataset), 0)
            spec = dataset.element_spec
            self.assertEqual(list(spec), [*list(types)[:-1], "s.a"])
            self.assertEqual((spec["x"].dtype, spec["lists"].kind, spec["image"].shape), ("int8", "ragged", (3,)))
        full = pa.table({"x": [1, 2]})
        both = infeed.concatenate(infeed.from_arrow(full), infeed.from_arrow(full.slice(0, 0)))
        self.assertEqual([batch["x"].to_pylist() for batch in both.batch(5)], [[1, 2]])

    def test_sequences_in_memory_are_padded(self):
        """They came ragged, with rows of any length, though element_spec said padded."""
        splits = np.array([0, 2, 2, 6])
        for rows in [infeed.from_numpy({"t": infeed.Ragged(np.arange(6), (splits,))}),
                     infeed.from_arrow(pa.table({"t": [[0, 1], [], [2, 3, 4, 5]]}))]:
            padded = rows.padded_batch(3, padding=-1)
            batch, = padded
            self.assertEqual(batch["t"].numpy().tolist(), [[0, 1, -1, -1], [-1] * 4, [2, 3, 4, 5]])
            self.assertEqual(batch["t"].kind, padded.element_spec["t"].kind)
            iterator = iter(rows.padded_batch(2, width=3))
            self.assertEqual(next(iterator)["t"].to_pylist(), [[0, 1], []])
            with self.assertRaisesRegex(infeed.Error, "a row has 4 items, but is to be padded to 3"):
                next(iterator)
            with self.assertRaisesRegex(infeed.Error, "9007199254740993; it must be a number that float64 holds"):
                rows.padded_batch(2, padding=2**53 + 1)

    def test_a_column_that_is_called_as_lengths_is_not_lost(self):
        rows = infeed.from_numpy({"t.lengths": np.arange(2), "t": infeed.Ragged(np.arange(3), (np.array([0, 2, 3]),))})
        batch, = rows.padded_batch(2)
        with self.assertRaisesRegex(infeed.Error, "'t.lengths', which is a column, too"):
            batch.numpy()

    def test_chunks_become_batches_of_one_size(self):
        table = pa.concat_tables([pa.table({"x": np.arange(first, first + 7)}) for first in (0, 7, 14)])
        batches = [batch["x"].to_pylist() for batch in infeed.from_arrow(table).batch(5)]
        self.assertEqual(batches, [list(range(first, min(first + 5, 21))) for first in range(0, 21, 5)])

    def test_many_chunks_cost_as_much_as_one(self):
        count = 5000
        table = pa.concat_tables(pa.table({"x": [n, -n], "t": [str(n), "é" * (n % 3)]}) for n in range(count))
        self.assertEqual(table["x"].num_chunks, count)
        dataset, whole = infeed.from_arrow(table), infeed.from_arrow(table.combine_chunks())
        self.assertEqual(len(dataset), 2 * count)
        self.assertEqual(list(dataset.batch(7)), list(whole.batch(7)))
        self.assertEqual(list(dataset.batch(7).global_shuffle(seed=1)), list(whole.batch(7).global_shuffle(seed=1)))
        self.assertEqual(list(pickle.loads(pickle.dumps(dataset.take(3)))), list(whole.take(3)))
        iterator = iter(dataset.batch(2))
        first = next(iterator)
        view, = table["x"].slice(0, 2).chunks
        self.assertTrue(np.shares_memory(first["x"].numpy(), view.to_numpy()))
        self.assertLess(len(iterator.state_dict()["infeed"]), 1024)
        rest = list(dataset.batch(2).iterate(resume=iterator.state_dict()))
        self.assertEqual(rest, list(iterator))
        with self.assertRaisesRegex(infeed.Error, "another pipeline|differ|pipeline"):
            other = infeed.from_arrow(pa.concat_tables([table.slice(2), table.slice(0, 2)]))
            other.batch(2).iterate(resume=iterator.state_dict())


def _batches(table):
    return infeed._core._batches_from_arrow(table.combine_chunks())


if __name__ == "__main__":
    unittest.main()
