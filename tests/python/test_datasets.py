"""Datasets as values, their errors, Python functions on batches, and iterators from close to statistics."""

import asyncio
import inspect
import json
import math
import os
import pathlib
import pickle
import re
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import infeed
import data


def scaled(batch, rng):
    """For processes it must have a name in a module."""
    return {"x": batch["value"].numpy() + rng.integers(0, 1000), "pid": np.full(len(batch["value"]), os.getpid())}


def failing(batch):
    if 4 in batch["value"].numpy():
        raise ValueError("four")
    return {"x": batch["value"].numpy()}


def failing_with_cpp(batch):
    raise ValueError("std::{.x = infeed::y}")


def same(batch):
    return batch


def halved(batch):
    """Returns columns of the batch as they are, beside one of its own."""
    return {"tokens": batch["tokens"], "half": batch["label"].numpy() / 2}


def dying(batch):
    if 4 in batch["value"].numpy():
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": batch["value"].numpy()}


def values_of(dataset, name="x"):
    return [np.asarray(batch[name]).tolist() for batch in dataset]


class Descriptions(unittest.TestCase):
    def test_print_compare_pickle_and_come_back_from_json(self):
        dataset = infeed.range(100).shuffle(10, seed=3).batch(7, drop_remainder=True).prefetch()
        self.assertEqual(repr(dataset), "<infeed.Dataset range(stop=100) | shuffle(buffer=10, seed=3) | "
                         "batch(size=7, drop_remainder=true) | prefetch()>")
        again = infeed.from_json(dataset.to_json())
        self.assertEqual(again, dataset)
        self.assertEqual(hash(again), hash(dataset))
        self.assertEqual(pickle.loads(pickle.dumps(dataset)), dataset)
        self.assertEqual(again.fingerprint, dataset.fingerprint)
        self.assertNotEqual(dataset, infeed.range(100).shuffle(10, seed=4).batch(7, drop_remainder=True).prefetch())
        self.assertEqual(values_of(again.iterate(epoch=0), "value"), values_of(dataset.iterate(epoch=0), "value"))

    def test_have_a_length_or_say_why_not(self):
        self.assertEqual(len(infeed.range(100).batch(7)), 15)
        self.assertEqual(infeed.counter().cardinality, math.inf)
        with self.assertRaisesRegex(TypeError, "infinite"):
            len(infeed.counter())
        self.assertEqual(len(list(infeed.range(5))), 5)

    def test_know_kinds_and_columns(self):
        self.assertEqual(infeed.range(3).element_kind, "integer")
        rows = infeed.from_numpy({"x": np.zeros((4, 2), np.float32), "t": [b"a", b"b", b"c", b"d"]})
        self.assertEqual(rows.element_kind, "row")
        spec = rows.batch(2).element_spec
        self.assertEqual((spec["x"].dtype, spec["x"].shape), ("float32", (2,)))
        self.assertEqual(spec["t"].kind, "bytes")
        self.assertEqual(list(infeed.range(2, 8, 3)), [2, 5])

    def test_functions_have_help(self):
        for function in [infeed.records, infeed.Dataset.shuffle, infeed.Dataset.batch]:
            self.assertGreater(len(inspect.getdoc(function)), 60)
            self.assertIn("name", inspect.signature(function).parameters)
        self.assertEqual(list(inspect.signature(infeed.Dataset.shuffle).parameters)[:3], ["self", "buffer", "seed"])

    def test_names_of_the_stub_are_there(self):
        stub = pathlib.Path(infeed.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
        for imports in re.findall(r"^from infeed.* import (.*)", stub, re.MULTILINE):
            for name in re.findall(r"as (\w+)", imports):
                self.assertTrue(hasattr(infeed, name), name)

    def test_numbers_of_numpy_are_numbers(self):
        batches = infeed.range(4).batch(2)
        self.assertEqual(list(batches.map_batches(same, "thread", np.int64(2), seed=np.int64(1))),
                         list(batches.map_batches(same, "thread", 2, seed=1)))
        self.assertEqual(repr(batches.in_process(np.int64(3))), repr(batches.in_process(3)))

    def test_defaults_of_bytes_may_be_bytes(self):
        self.assertEqual(infeed.bytes_(default="é".encode()), infeed.bytes_(default="é"))

    def test_datasets_may_be_a_list(self):
        first, second = infeed.range(4).batch(2), infeed.from_numpy({"x": np.arange(4)}).batch(2)
        self.assertEqual(infeed.concatenate([first, first]), first.concatenate(first))
        self.assertEqual(list(infeed.zip((first, second))), list(first.zip(second)))
        for wrong in ["x", []]:
            with self.assertRaisesRegex(TypeError, "zip: its inputs are Datasets, not"):
                infeed.zip(wrong)

    def test_file_names_may_be_bytes(self):
        name = os.fsencode(__file__)
        self.assertEqual(infeed.lines(name), infeed.lines(__file__))
        self.assertEqual(infeed.lines([name]), infeed.lines([__file__]))
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder, "a.txt")
            text.write_text("one\n", "utf-8")
            self.assertEqual(infeed.read(bytes(text)), infeed.read(str(text)))

    def test_shapes_of_all_forms(self):
        for shape in [4, (4,), [4], np.int64(4), np.array([4]), (np.uint8(4),)]:
            self.assertEqual(infeed.column("uint8", shape), infeed.column("uint8", (4,)))

    def test_mistakes_name_what_is_wrong(self):
        mistakes = [
            (lambda: infeed.range(5).shuffle("x"), infeed.Error, 'shuffle.buffer is "x"; it must be a whole number'),
            (lambda: infeed.range(5).shuffle(), TypeError, "buffer"),
            (lambda: infeed.range(5).shuffle(5, sed=1), TypeError, "its options are buffer, seed"),
            (lambda: infeed.range(5).batch(2).batch(2), infeed.Error, "rebatch cuts them anew"),
            (lambda: infeed.records("no-such-*.tfrecord"), infeed.Error, "no-such"),
            (lambda: infeed.records(b"a\xff.tfrecord"), infeed.Error, "records: .*udcff.tfrecord.* isn't UTF-8"),
            (lambda: infeed.range(5, name="\udc80"), infeed.Error, "isn't UTF-8"),
            (lambda: infeed.records(5), infeed.Error, "records: files is 5; it must be a name, a pattern"),
            (lambda: infeed.csv([None]), infeed.Error, r"csv: files is \[None\]; it must be a name"),
            (lambda: infeed.read(5), infeed.Error, "read: files is 5; it must be a name"),
            (lambda: infeed.files("*").interleave(5), infeed.Error, "interleave: give a function from a file"),
            (lambda: infeed.range(5).at(-1), infeed.Error, "at: step is -1; it must be a whole number, 0 or more"),
            (lambda: infeed.range(5).at(1, resume={}), infeed.Error, "the state is dict; it must be what"),
            (lambda: infeed.from_arrow(None), infeed.Error, "a NoneType has neither __arrow_c_stream__"),
            (lambda: infeed.from_hf({}), infeed.Error, "a dict has no table in memory; give a datasets.Dataset"),
            (lambda: infeed.lines("*").parse("no.json"), infeed.Error, "the schema 'no.json' is no JSON, and .* no file"),
            (lambda: infeed.read("file.unknown"), infeed.Error, "doesn't say what kind of file"),
            (lambda: infeed.read(["a.csv", "b.tsv"]), infeed.Error, "'a.csv' and 'b.tsv' are of different kinds"),
            (lambda: infeed.read([]), infeed.Error, "files is an empty list"),
            (lambda: infeed.from_json("{"), infeed.Error, "no JSON"),
            (lambda: infeed.from_json('{"stages": [{"stage": "rang"}]}'), infeed.Error, r"\$.stages\[0\].stage"),
            (lambda: infeed.range(10.7), infeed.Error, "range.stop is 10.7; it must be a whole number"),
            (lambda: infeed.range(0, "9"), infeed.Error, 'range.stop is "9"; it must be a whole number'),
            (lambda: infeed.column("uint8", "28"), infeed.Error, "a shape is '28'; it must be a tuple of whole"),
            (lambda: infeed.column("uint8", (2.5,)), infeed.Error, r"a shape is \(2.5,\); it must be a tuple"),
            (lambda: infeed.bytes_(default=b"\xff"), infeed.Error, r"bytes_: the default b'.xff' isn't UTF-8"),
            (lambda: infeed.range(5)[0], TypeError, r"a stream, whose elements have no index: .* by at\(step\)"),
            (lambda: infeed.range(5).arrow(3), TypeError, r"reader\(\) takes 1 positional argument"),
            (lambda: infeed.range(5).map(abs), infeed.Error, "map_batches"),
            (lambda: infeed.range(5).batch(1).map_batches(abs, seed=2.5), infeed.Error, "seed is 2.5; it must be"),
            (lambda: infeed.range(5).batch(1).map_batches(abs, seed=-1), infeed.Error, "seed is -1; it must be"),
            (lambda: infeed.range(5).batch(1).in_process(1.5), infeed.Error, "ahead is 1.5; it must be a whole"),
            (lambda: infeed.from_generator(iter([])), infeed.Error, "the function that returns the generator"),
            (lambda: infeed.range(5).batch(1).map_batches(abs).prefetch(), infeed.Error, "must be the last stage"),
            (lambda: infeed.range(5).batch(1).map_batches(abs, where="gpu"), infeed.Error, "'thread' and 'process'"),
            (lambda: infeed.range(5).batch(1).map_batches(abs, where="thread").to_json(), infeed.Error, "pickle"),
        ]
        for make, kind, text in mistakes:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                make()


class Errors(unittest.TestCase):
    def test_name_code_stage_file_and_place(self):
        with tempfile.TemporaryDirectory() as folder:
            data.make(folder)
            name = os.path.join(folder, "images.tfrecord-00000-of-00004")
            with open(name, "r+b") as file:
                file.seek(300)
                file.write(b"\xff" * 20)
            iterator = iter(infeed.records([name]))
            with self.assertRaises(infeed.Error) as raised:
                for _ in iterator:
                    pass
            error = raised.exception
            self.assertEqual((error.code, error.file, error.is_terminal), ("data_loss", name, False))
            self.assertGreaterEqual(error.record, 1)
            self.assertGreater(error.offset, 0)
            self.assertIn("records", error.stage)
            self.assertIsNone(next(iterator, None), "the iteration goes on behind an error")
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((copy.code, copy.record, str(copy)), (error.code, error.record, str(error)))

    def test_advise_in_words_of_python(self):
        with tempfile.TemporaryDirectory() as folder:
            data.make(folder)
            table = os.path.join(folder, "bad.csv")
            with open(table, "w", encoding="utf-8") as file:
                file.write("id\n1\nx::y\n3\n")
            advised = [
                (lambda: next(iter(infeed.csv(table, columns={"id": "int64"}).batch(3))), "bad_rows='leave_out' loses"),
                (lambda: infeed.indexed_records(os.path.join(folder, "images.tfrecord-*")), "without_index='scan'"),
                (lambda: infeed.reshard(infeed.range(9).iterate().state_dict(), infeed.range(9)),
                 r"shard\(count=1, index=0\)"),
                # A user's own text stays as it is.
                (lambda: next(iter(infeed.range(4).batch(1).map_batches(failing_with_cpp, where="thread"))),
                 r"std::\{\.x = infeed::y\}"),
            ]
            for call, text in advised:
                with self.subTest(text=text), self.assertRaisesRegex(infeed.Error, text):
                    call()

    def test_rows_without_batch_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            data.make(folder)
            rows = infeed.records(os.path.join(folder, "images.tfrecord-*")).parse(data.SCHEMA)
            with self.assertRaisesRegex(infeed.Error, "put batch"):
                iter(rows)
            inferred = next(iter(infeed.records(os.path.join(folder, "images.tfrecord-*")).parse().batch(4)))
            self.assertEqual(sorted(inferred), ["image", "label", "tokens"])

    def test_an_iterator_does_not_pickle(self):
        with self.assertRaisesRegex(infeed.Error, "pickle the dataset"):
            pickle.dumps(iter(infeed.range(3)))


class Functions(unittest.TestCase):
    def test_give_the_same_everywhere(self):
        batches = infeed.range(100).batch(7)
        expected = None
        for options in [{}, {"where": "thread"}, {"where": "thread", "workers": 3},
                        {"where": "process", "workers": 2}]:
            dataset = batches.map_batches(scaled, seed=5, **options)
            for epoch in [0, 1]:
                values = values_of(dataset.iterate(epoch=epoch))
                if expected is None:
                    expected = {}
                self.assertEqual(values, expected.setdefault(epoch, values), options)
        self.assertNotEqual(expected[0], expected[1])
        pids = {pid for part in values_of(batches.map_batches(scaled, where="process", workers=2), "pid")
                for pid in part}
        self.assertNotIn(os.getpid(), pids)

    def test_errors_take_one_batchs_place(self):
        for where in ["thread", "process"]:
            iterator = iter(infeed.range(10).batch(3).map_batches(failing, where=where))
            self.assertEqual(next(iterator)["x"].to_pylist(), [0, 1, 2])
            with self.assertRaisesRegex(infeed.Error, "ValueError: four") as raised:
                next(iterator)
            self.assertEqual(raised.exception.code, "user_function")
            self.assertIsInstance(raised.exception.__cause__, ValueError)
            self.assertEqual([batch["x"].to_pylist() for batch in iterator], [[6, 7, 8], [9]])

    def test_a_process_that_dies_is_replaced(self):
        iterator = iter(infeed.range(10).batch(3).map_batches(dying, where="process"))
        next(iterator)
        with self.assertRaisesRegex(infeed.Error, "exit code -9"):
            next(iterator)
        self.assertEqual([batch["x"].to_pylist() for batch in iterator], [[6, 7, 8], [9]])

    def test_columns_of_every_kind_pass_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            data.make(folder)
            tokens = infeed.read(os.path.join(folder, "images.tfrecord-*")).parse(
                {"label": "int64", "image": "bytes", "tokens": infeed.ragged("int64")})
            for batches in [tokens.batch(16), tokens.padded_batch(16, padding=-1)]:
                expected = list(batches)
                for dataset in [batches.map_batches(same, where="process"), batches.in_process()]:
                    self.assertEqual(list(dataset), expected)
                for batch, plain in zip(batches.map_batches(halved, where="process"), expected):
                    self.assertEqual(list(batch), ["tokens", "half"])
                    self.assertEqual(batch["tokens"].kind, plain["tokens"].kind)
                    self.assertEqual(batch["tokens"].to_pylist(), plain["tokens"].to_pylist())
            self.assertEqual(expected[0]["tokens"].kind, "padded")
            self.assertIn("tokens.lengths", batches.map_batches(same, where="process").numpy().__iter__().__next__())

    def test_the_consumers_may_return_anything(self):
        self.assertEqual(list(infeed.range(4).batch(2).map_batches(lambda batch: batch["value"].to_pylist())),
                         [[0, 1], [2, 3]])
        for option in ("version", "name"):  # which would change nothing
            with self.assertRaisesRegex(infeed.Error, f"where='consumer' .* so it takes no {option}"):
                infeed.range(4).batch(2).map_batches(lambda batch: batch, **{option: "1"})

    def test_generators_begin_anew_each_pass(self):
        dataset = infeed.from_generator(lambda: ({"x": [i]} for i in range(3)))
        self.assertEqual(values_of(dataset), [[0], [1], [2]])
        self.assertEqual(values_of(dataset.repeat(2)), [[0], [1], [2]] * 2)

        def broken():
            yield {"x": [1]}
            raise KeyError("gone")

        iterator = iter(infeed.from_generator(broken))
        next(iterator)
        with self.assertRaisesRegex(infeed.Error, "KeyError"):
            next(iterator)


class InProcess(unittest.TestCase):
    def test_gives_the_same_from_any_place(self):
        dataset = infeed.range(50).shuffle(9, seed=1).batch(5)
        expected = values_of(dataset.iterate(epoch=0), "value")
        with dataset.in_process().iterate(epoch=0) as iterator:
            state = iterator.state_dict()
            self.assertEqual([next(iterator)["value"].to_pylist() for _ in range(3)], expected[:3])
            place = iterator.state_dict()
            self.assertEqual((iterator.position, values_of(iterator, "value")), (3, expected[3:]))
            self.assertIsNone(next(iterator, None))
            iterator.load_state_dict(place)
            next(iterator)
            self.assertIn("range", iterator.statistics())
            self.assertEqual(values_of(iterator, "value"), expected[4:])
        self.assertEqual(values_of(dataset.iterate(resume=place), "value"), expected[3:])
        self.assertEqual(values_of(dataset.in_process().iterate(resume=state), "value"), expected)
        self.assertEqual(list(infeed.range(5).in_process(ahead=1)), list(range(5)))

    def test_errors_and_ends(self):
        dataset = infeed.range(10).batch(3).map_batches(failing, where="thread").in_process()
        iterator = iter(pickle.loads(pickle.dumps(dataset)))
        next(iterator)
        with self.assertRaisesRegex(infeed.Error, "four"):
            next(iterator)
        self.assertEqual([batch["x"].to_pylist() for batch in iterator], [[6, 7, 8], [9]])
        iterator.close()
        with self.assertRaisesRegex(infeed.Error, "closed"):
            next(iterator)
        with self.assertRaisesRegex(infeed.Error, "must be the last stage"):
            dataset.prefetch()


class Iterators(unittest.TestCase):
    def test_go_on_from_a_state_and_close(self):
        dataset = infeed.range(50).shuffle(9, seed=1).batch(5)
        with iter(dataset) as iterator:
            self.assertEqual(len(iterator), 10)
            next(iterator)
            state = iterator.state_dict()
            rest = values_of(iterator, "value")
            iterator.load_state_dict(json.loads(json.dumps(state)))
            self.assertEqual(iterator.position, 1)
            self.assertEqual(values_of(iterator, "value"), rest)
            self.assertEqual(values_of(dataset.iterate(resume=state), "value"), rest)
        self.assertTrue(iterator.is_closed)
        with self.assertRaisesRegex(infeed.Error, "closed"):
            next(iterator)

    def test_close_waits_for_as_long_as_it_is_told(self):
        for seconds_max in [60, 1e9, 1e10, 1e300, float("inf")]:
            iterator = iter(infeed.range(9).shuffle(9, seed=1).batch(3).prefetch())
            next(iterator)
            self.assertTrue(iterator.close(seconds_max), seconds_max)

    def test_a_state_brings_its_pass(self):
        dataset = infeed.range(50).shuffle(50, seed=1)
        iterator = dataset.iterate(epoch=2)
        taken = [next(iterator) for _ in range(10)]
        state, rest = iterator.state_dict(), list(iterator)
        later = dataset.iterate(epoch=5)
        later.load_state_dict(state)
        self.assertEqual(list(later), rest)
        third = list(dataset.iterate(epoch=3))
        for begin in [lambda of: iter(of).load_state_dict(state), lambda of: of.iterate(resume=state)]:
            fresh = infeed.from_json(dataset.to_json())
            begin(fresh)
            self.assertEqual(list(fresh), third, "the pass behind it is the next one")
        self.assertEqual(sorted(taken + rest), list(range(50)))

    def test_passes_have_orders_of_their_own(self):
        dataset = infeed.range(50).shuffle(50, seed=1)
        first, second = list(dataset), list(dataset)
        self.assertNotEqual(first, second)
        self.assertEqual(list(dataset.iterate(epoch=0)), first)

    def test_nothing_is_made_ahead_behind_a_position(self):
        made = []

        def seen(batch):
            made.extend(batch["value"].to_pylist())
            return batch

        dataset = infeed.range(100).batch(1).map_batches(seen, where="thread", workers=2, version="1").prefetch(8)
        with dataset.iterate() as iterator:
            iterator.read_ahead_until(3)
            taken = [next(iterator)["value"].to_pylist()[0] for _ in range(3)]
            self.assertEqual((taken, sorted(made)), ([0, 1, 2], [0, 1, 2]))
            iterator.read_ahead_until(5)
            self.assertEqual(values_of(iterator, "value"), [[value] for value in range(3, 100)], "on demand")

    def test_save_to_orbax(self):
        class Awaited:
            def __init__(self, path):
                self.path = path

            async def await_creation(self):
                return self.path

        async def save_and_load(folder):
            iterator = iter(infeed.range(9))
            next(iterator)
            await (await iterator.save(Awaited(folder)))
            other = iter(infeed.range(9))
            await (await other.load(folder))
            return next(other)

        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(asyncio.run(save_and_load(pathlib.Path(folder))), 1)

    def test_statistics_tuning_and_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            iterator = infeed.range(10_000).batch(10).prefetch().iterate(recording=os.path.join(folder, "run"))
            for _ in iterator:
                pass
            statistics = iterator.statistics()
            self.assertEqual([stage["stage"] for stage in statistics.stages][-1], "range")
            self.assertEqual(statistics.stages[0]["elements"], 1000)
            self.assertIn("verdict", str(statistics))
            self.assertIsInstance(str(iterator.tuning()), str)
            iterator.close()
            self.assertGreater(os.path.getsize(os.path.join(folder, "run")), 0)

    def test_signals_are_answered_quickly(self):
        def slow():
            yield {"x": [1]}
            end.wait(60)

        def interrupt(*_):
            raised.append(time.monotonic())
            raise KeyboardInterrupt

        end, raised = threading.Event(), []
        iterator = iter(infeed.from_generator(slow).prefetch())
        next(iterator)
        before = signal.signal(signal.SIGALRM, interrupt)
        begun = time.monotonic()
        try:
            with self.assertRaises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.3)  # next() waits by then
                next(iterator)
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertLess(raised[0] - begun, 30, "it takes 0.1 s, and the batch 60 s")
        end.set()
        iterator.close()


if __name__ == "__main__":
    unittest.main()
