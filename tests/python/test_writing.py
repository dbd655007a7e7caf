"""Records that Python writes: one file, and conversions that are stopped and go on."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np

import infeed
import data

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_MAX = 60


def rows(first=0, size=400):
    """Gives rows of several lengths, from a number on."""
    for i in range(first, size):
        yield {"image": np.full((4, 4), i % 256, np.uint8), "label": i, "weights": np.arange(i % 5) / 4,
               "text": f"row {i}", "words": [b"a", "b"] * (i % 3), "none": None}


def contents(folder):
    """Returns the hash of each file below a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in pathlib.Path(folder).iterdir() if path.is_file()}


SCHEMA = {"image": ("uint8", (4, 4)), "label": "int64", "weights": infeed.ragged("float32"), "text": "bytes"}


class Writers(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def test_rows_come_back(self):
        name = self.folder / "x.tfrecord"
        with infeed.RecordWriter(name, index=True) as writer:
            for row in rows(size=50):
                writer.write(row)
            self.assertEqual(writer.records, 50)
            self.assertFalse(name.exists(), "it isn't whole yet")
        batch = next(iter(infeed.indexed_records(str(name)).parse(SCHEMA).batch(50)))
        for i, row in enumerate(rows(size=50)):
            self.assertEqual(batch["label"][i], i)
            np.testing.assert_array_equal(batch["image"][i], row["image"])
            np.testing.assert_array_equal(batch["weights"][i], row["weights"])
            self.assertEqual(batch["text"].to_pylist()[i], row["text"].encode())
        with infeed.RecordWriter(self.folder / "raw.gz", compression="gzip", compression_level=9) as writer:
            writer.write(b"bytes as they are")
            writer.write(infeed.example({"x": 1}))
        self.assertEqual(list(infeed.records(str(self.folder / "raw.gz")))[0], b"bytes as they are")

    def test_values_become_features(self):
        long = data.example({"a": [1, 2], "b": [b"x", b"\xc3\xa9"], "c": [0.5], "d": [b"\x01\x02"], "e": [-1]})
        self.assertEqual(infeed.example({"e": np.int64(-1), "d": np.array([1, 2], np.uint8), "c": 0.5,
                                         "b": ["x", "\u00e9"], "a": (True, 2), "f": [], "g": None}), long)
        self.assertEqual(infeed.example({"a": np.float16(0.5)}), infeed.example({"a": [0.5]}))
        self.assertEqual(infeed.example({"a": np.array(["x", "y"])}), infeed.example({"a": ["x", "y"]}))
        self.assertEqual(infeed.example({"a": [["x\0"], ["y"]]}), infeed.example({"a": ["x\0", "y"]}))
        self.assertEqual(infeed.example({"a": [[2**53, 0.5]]}), infeed.example({"a": [2.0**53, 0.5]}))
        beyond = r"an integer is beyond those of an Example, -2\^63 to 2\^63 - 1"
        for value, reason in [(2**63, beyond), (np.array([2**63], np.uint64), beyond), ([2**63, -1], beyond),
                              ([[0.5], [2**53 + 1]], "the integer 9007199254740993 would become a float"),
                              ([0.5, np.int64(2**60 + 1)], "the integer 1152921504606846977 would become a float"),
                              ([np.array([2**60 + 1]), np.array([0.5])], "the integer 1152921504606846977 would"),
                              ([np.uint64(2**64 - 1), 1], beyond), ([-2**63 - 1], beyond),
                              (np.ma.array([1, 2], mask=[False, True]), "its mask hides values"),
                              (np.zeros(2, complex), "values of the type complex128"), (["a", 1], "it holds a int"),
                              ([1, "a"], "it holds a int"), ([[0.5, b"a"]], "it holds a float"),
                              ([object()], "it holds a object")]:
            with self.assertRaisesRegex(infeed.Error, f"feature 'a': .*({reason})"):
                infeed.example({"a": value})
        # NumPy makes floats of the first, and an image of the second.
        self.assertEqual(infeed.example({"a": [np.uint64(5), 1]}), infeed.example({"a": [5, 1]}))
        self.assertEqual(infeed.example({"a": [np.uint8(5), np.True_]}), infeed.example({"a": [5, 1]}))
        self.assertEqual(infeed.example({"a": [[np.int64(5)], [1]]}), infeed.example({"a": [5, 1]}))
        for value in (1e39, [0.0, -1e39], np.array([1e300])):  # it was infinite
            with self.assertRaisesRegex(infeed.Error, "feature 'a' can't hold -?1e.*floats of 32 bits"):
                infeed.example({"a": value})
        infinite = np.array([np.inf, np.nan])
        self.assertEqual(infeed.example({"a": infinite}), infeed.example({"a": infinite.astype(np.float32)}))
        with self.assertRaisesRegex(infeed.Error, "bytes or a mapping of names to values, but a int was given"):
            infeed.example(3)

    def test_nothing_half_written_stays(self):
        name = self.folder / "x.tfrecord"
        with self.assertRaises(KeyError), infeed.RecordWriter(name) as writer:
            writer.write(b"one")
            raise KeyError("stop")
        self.assertEqual(list(self.folder.iterdir()), [])
        infeed.RecordWriter(name).write(b"dropped without close")
        self.assertEqual(list(self.folder.iterdir()), [])
        with infeed.RecordWriter(name) as writer:
            writer.write(b"whole")
        with self.assertRaisesRegex(infeed.Error, "closed"):
            writer.write(b"more")
        with self.assertRaises(infeed.Error) as raised:
            infeed.RecordWriter(name)
        self.assertEqual(raised.exception.code, "already_exists")
        with infeed.RecordWriter(name, existing="replace") as writer:
            writer.write(b"anew")
        self.assertEqual(list(infeed.records(str(name))), [b"anew"])
        with self.assertRaisesRegex(infeed.Error, 'compression is "bzip2"; it must be one of'):
            infeed.RecordWriter(name, compression="bzip2")


class Conversions(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def test_sequences_and_functions_give_the_same_shards(self):
        made = infeed.convert(list(rows()), self.folder / "a" / "train", shard_count=4, seed=3)
        self.assertEqual((made.examples, len(made.files), made.was_complete, made.quarantined), (400, 4, False, []))
        infeed.convert(rows, self.folder / "b" / "train", size=400, shard_count=4, seed=3, threads=3)
        self.assertEqual(contents(self.folder / "a"), contents(self.folder / "b"))
        labels = [label for batch in infeed.records(made.files).parse(SCHEMA).batch(64)
                  for label in batch["label"].to_pylist()]
        self.assertNotEqual(labels, list(range(400)), "it is shuffled")
        self.assertEqual(sorted(labels), list(range(400)))
        again = infeed.convert(list(rows()), self.folder / "a" / "train", shard_count=4, seed=3)
        self.assertTrue(again.was_complete)
        os.remove(made.files[2])
        self.assertIn("is missing", infeed.convert(
            list(rows()), self.folder / "a" / "train", shard_count=4, seed=3).rebuilt[0])
        self.assertEqual(contents(self.folder / "a"), contents(self.folder / "b"))

    def test_a_killed_conversion_goes_on(self):
        program = f"""
            import os, sys
            import infeed, test_writing
            def rows(first):
                for row in test_writing.rows(first):
                    if len(sys.argv) > 1 and row["label"] == int(sys.argv[1]):
                        os.kill(os.getpid(), 9)
                    yield row
            made = infeed.convert(rows, {str(self.folder / "killed" / "x")!r}, size=400, shard_count=8, threads=1)
            print(made.shards_found)
            """
        command = [sys.executable, "-c", textwrap.dedent(program)]
        options = {"cwd": HERE, "timeout": SECONDS_MAX, "check": False, "capture_output": True, "text": True}
        for place in ["120", "330"]:
            self.assertEqual(subprocess.run([*command, place], **options).returncode, -9)
        done = subprocess.run(command, **options)
        self.assertEqual((done.stdout, done.stderr), ("6\n", ""), "six of eight shards were there")
        infeed.convert(rows, self.folder / "whole" / "x", size=400, shard_count=8)
        self.assertEqual(contents(self.folder / "killed"), contents(self.folder / "whole"))

    def test_stopped_by_an_exception_it_goes_on(self):
        seen = []

        def stop(done, total):
            seen.append((done, total))
            raise KeyboardInterrupt

        def slow(first):
            for row in rows(first):
                if not seen:
                    event.wait(0.01)  # until the first report
                yield row

        import threading  # pylint: disable=import-outside-toplevel
        event = threading.Event()
        with self.assertRaises(KeyboardInterrupt):
            infeed.convert(slow, self.folder / "x", size=400, shard_count=8, progress=stop, threads=1)
        self.assertEqual(seen[0][1], 400)
        self.assertEqual(infeed.convert(slow, self.folder / "x", size=400, shard_count=8).examples, 400)

    def test_bad_rows_are_left_out_up_to_a_number(self):
        def some_bad(first):
            for row in rows(first, 50):
                yield row if row["label"] % 20 != 7 else {"x": object()}

        class Raising:
            """Raises for some rows."""

            def __len__(self):
                return 50

            def __getitem__(self, index):
                if index % 20 == 7:
                    raise ValueError("no such picture")
                return {"label": index}

        for name, bad, text in [("a", some_bad, "feature 'x'"),
                                ("b", Raising(), "raised ValueError: no such picture")]:
            # Two shards are made at once: whose bad row is met first depends on the threads.
            with self.assertRaisesRegex(infeed.Error, rf"{text}.*row (7|27|47) is bad.* with quarantine_max=N"):
                infeed.convert(bad, self.folder / name, size=50, shard_count=2)
            made = infeed.convert(bad, self.folder / name, size=50, shard_count=2, quarantine_max=3)
            self.assertEqual([row for row, _ in made.quarantined], ["row 7", "row 27", "row 47"])
            self.assertIn(text, made.quarantined[0][1])
            self.assertEqual(made.examples, 47)

    def test_what_is_refused(self):
        for arguments, text in [((rows(),), "a generator alone could not go on"), ((rows,), "size="),
                                (([{"x": 1}],), "size is 3, but there are 1")]:
            with self.assertRaisesRegex(infeed.Error, text):
                infeed.convert(*arguments, self.folder / "x", size=3 if "but" in text else None)
        for row, text in [(None, "but a NoneType was given"), ({"x": object()}, "'x': it holds a object"),
                          ({"x": [[1], [2, 3]]}, "'x': .*inhomogeneous.*; give one list of numbers"),
                          ({"x": "\udc80"}, "'x': a text has no UTF-8"), ({"x": ["a", 1]}, "'x': it holds a int")]:
            with self.assertRaisesRegex(infeed.Error, text):
                infeed.example(row)
        with self.assertRaisesRegex(infeed.Error, "the rows end before row 400"):
            infeed.convert(rows, self.folder / "x", size=500, shard_count=2)
        with self.assertRaisesRegex(infeed.Error, "version|settings"):
            infeed.convert(rows, self.folder / "x", size=400, shard_count=2, version="other")
        with self.assertRaisesRegex(infeed.Error, "no-such-file"):
            infeed.convert(rows, self.folder / "y", size=400, files=["no-such-file"])
        with self.assertRaisesRegex(infeed.Error, "split_column names a column 'z'"):
            infeed.convert(rows, self.folder / "y", size=400, part="train", validation_share=0.1, split_column="z")
        infeed.convert(rows, self.folder / "z", size=400, shard_count=2)
        with self.assertRaisesRegex(infeed.Error, "use existing='replace' to replace it"):
            infeed.convert(rows, self.folder / "z", size=400, shard_count=4)

    def test_options_of_a_wrong_type_are_named(self):
        for options, text in [({"shard_count": "4"}, "shard_count is '4'; it must be a whole number"),
                              ({"shard_count": -1}, "shard_count is -1; it must be"),
                              ({"compression": None}, "compression is None; it must be a text"),
                              ({"compression_level": 1.5}, "compression_level is 1.5; it must be"),
                              ({"seed": -2}, "seed is -2; it must be"),
                              ({"version": 2}, "version is 2; it must be a text"),
                              ({"validation_share": "0.1"}, "validation_share is '0.1'; it must be a number"),
                              ({"check_content": 1}, "check_content is 1; it must be True or False"),
                              ({"columns": "label"}, "columns is 'label'; it must be a list"),
                              ({"classes": [1]}, r"classes is \[1\]; it must be a list of texts"),
                              ({"size": "400"}, "size is '400'; it must be a whole number")]:
            with self.assertRaisesRegex(infeed.Error, f"convert: {text}"):
                infeed.convert(rows, self.folder / "x", **{"size": 400, **options})

    def test_a_dataset_is_no_sequence_of_rows(self):
        with self.assertRaisesRegex(infeed.Error, "convert: rows is a Dataset, whose elements have no index"):
            infeed.convert(infeed.range(4).batch(2), self.folder / "x")

    def test_a_url_is_no_place_to_write(self):
        for write in [infeed.RecordWriter, lambda name: infeed.convert([{"a": 1}], name)]:
            with self.assertRaisesRegex(infeed.Error, "a URL is only read here, not written"):
                write("s3://bucket/x")
        self.assertFalse(pathlib.Path("s3:").exists())

    def test_names_of_files(self):
        for write in [infeed.RecordWriter, lambda name: infeed.convert([{"a": 1}], name)]:
            with self.assertRaisesRegex(infeed.Error, r"the file name .*x\\x00y.* has a zero byte"):
                write(str(self.folder / "x\0y"))
        self.assertEqual(list(self.folder.iterdir()), [])
        prefix = os.fsencode(self.folder) + b"/\xff"
        made = infeed.convert([{"a": 1}], prefix, shard_count=1)
        self.assertEqual(os.fsencode(made.files[0]), prefix + b"-00000-of-00001.tfrecord")


if __name__ == "__main__":
    unittest.main()
