"""Batches made by Ray actors (infeed.ray.feed), one of which is killed. Only where Ray is installed."""

import importlib
import importlib.util
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import data
import infeed

HAS_RAY = importlib.util.find_spec("ray") is not None


def pipeline():
    """Returns batches whose order and content depend on seeds and places."""
    return (infeed.range(4000).shuffle(500, seed=3).repeat(2).batch(16)
            .map_batches(lambda batch, rng: {"value": batch["value"].numpy(), "noise": rng.random(16)},
                         where="thread", seed=5, version="1"))


def rows_of(batches):
    return [(batch["value"].numpy().tolist(), batch["noise"].numpy().tolist()) for batch in batches]


@unittest.skipUnless(HAS_RAY, "Ray isn't installed")
class Ray(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import ray  # pylint: disable=import-outside-toplevel
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20,
                 runtime_env={"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}})
        cls.ray = ray
        from infeed.ray import feed  # pylint: disable=import-outside-toplevel
        cls.feed = staticmethod(feed)

    @classmethod
    def tearDownClass(cls):
        cls.ray.shutdown()

    def test_an_actor_killed_changes_nothing(self):
        expected = rows_of(pipeline().iterate(epoch=0))
        fed = self.feed(pipeline(), workers=2, range_steps=7, num_cpus=1)
        rows = []
        with fed.iterate(epoch=0) as batches:
            for batch in batches:
                rows.extend(rows_of([batch]))
                if len(rows) in (60, 200):  # one that Ray starts again, and one that it doesn't
                    self.ray.kill(fed._makers[0], no_restart=len(rows) == 200)
                if len(rows) == 300:
                    state = batches.state_dict()
        self.assertEqual(rows, expected)
        # Its state is that of any iterator of the pipeline.
        self.assertEqual(rows_of(pipeline().iterate(resume=state)), expected[300:])
        self.assertEqual(rows_of(fed.iterate(resume=state)), expected[300:])
        self.assertEqual(sum(1 for _ in fed.numpy()), 500)
        # A refused state is no pass.
        numbers = self.feed(infeed.range(90).batch(3), workers=1, num_cpus=1)
        with self.assertRaises(infeed.Error):
            numbers.iterate(resume=state)
        self.assertEqual(numbers._iterations, 0)

    def test_errors_have_their_places(self):
        def broken(batch):
            if 48 in batch["value"].numpy():
                raise ValueError("48 is broken")
            return batch

        def all_of(iterator):
            rows = []
            while True:
                try:
                    rows.append(next(iterator)["value"].numpy().tolist())
                except StopIteration:
                    return rows
                except infeed.Error as error:
                    rows.append(error.code)

        dataset = infeed.range(200).batch(4).map_batches(broken, where="thread", version="1")
        expected = all_of(dataset.iterate(epoch=0))
        self.assertEqual(expected[12], "user_function")
        self.assertEqual(all_of(self.feed(dataset, workers=2, range_steps=3).iterate(epoch=0)), expected)

    def test_bad_rows_come_with_their_batches(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.tfrecord")
            data.write_records(file, [data.example({"id": [i] if i % 50 else [b"no number"]}) for i in range(400)])
            dataset = infeed.indexed_records(file, without_index="scan").parse({"id": "int64"}, keep_rows=True).batch(10)
            with dataset.iterate(epoch=0) as batches:
                expected = [batch["valid"].numpy().tolist() for batch in batches]
                bad = batches.bad_rows
            self.assertEqual([row.record for row in bad], list(range(0, 400, 50)))
            with self.feed(dataset, workers=2, range_steps=3).iterate(epoch=0) as batches:
                self.assertEqual([batch["valid"].numpy().tolist() for batch in batches], expected)
                self.assertEqual(batches.bad_rows, bad)

    def test_an_interrupted_wait_loses_nothing(self):
        fed = self.feed(infeed.range(200).batch(4), workers=1, range_steps=3)
        rows, waited = [], []

        def interrupted(*args, **options):
            if len(waited) % 2 == 0:
                waited.append(1)
                raise KeyboardInterrupt
            waited.append(1)
            return wait(*args, **options)

        wait = self.ray.wait
        with fed.iterate(epoch=0) as batches:
            self.ray.wait = interrupted
            try:
                while True:
                    try:
                        rows.append(next(batches)["value"].numpy().tolist())
                    except KeyboardInterrupt:
                        self.assertEqual(batches.position, len(rows))
                    except StopIteration:
                        break
            finally:
                self.ray.wait = wait
        self.assertEqual([value for row in rows for value in row], list(range(200)))
        self.assertGreater(len(waited), 30)

    def test_a_refused_state_changes_nothing(self):
        fed = self.feed(infeed.range(60).batch(4), workers=2, range_steps=3)
        other = infeed.range(50).shuffle(5, seed=2).batch(5).iterate().state_dict()
        with fed.iterate(epoch=0) as batches:
            first = [next(batches)["value"].numpy().tolist() for _ in range(4)]
            with self.assertRaises(infeed.Error):
                batches.load_state_dict(other)
            self.assertEqual(batches.position, 4)
            state = batches.state_dict()
            rest = [batch["value"].numpy().tolist() for batch in batches]
            self.assertEqual([value for row in first + rest for value in row], list(range(60)))
            batches.load_state_dict(state)
            self.assertEqual([batch["value"].numpy().tolist() for batch in batches], rest)

    def test_little_is_made_behind_a_place(self):
        fed = self.feed(infeed.range(400).batch(1), workers=2, range_steps=8)
        with fed.iterate(epoch=0) as batches:
            batches.read_ahead_until(10)
            self.assertEqual([int(next(batches)["value"][0]) for _ in range(20)], list(range(20)))
            batches.cancel()
            with self.assertRaisesRegex(infeed.Error, "cancelled"):
                next(batches)
        last = fed.map_batches(lambda batch: batch["value"].numpy() * 2)
        self.assertEqual(type(last), type(fed))

    def test_what_cannot_be_asked_by_step_is_named(self):
        with self.assertRaisesRegex(infeed.Error, "lines can't be asked by step"):
            self.feed(infeed.lines(__file__), workers=1)
        with self.assertRaisesRegex(infeed.Error, "must be the last stage"):
            self.feed(infeed.range(9).batch(3), workers=1).prefetch()


class InThisProcess:
    """Takes the place of the module ray: its actors are objects, and a call is made at once."""

    class exceptions:
        RayError = OSError

    def __init__(self, make_maker=lambda kind, *arguments: kind(*arguments)):
        self._make_maker = make_maker

    def remote(self, kind):
        def begin(*arguments):
            maker = self._make_maker(kind, *arguments)
            return types.SimpleNamespace(make=types.SimpleNamespace(remote=maker.make))

        made = types.SimpleNamespace(remote=begin)
        made.options = lambda **options: made
        return made

    @staticmethod
    def wait(calls, timeout):
        return calls[:1], calls[1:]

    @staticmethod
    def get(call):
        return call


class WithoutRay(unittest.TestCase):
    def test_an_actor_that_cannot_tell_the_start_is_named(self):
        class Broken:
            def __init__(self, maker):
                self._maker, self._calls = maker, 0

            def make(self, *arguments):
                self._calls += 1
                if self._calls == 1:
                    return [("failed", infeed.Error("the server has trouble", "unavailable"), None, [])]
                return self._maker.make(*arguments)

        ray = InThisProcess(lambda kind, *arguments: Broken(kind(*arguments)))
        with mock.patch.dict(sys.modules, {"ray": ray}):
            sys.modules.pop("infeed.ray", None)
            feed = importlib.import_module("infeed.ray").feed
            fed = feed(pipeline(), workers=1)
            with self.assertRaisesRegex(infeed.Error, "the server has trouble"):
                next(fed.iterate(epoch=0))
            self.assertEqual(rows_of(fed.iterate(epoch=0)), rows_of(pipeline().iterate(epoch=0)))
            fed.iterate(epoch=0).close()


if __name__ == "__main__":
    unittest.main()
