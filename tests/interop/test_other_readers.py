"""Record files and readers that are not TensorFlow's: Grain, and the package tfrecord both ways."""

import glob
import os
import tempfile
import unittest

import grain
import numpy as np
from tfrecord.reader import tfrecord_loader
from tfrecord.writer import TFRecordWriter

import programs


class OtherReaders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def convert_test_images(self, compression="none"):
        """10,000 images in two shards; their names."""
        programs.infeed("convert", "--split", "test", "-o", self.folder, "--shards", "2",
                        "--compression", compression, "--overwrite")
        ending = ".gz" if compression == "gzip" else ""
        return sorted(glob.glob(os.path.join(self.folder, "*.tfrecord" + ending)))

    def test_grain_reads_the_same_records(self):
        for file in self.convert_test_images():
            sizes = [len(record) for record in grain.experimental.TFRecordIterDataset(file)]
            self.assertEqual(sizes, [record["size"] for record in programs.read_with_infeed(file)])
            self.assertEqual(len(sizes), 5000)

    def test_tfrecord_reads_plain_and_gzip(self):
        def images(compression, name):
            return [(bytes(record["image"]), int(record["label"][0]))
                    for file in self.convert_test_images(compression)
                    for record in tfrecord_loader(file, None, {"image": "byte", "label": "int"},
                                                  compression_type=name)]

        plain = images("none", None)
        self.assertEqual(len(plain), 10_000)
        self.assertEqual(plain, images("gzip", "gzip"))

    def test_tfrecord_shards_by_our_index_in_dalis_form(self):
        file = self.convert_test_images()[0]
        programs.infeed("index", "--dali", file)
        parts = [[int(record["label"][0])
                  for record in tfrecord_loader(file, file + ".idx", {"label": "int"}, shard=(i, 3))]
                 for i in range(3)]
        whole = [int(record["label"][0]) for record in tfrecord_loader(file, None, {"label": "int"})]
        self.assertEqual(sum(parts, []), whole)
        self.assertTrue(all(len(part) in (1666, 1667, 1668) for part in parts), list(map(len, parts)))

    def test_infeed_reads_what_tfrecord_writes(self):
        file = os.path.join(self.folder, "written")
        random = np.random.default_rng(1)
        writer = TFRecordWriter(file)
        written = []
        for size in random.integers(0, 2000, 200):
            data = random.bytes(int(size))
            written.append((data, int(random.integers(-2**62, 2**62)), float(np.float32(random.normal()))))
            writer.write({"data": (data, "byte"), "id": (written[-1][1], "int"),
                          "score": (written[-1][2], "float")})
        writer.close()
        read = [record["features"] for record in programs.read_with_infeed(file)]
        self.assertEqual(len(read), len(written))
        for features, (data, number, score) in zip(read, written):
            self.assertEqual(features["id"], {"kind": "integers", "values": [number]})
            self.assertEqual(features["score"],
                             {"kind": "floats", "values": np.array([score], "<f4").tobytes().hex()})
            self.assertEqual(features["data"], {"kind": "bytes", "values": [data.hex()]})


if __name__ == "__main__":
    unittest.main()
