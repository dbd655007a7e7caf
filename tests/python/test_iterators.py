"""What an iterator does where something goes wrong: refused states, reused arrays, other threads."""

import gc
import math
import os
import pickle
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

import infeed
from columns import values

SECONDS_MAX = 60


class KeepsThem:
    """Returns all batches so far as one."""

    def __init__(self):
        self.kept = []

    def __call__(self, batch):
        self.kept.append(batch["value"].numpy())
        return {"value": np.concatenate(self.kept)}


class Trainer:
    """Keeps a dataset of its own methods, and an iterator of it."""

    def __init__(self, kind):
        if kind == "generator":
            self.dataset = infeed.from_generator(self.batches)
        else:
            self.dataset = infeed.range(20).batch(4).map_batches(self.changed, where=kind)
        self.iterator = iter(self.dataset)
        next(self.iterator)

    def changed(self, batch):
        return {"x": batch["value"].numpy()}

    def batches(self):
        for number in range(20):
            yield {"x": [number], "name": [type(self).__name__]}


class Garbage(unittest.TestCase):
    def test_who_keeps_a_dataset_of_its_own_methods_is_freed(self):
        for kind in ["generator", "thread", "consumer"]:
            trainer = weakref.ref(Trainer(kind))
            deadline = time.monotonic() + SECONDS_MAX
            while trainer() is not None and time.monotonic() < deadline:  # a thread may be inside the method
                gc.collect()
            self.assertIsNone(trainer(), kind)

    def test_an_iterator_keeps_the_functions(self):
        def batches():
            yield from ({"value": [number]} for number in range(5))

        iterator = iter(infeed.from_generator(batches).map_batches(lambda batch: batch, where="thread"))
        del batches
        gc.collect()
        self.assertEqual(values(iterator), list(range(5)))


class Threads(unittest.TestCase):
    def test_threads_that_share_it_draw_for_the_place(self):
        dataset = infeed.range(4000).batch(2).map_batches(
            lambda batch, rng: (batch["value"][0], rng.integers(1 << 40)), seed=3)
        expected = list(dataset.iterate(epoch=0))
        iterator, taken = dataset.iterate(epoch=0), []
        threads = [threading.Thread(target=lambda: taken.extend(iterator)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(taken), expected)


class RefusedStates(unittest.TestCase):
    def test_an_iterator_stays_where_it_was(self):
        other = infeed.range(50).shuffle(5, seed=2).batch(5).iterate().state_dict()
        dataset = infeed.range(30).batch(3)
        for kind in [dataset, dataset.in_process(), dataset.numpy()]:
            for taken in [0, 4]:
                with iter(kind) as iterator:
                    for _ in range(taken):
                        next(iterator)
                    with self.assertRaisesRegex(infeed.Error, "another pipeline|differ|pipeline"):
                        iterator.load_state_dict(other)
                    self.assertEqual(iterator.position, taken)
                    rest = [list(np.asarray(batch["value"])) for batch in iterator]
                    self.assertEqual([value for batch in rest for value in batch], list(range(3 * taken, 30)))

    def test_at_its_begin_it_keeps_its_pass(self):
        dataset = infeed.range(20).shuffle(20, seed=1).batch(20)
        expected = values(dataset.iterate(epoch=3))
        other = infeed.range(50).shuffle(5, seed=2).batch(5).iterate().state_dict()
        for kind in [dataset, dataset.in_process()]:
            with kind.iterate(resume=dataset.iterate(epoch=3).state_dict()) as iterator:
                with self.assertRaises(infeed.Error):
                    iterator.load_state_dict(other)
                self.assertEqual(values(iterator), expected)

    def test_a_text_that_is_no_state_is_refused_at_once(self):
        for loader in [infeed.range(9).batch(3).numpy(), infeed.range(9).batch(3).iterate()]:
            for bad in [{"other": 1}, 5, None]:
                with self.assertRaisesRegex(infeed.Error, "must be what state_dict"):
                    loader.load_state_dict(bad)


class Adapters(unittest.TestCase):
    def test_each_loop_is_an_epoch_of_the_dataset(self):
        def make():
            return infeed.range(20).shuffle(20, seed=1).batch(20)

        plain = make()
        expected = [values(plain) for _ in range(3)]
        self.assertEqual(len({str(order) for order in expected}), 3)
        fresh, kept, processes = make(), make().numpy(), make().in_process()
        self.assertEqual([[v for b in fresh.numpy() for v in b["value"].tolist()] for _ in range(3)], expected)
        self.assertEqual([[v for b in kept for v in b["value"].tolist()] for _ in range(3)], expected)
        self.assertEqual([values(processes) for _ in range(3)], expected)

    def test_epochs_go_on_behind_a_resume(self):
        loader = infeed.range(20).shuffle(20, seed=1).batch(5).numpy()
        orders = [[v for b in loader for v in b["value"].tolist()] for _ in range(4)]
        state = infeed.range(20).shuffle(20, seed=1).batch(5).iterate(epoch=2).state_dict()
        again = infeed.range(20).shuffle(20, seed=1).batch(5).numpy()
        iterator = iter(again)
        iterator.load_state_dict(state)
        self.assertEqual([v for b in iterator for v in b["value"].tolist()], orders[2])
        self.assertEqual([v for b in again for v in b["value"].tolist()], orders[3])

    def test_epochs_go_on_behind_a_step_back(self):
        loader = infeed.range(20).shuffle(20, seed=1).batch(5).numpy()
        orders = [[v for b in loader for v in b["value"].tolist()] for _ in range(4)]
        loader.load_state_dict(infeed.range(20).shuffle(20, seed=1).batch(5).iterate(epoch=1).state_dict())
        again = [[v for b in loader for v in b["value"].tolist()] for _ in range(3)]
        self.assertEqual(again, orders[1:])

    def test_one_that_cannot_begin_is_no_epoch(self):
        def make():
            return infeed.range(20).shuffle(20, seed=1).batch(20)

        first = values(make())
        other = infeed.range(20).shuffle(20, seed=1).batch(5).iterate(epoch=7).state_dict()
        for options in [{"resume": other}, {"threads_max": -1}, {"resume": "epoch x"}]:
            dataset = make()
            with self.assertRaises(infeed.Error):
                dataset.iterate(**options)
            self.assertEqual(values(dataset), first)

    def test_they_are_true(self):
        dataset = infeed.range(3).repeat().batch(2)
        for thing in [dataset.numpy(), iter(dataset), iter(dataset.numpy()), iter(infeed.range(0))]:
            self.assertTrue(thing)


class Functions(unittest.TestCase):
    def test_a_process_may_keep_its_batches(self):
        batches = list(infeed.range(8).batch(2).map_batches(KeepsThem(), where="process"))
        self.assertEqual([batch["value"].to_pylist() for batch in batches],
                         [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6, 7]])

    def test_an_array_may_be_filled_again_and_again(self):
        buffer = np.zeros(2, np.int64)

        def fill(batch):
            buffer[:] = batch["value"].numpy()
            return {"value": buffer}

        batches = list(infeed.range(12).batch(2).map_batches(fill, where="thread"))
        self.assertEqual(values(batches), list(range(12)))

    def test_the_end_of_a_loop_inside_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "raised StopIteration"):
            list(infeed.range(4).batch(2).map_batches(lambda batch: next(iter([]))))

    def test_statistics_have_the_waits_for_the_interpreters_lock(self):
        def hold_the_lock():  # but for a switch, which another thread gets after 5 ms of waiting
            while not is_enough.is_set():
                pass

        datasets = {"map_batches": infeed.range(1_000_000).batch(10).map_batches(lambda batch: batch, where="thread"),
                    "from_generator": infeed.from_generator(lambda: ({"x": [i]} for i in range(100_000))).prefetch()}
        for name, dataset in datasets.items():
            is_enough = threading.Event()
            holder = threading.Thread(target=hold_the_lock)
            iterator = iter(dataset)
            holder.start()
            try:
                waited_ns = 0
                for _ in range(1000):  # more than a queue holds: batches are made while the lock is held
                    next(iterator)
                    stages = {stage["stage"]: stage for stage in iterator.statistics().stages}
                    waited_ns = stages[name]["gil_wait_ns"]
                    if waited_ns > 2_000_000:
                        break
            finally:
                is_enough.set()
                holder.join()
            self.assertGreater(waited_ns, 2_000_000, name)
            self.assertIn(f"{name} waited 0.", str(iterator.statistics()))
            self.assertNotIn("gil_wait_ns", stages.get("range", {}))
            iterator.close()


class Options(unittest.TestCase):
    def test_a_wrong_type_is_named(self):
        dataset = infeed.range(3)
        for options, text in [({"memory_bytes_max": 1e9}, "memory_bytes_max is 1000000000.0; it must be a whole"),
                              ({"threads_max": "4"}, "threads_max is '4'"), ({"epoch": -1}, "epoch is -1"),
                              ({"tune": 1}, "tune is 1; it must be True or False")]:
            with self.assertRaisesRegex(infeed.Error, text):
                dataset.iterate(**options)

    def test_an_option_that_is_not_there_is_refused(self):
        for options in ({"thread_max": 3}, {"thread_max": None}):
            with self.assertRaisesRegex(infeed.Error, "iterate has no option 'thread_max'; did you mean 'threads_max'.; "
                                                      "there are resume, .*, order_hash"):
                infeed.range(3).iterate(**options)

    def test_a_watchdog_that_would_be_off_is_refused(self):
        for seconds in [0.0009, -1, float("inf"), float("nan"), 1e300]:
            with self.assertRaisesRegex(infeed.Error, "watchdog is .*from 0.001 to 1e9, or 0 for no limit"):
                infeed.range(3).iterate(watchdog=seconds)
        for seconds in [0, 0.0, 60, 1e9]:
            self.assertEqual(list(infeed.range(3).iterate(watchdog=seconds)), [0, 1, 2])

    def test_what_json_cannot_have_is_named(self):
        with self.assertRaisesRegex(infeed.Error, "NaN or infinite"):
            infeed.range(3).batch(2).normalise("value", mean=float("nan"))

    def test_a_number_beyond_64_bits_is_refused(self):
        for columns in [{"x": infeed.column("int64", default=-2**63 - 1)}, {"x": infeed.padded("int64", padding=-2**63 - 1)}]:
            with self.assertRaisesRegex(infeed.Error, r"json_lines has the whole number -9223372036854775809 .*-2\^63 to 2\^63"):
                infeed.json_lines("rows.jsonl", columns=columns)
        with self.assertRaisesRegex(infeed.Error, r"no int64 \(-9223372036854775808 to 9223372036854775807\)"):
            infeed.json_lines("rows.jsonl", columns={"x": infeed.column("int64", default=2**64)})
        smallest = {"x": infeed.padded("int64", padding=-2**63, default=[-2**63])}
        dataset = infeed.json_lines(["rows.jsonl"], columns=smallest)
        self.assertEqual(infeed.from_json(dataset.to_json()).element_spec, dataset.element_spec)

    def test_a_default_may_be_nan_or_a_bool(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("{}\n")
            file.flush()
            for number, truth in [([math.nan, -math.inf], True), (np.array([np.nan, -np.inf]), np.True_),
                                  ([np.float32("nan"), np.float16("-inf")], np.array(True))]:
                schema = {"x": infeed.column("float32", (2,), default=number),
                          "flag": infeed.column("bool", default=truth)}
                rows, = infeed.json_lines(file.name, columns=schema).batch(2)
                self.assertEqual(rows["flag"].to_pylist(), [True])
                np.testing.assert_array_equal(rows["x"].numpy(), [[math.nan, -math.inf]])

    def test_the_spec_of_a_dataset_is_a_schema(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.jsonl")
            with open(file, "w", encoding="utf-8") as rows:
                rows.write('{"a": [1, 2], "b": [1, 2, 3], "c": "x"}\n' * 4)
            schema = {"a": infeed.padded("int64", width=8), "b": infeed.ragged("float32"), "c": "bytes"}
            batches = infeed.json_lines(file, columns=schema).batch(2)
            again = infeed.json_lines(file, columns=list(batches.element_spec.values())).batch(2)
            self.assertEqual(again.element_spec, batches.element_spec)
            self.assertEqual([batch["a"].numpy().shape for batch in again], [(2, 8)] * 2)

    def test_the_spec_of_a_dataset_keeps_defaults_and_paddings(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('{"a": [1]}\n{}\n')
            file.flush()
            schema = {"a": infeed.padded("int32", width=3, padding=-1, default=[7, 8]), "b": infeed.bytes_(default="?"),
                      "x": infeed.column("float32", (2,), default=[0.5, math.nan]), "n": infeed.column("int8", default=0),
                      "r": infeed.ragged("int64", default=[])}
            batches = infeed.json_lines(file.name, columns=schema).batch(2)
            spec = batches.element_spec
            self.assertEqual((spec["a"].padding, spec["a"].default, spec["n"].default), (-1, (7, 8), 0))
            self.assertEqual((spec["b"].default, spec["x"].default, spec["r"].default), ("?", (0.5, "nan"), ()))
            again = infeed.json_lines(file.name, columns=spec).batch(2)
            self.assertEqual(again.element_spec, spec)
            self.assertEqual(hash(spec["x"]), hash(again.element_spec["x"]))
            for made in [batches, again]:
                batch, = made
                self.assertEqual(batch["a"].numpy().tolist(), [[1, -1, -1], [7, 8, -1]])
                self.assertEqual(batch["b"].to_pylist(), [b"?"] * 2)
                np.testing.assert_array_equal(batch["x"].numpy(), [[0.5, math.nan]] * 2)


class Forks(unittest.TestCase):
    def test_a_child_leaves_the_writer_to_its_parent(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "f")
            writer = infeed.RecordWriter(file)
            writer.write(b"one")
            child = os.fork()
            if child == 0:
                try:
                    writer.write(b"of the child")
                    os._exit(1)
                except infeed.Error as error:
                    code = 0 if "before fork" in str(error) else 2
                    del writer
                    os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            writer.write(b"two")
            writer.close()
            self.assertEqual(list(infeed.records(file)), [b"one", b"two"])


class Arrow(unittest.TestCase):
    def test_codes_in_lists_are_no_values(self):
        try:
            import pyarrow as pa  # pylint: disable=import-outside-toplevel
        except ImportError:
            return
        codes = pa.array(["a", "b", "a", "b"]).dictionary_encode()
        for column in [pa.FixedSizeListArray.from_arrays(codes, 2), codes]:
            with self.assertRaisesRegex(infeed.Error, "dictionary-encoded"):
                infeed.from_arrow(pa.table({"x": column}))


class Lengths(unittest.TestCase):
    def test_choosing_columns_keeps_the_number_of_rows(self):
        rows = infeed.from_numpy({"x": np.arange(10), "y": np.arange(10)})
        for chosen, column in [(rows.select(["x"]), "x"), (rows.rename("x", "z"), "z")]:
            self.assertEqual(len(chosen), 10)
            self.assertEqual(len(chosen.batch(4)), 3)
            self.assertEqual([len(batch[column]) for batch in chosen.batch(4)], [4, 4, 2])
            shuffled = [row[column].to_pylist()[0] for row in chosen.shuffle(3, seed=1)]
            self.assertEqual(sorted(shuffled), list(range(10)))


class Pickles(unittest.TestCase):
    def test_kinds_stay(self):
        dataset = infeed.range(4).batch(2).in_process(ahead=3)
        self.assertEqual(repr(pickle.loads(pickle.dumps(dataset))), repr(dataset))


if __name__ == "__main__":
    unittest.main()
