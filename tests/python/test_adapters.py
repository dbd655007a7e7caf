"""The frameworks' own loops over a Dataset: what they get, and where they go on after a restart."""

import asyncio
import itertools
import json
import os
import pathlib
import pickle
import tempfile
import unittest
from unittest import mock

import numpy as np

import infeed
from adapted import dataset, expected, labels, needs


class NumPy(unittest.TestCase):
    def test_each_loop_is_an_epoch(self):
        loader = dataset().numpy()
        self.assertEqual(len(loader), 13)
        first, second = labels(loader), labels(loader)
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)

    def test_the_loader_itself_can_be_saved(self):
        loader = dataset().numpy()
        batches = iter(loader)
        taken = labels(itertools.islice(batches, 5))
        state = json.loads(json.dumps(loader.state_dict()))
        rest = labels(batches)
        again = pickle.loads(pickle.dumps(dataset().numpy()))
        again.load_state_dict(state)
        self.assertEqual(again.state_dict(), state)
        self.assertEqual(labels(again), rest)
        self.assertEqual(len(taken) + len(rest), 13)
        self.assertEqual(labels(again), expected(epoch=1), "the loop behind it is the next epoch")
        fresh = dataset().numpy()
        fresh.state_dict()
        self.assertEqual(labels(fresh), expected(), "asking for a place takes no epoch")
        with iter(loader) as other:
            other.load_state_dict(state)
            self.assertEqual(labels(other), rest)

    def test_behind_the_end_of_an_epoch_is_the_next_one(self):
        with dataset().iterate(epoch=0) as iterator:
            list(iterator)
            end = iterator.state_dict()
        for make in [dataset, lambda: dataset().in_process()]:
            loader = make().numpy()
            loader.load_state_dict(end)
            self.assertEqual([labels(loader) for _ in range(2)], [expected(epoch=1), expected(epoch=2)])
            with make().iterate(resume=end) as exact:
                self.assertEqual(list(exact), [], "an Iterator is at the very place")

    def test_a_loop_that_goes_elsewhere_counts_from_there(self):
        states = [dataset().iterate(epoch=epoch).state_dict() for epoch in (0, 4)]
        loader = dataset().numpy()
        loader.load_state_dict(states[0])
        with iter(loader) as iterator:
            iterator.load_state_dict(states[1])
            self.assertEqual(labels(iterator), expected(epoch=4))
        self.assertEqual(labels(loader), expected(epoch=5))

    def test_what_a_function_of_the_consumer_returns(self):
        doubled = dataset().map_batches(lambda batch: {"y": batch["y"].numpy() * 2})
        self.assertEqual(labels(doubled.numpy()), [[2 * label for label in batch] for batch in expected()])
        with self.assertRaisesRegex(infeed.Error, "a batch is a mapping"):
            list(dataset().map_batches(lambda batch: 3).numpy())

    def test_the_rest_is_the_iterators_own(self):
        with iter(dataset().numpy()) as iterator:
            next(iterator)
            self.assertEqual(iterator.position, 1)
            self.assertIn("shuffle", str(iterator.statistics()))
        with self.assertRaises(AttributeError):
            iterator.nothing  # pylint: disable=pointless-statement


@needs("torch")
class Torch(unittest.TestCase):
    def test_a_plain_loop(self):
        batches = list(dataset().torch())
        self.assertEqual(labels(batches), expected())
        self.assertEqual(str(batches[0]["x"].dtype), "torch.float32")
        self.assertEqual(batches[0]["text"][0], b"row %d" % batches[0]["y"][0])

    def test_sequences_are_pinned_and_moved_too(self):
        import torch  # pylint: disable=import-outside-toplevel
        pinned, ragged = [], infeed.Ragged(np.arange(5), ([0, 2, 2, 5],))
        batches = infeed.from_generator(lambda: [{"t": ragged, "text": [b"a", b"b", b"c"]}])
        with mock.patch.object(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor):
            (batch,) = batches.torch(pin_memory=True, device="meta")
        self.assertEqual([tensor.tolist() for tensor in pinned], [[0, 1, 2, 3, 4], [0, 2, 2, 5]])
        self.assertEqual([tensor.device.type for tensor in (batch["t"].values, *batch["t"].row_splits)], ["meta"] * 2)
        self.assertEqual(batch["text"], [b"a", b"b", b"c"])

    def test_a_data_loader(self):
        from torch.utils.data import DataLoader  # pylint: disable=import-outside-toplevel
        for workers in (0, 1):
            loader = DataLoader(dataset().torch(), batch_size=None, num_workers=workers,
                                multiprocessing_context="spawn" if workers else None)
            self.assertEqual(labels(loader), expected())
        with self.assertRaisesRegex(RuntimeError, "would see every batch 2 times"):
            list(DataLoader(dataset().torch(), batch_size=None, num_workers=2,
                            multiprocessing_context="spawn"))

    def test_a_data_loader_of_a_dataset_itself(self):
        from torch.utils.data import DataLoader  # pylint: disable=import-outside-toplevel
        unknown = infeed.from_generator(lambda: [{"x": np.arange(3)}])
        for given, options in ((infeed.range(9).batch(3), {}), (infeed.range(9).batch(3), {"batch_size": None}),
                               (unknown, {})):
            with self.assertRaisesRegex(TypeError, r"a DataLoader.* takes dataset.torch\(\)"):
                list(DataLoader(given, **options))

    @needs("torchdata")
    def test_the_stateful_data_loader(self):
        # pylint: disable=import-outside-toplevel
        from torchdata.stateful_dataloader import StatefulDataLoader
        for workers in (0, 1):
            options = {"batch_size": None, "num_workers": workers,
                       "multiprocessing_context": "spawn" if workers else None}
            loader = StatefulDataLoader(dataset().torch(), **options)
            batches = iter(loader)
            for _ in range(5):
                next(batches)
            state = loader.state_dict()
            rest = labels(batches)
            again = StatefulDataLoader(dataset().torch(), **options)
            again.load_state_dict(state)
            self.assertEqual(labels(again), rest, f"{workers} workers")
            self.assertEqual(len(rest), 8)

    def test_the_protocols_of_lightning_and_torchtitan(self):
        from torch.distributed.checkpoint.stateful import Stateful  # pylint: disable=import-outside-toplevel
        loader = dataset().torch()
        self.assertIsInstance(loader, Stateful)
        self.assertIsInstance(iter(loader), Stateful)


@needs("jax")
class Jax(unittest.TestCase):
    def test_loops(self):
        import jax  # pylint: disable=import-outside-toplevel
        self.assertEqual(labels(dataset().jax()), expected())
        sharding = jax.sharding.NamedSharding(jax.make_mesh((1,), ("data",)), jax.sharding.PartitionSpec("data"))
        batches = list(dataset().jax(sharding=sharding))
        self.assertEqual(labels(batches), expected())
        self.assertEqual(batches[0]["x"].sharding, sharding)


@needs("tensorflow")
class TensorFlow(unittest.TestCase):
    def test_loops(self):
        from infeed import tf as infeed_tf  # pylint: disable=import-outside-toplevel
        self.assertEqual(labels(dataset().tf()), expected())
        batches = infeed_tf.dataset(dataset())
        self.assertEqual(int(batches.cardinality()), 13)
        self.assertEqual(sorted(labels(batches)), sorted(expected()))
        self.assertEqual(batches.element_spec["x"].shape.as_list(), [None, 3])
        pairs = infeed_tf.dataset(dataset(), form=lambda batch: (batch["x"], batch["y"]))
        x, y = next(iter(pairs.prefetch(1)))
        np.testing.assert_array_equal(x[:, 0], y * 3)

    def test_ragged_and_padded_columns(self):
        from infeed import tf as infeed_tf  # pylint: disable=import-outside-toplevel
        ragged = infeed.batch({"t": infeed.Ragged(np.arange(5), ([0, 2, 2, 5],))})
        batches = infeed_tf.dataset(infeed.from_generator(lambda: [ragged, ragged[1:]]))
        self.assertEqual([batch["t"].to_list() for batch in batches], [[[0, 1], [], [2, 3, 4]], [[], [2, 3, 4]]])

    def test_a_column_that_is_named_like_lengths(self):
        from infeed import tf as infeed_tf  # pylint: disable=import-outside-toplevel
        batches = infeed_tf.dataset(infeed.from_numpy({"t.lengths": np.arange(6)}).batch(3))
        self.assertEqual([batch["t.lengths"].numpy().tolist() for batch in batches], [[0, 1, 2], [3, 4, 5]])


class Arrow(unittest.TestCase):
    def check(self, x, y):
        wanted = [label for batch in expected() for label in batch]
        self.assertEqual(list(y), wanted)
        self.assertEqual([row[0] for row in x], [3.0 * label for label in wanted])

    def test_pyarrow(self):
        import pyarrow as pa  # pylint: disable=import-outside-toplevel
        reader = pa.RecordBatchReader.from_stream(dataset().arrow())
        table = reader.read_all()
        self.check(table["x"].to_pylist(), table["y"].to_pylist())

    def test_a_dataset_without_batches_has_its_columns(self):
        import pyarrow as pa  # pylint: disable=import-outside-toplevel
        rows = {"x": np.zeros((4, 3), np.float32), "t": [b"a"] * 4, "r": infeed.Ragged(np.arange(4), (np.arange(5),)),
                "w": infeed.Ragged(np.arange(4, dtype=np.int16), (np.arange(5), np.arange(5)))}
        batches = infeed.from_numpy(rows).batch(2)
        table = pa.table(batches.take(0).arrow())
        self.assertEqual(table.num_rows, 0)
        self.assertEqual(table.schema, pa.table(batches.arrow()).schema)
        self.assertEqual(batches.cast("x", "float64").element_spec["w"].ragged_levels, 2, "it was refused")
        padded = infeed.from_numpy({"r": rows["r"]}).padded_batch(2, width=5)
        self.assertEqual(pa.table(padded.take(0).arrow()).schema, pa.table(padded.arrow()).schema)
        self.assertEqual(pa.table(batches.take(0).map_batches(lambda batch: batch).arrow()).num_columns, 0,
                         "nobody knows what a function makes")

    @needs("polars")
    def test_polars(self):
        import polars  # pylint: disable=import-outside-toplevel
        frame = polars.DataFrame(dataset().arrow())
        self.check(frame["x"].to_list(), frame["y"].to_list())
        (back,) = list(infeed.from_arrow(frame).batch(1000))
        self.assertEqual(back["y"].to_pylist(), frame["y"].to_list())
        texts = polars.DataFrame({"t": ["short", "x" * 40, ""]})
        self.assertEqual(next(iter(infeed.from_arrow(texts).batch(3)))["t"].to_pylist("utf-8"),
                         ["short", "x" * 40, ""])

    @needs("pandas")
    def test_pandas(self):
        import pandas  # pylint: disable=import-outside-toplevel
        frame = pandas.DataFrame({"y": np.arange(5), "t": ["a", "b", "", "é", "e"]})
        (batch,) = list(infeed.from_arrow(frame).batch(10))
        self.assertEqual(batch["y"].to_pylist(), list(range(5)))
        self.assertEqual(batch["t"].to_pylist("utf-8"), ["a", "b", "", "é", "e"])

    @needs("duckdb")
    def test_duckdb(self):
        import duckdb  # pylint: disable=import-outside-toplevel
        batches = infeed.from_arrow(duckdb.sql("select range as y, range * 2 as z from range(5000)")).batch(100)
        self.assertEqual(sum(int(batch["z"].numpy().sum()) for batch in batches), 4999 * 5000)

    @needs("datasets")
    def test_hugging_face(self):
        import datasets  # pylint: disable=import-outside-toplevel
        from infeed import hf  # pylint: disable=import-outside-toplevel
        theirs = datasets.Dataset.from_dict({"y": list(range(100)), "t": [[i] * (i % 3) for i in range(100)]})
        (batch,) = list(infeed.from_hf(theirs).batch(100))
        self.assertEqual(batch["y"].to_pylist(), list(range(100)))
        self.assertEqual(batch["t"].to_pylist(), theirs["t"][:])
        shuffled = theirs.shuffle(seed=1)
        (batch,) = list(infeed.from_hf(shuffled).batch(100))
        self.assertEqual(batch["y"].to_pylist(), shuffled["y"][:])
        ours = hf.to_hf(dataset())
        self.assertEqual(sorted(row["y"] for row in ours), list(range(100)))
        self.assertEqual(len(list(ours.with_format("numpy").batch(10))), 10)


class Orbax(unittest.TestCase):
    class Directory:
        """What Orbax hands to save(): a folder that it is still making."""

        def __init__(self, path):
            self.path = path

        async def await_creation(self):
            """Waits as Orbax does."""
            return self.path

    def test_the_protocol(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            async def both():
                iterator = iter(dataset())
                for _ in range(5):
                    next(iterator)
                write = await iterator.save(self.Directory(folder))
                rest = labels(batch.numpy() for batch in iterator)  # before it is written
                await write
                other = iter(dataset())
                await (await other.load(folder))
                return rest, labels(batch.numpy() for batch in other)

            rest, again = asyncio.run(both())
            self.assertEqual(rest, again)
            self.assertEqual(len(rest), 8)

    @needs("orbax")
    def test_orbax_itself(self):
        from orbax.checkpoint.experimental import v1 as ocp  # pylint: disable=import-outside-toplevel
        with tempfile.TemporaryDirectory() as name:
            iterator = iter(dataset())
            for _ in range(5):
                next(iterator)
            ocp.save_checkpointables(os.path.join(name, "step"), {"data": iterator})
            rest = labels(batch.numpy() for batch in iterator)
            other = iter(dataset())
            ocp.load_checkpointables(os.path.join(name, "step"), {"data": other})
            self.assertEqual(labels(batch.numpy() for batch in other), rest)


if __name__ == "__main__":
    unittest.main()
