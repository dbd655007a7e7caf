"""From a step back to its records, records left out of a run, and states at another number of hosts."""

import json
import os
import tempfile
import unittest

import numpy as np

import infeed
import data


def records(folder):
    return infeed.records(os.path.join(folder, "images.tfrecord-*"))


def batches(source):
    """Returns the pipeline of a training behind its source."""
    return source.shuffle(64, seed=5).parse(data.SCHEMA).batch(16).prefetch()


def twice(batch):
    return {"value": batch["value"].numpy() * 2}


class Tracing(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        data.make(self.folder)

    def check_rows(self, traced):
        """Compares the places with where data.py has put the records."""
        labels = traced.element["label"].to_pylist()
        self.assertEqual(len(traced.rows), len(labels))
        for label, place in zip(labels, traced.rows):
            shard, record = label % data.SHARDS, label // data.SHARDS
            self.assertTrue(place.file.endswith(f"images.tfrecord-{shard:05}-of-{data.SHARDS:05}"), place)
            self.assertEqual((place.record, place.count, place.why_not), (record, 1, None))
            with open(place.file, "rb") as file:
                file.seek(place.offset)
                self.assertIn(data.image(label), file.read(300))

    def test_at_finds_an_element_and_its_records(self):
        dataset = batches(records(self.folder))
        iterator = dataset.iterate(epoch=3)
        taken = [next(iterator) for _ in range(10)]
        state = json.loads(json.dumps(iterator.state_dict()))
        taken += list(iterator)
        for step in [10, 13, 3]:
            found = dataset.at(step, resume=state)
            self.assertEqual(found.element, taken[step])
            self.check_rows(found)
        self.assertEqual(dataset.at(13, epoch=3).element, taken[13])
        self.assertEqual(dataset.at(0).element, next(dataset.iterate(epoch=0)))
        doubled = dataset.map_batches(lambda batch: batch["label"].numpy() * 2)
        self.assertEqual(doubled.at(2, epoch=3).element.tolist(), [2 * x for x in taken[2]["label"].to_pylist()])
        with self.assertRaisesRegex(infeed.Error, "no such step: it ends after 32"):
            dataset.at(32)
        with self.assertRaisesRegex(infeed.Error, "has drawn its seed itself"):
            records(self.folder).shuffle(10).at(3)

    def test_at_says_what_it_cannot_tell(self):
        (row,) = infeed.from_generator(lambda: ({"x": [i]} for i in range(3))).at(1).rows
        self.assertIsNone(row.file)
        self.assertTrue(row.why_not)
        with self.assertRaisesRegex(infeed.Error, "isn't traced"):
            records(self.folder).leave_out([row])

    def test_rows_are_left_out_of_a_run(self):
        iterator = batches(records(self.folder)).iterate(epoch=0)
        for _ in range(5):
            next(iterator)
        state, expected = iterator.state_dict(), list(iterator)
        found = batches(records(self.folder)).at(7, resume=state)
        bad = [found.rows[2], found.rows[9]]
        instead = {"label": -1, "image": [0] * data.IMAGE_BYTES}
        clean = batches(records(self.folder).leave_out(bad, instead=instead))
        self.assertEqual(infeed.from_json(clean.to_json()), clean)
        rest = list(clean.iterate(resume=state))
        self.assertEqual(len(rest), len(expected))
        for step, (batch, before) in enumerate(zip(rest, expected), 5):
            labels = before["label"].to_pylist()
            if step == 7:
                labels[2] = labels[9] = -1
            self.assertEqual(batch["label"].to_pylist(), labels)
        with self.assertRaisesRegex(infeed.Error, "7 is no record"):
            records(self.folder).leave_out([7])
        lines = infeed.lines(os.path.join(self.folder, "lines.txt"))
        name = os.path.join(self.folder, "lines.txt")
        self.assertEqual(list(lines.leave_out([(name, 1)], instead="gone"))[:3], [b"line 0", b"gone", b"line 2"])


class FunctionsThatDrawNothing(unittest.TestCase):
    """No seed tells one process from another: at(), agree() and file caches know the dataset again."""

    def test_they_need_no_seed(self):
        def described():
            return infeed.range(20).batch(3).map_batches(twice, where="thread")

        self.assertEqual(described().at(2).element["value"].to_pylist(), [12, 14, 16])
        self.assertEqual(described().fingerprint, described().fingerprint)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                self.assertEqual(sum(1 for _ in described().cache(path=folder)), 7)


class Resharding(unittest.TestCase):
    @staticmethod
    def share(hosts, host, size=7):
        return (infeed.range(1000).shuffle(100, seed=1).shard(hosts, host).batch(size)
                .map_batches(twice, where="thread"))

    def test_a_state_goes_on_at_another_number_of_hosts(self):
        taken, states = [], []
        for host in range(4):
            iterator = self.share(4, host).iterate(epoch=0)
            for _ in range(5):
                taken += next(iterator)["value"].to_pylist()
            states.append(iterator.state_dict())
        for hosts, size in [(3, 7), (1, 11), (8, 2)]:
            rest = []
            for host in range(hosts):
                new = self.share(hosts, host, size)
                state = infeed.reshard(json.loads(json.dumps(states[host % 4])), new)
                self.assertLess(len(json.dumps(state)), 1024)
                iterator = new.iterate()
                iterator.load_state_dict(state)
                rest += [value for batch in iterator for value in batch["value"].to_pylist()]
            self.assertEqual(sorted(taken + rest), [2 * value for value in range(1000)], f"{hosts} hosts")

    def test_what_cannot_be_resharded(self):
        old = infeed.range(100).shard(2, 0).shuffle(5, seed=1)
        with self.assertRaisesRegex(infeed.Error, "shuffle"):
            infeed.reshard(iter(old).state_dict(), infeed.range(100).shard(3, 0).shuffle(5, seed=1))
        with self.assertRaisesRegex(infeed.Error, "shard"):
            infeed.reshard(iter(infeed.range(9)).state_dict(), infeed.range(9))
        with self.assertRaisesRegex(infeed.Error, "must be what state_dict"):
            infeed.reshard(np.zeros(3), infeed.range(9).shard(2, 0))


if __name__ == "__main__":
    unittest.main()
