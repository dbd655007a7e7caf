"""Record files: TensorFlow reads what infeed writes, infeed reads what TensorFlow writes."""

import glob
import gzip
import os
import random
import struct
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import programs

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261121"))


def read_idx(name):
    """An IDX file of unsigned bytes, read by nobody's library."""
    with gzip.open(os.path.join(programs.FASHION_MNIST, name + ".gz")) as file:
        content = file.read()
    rank = content[3]
    shape = struct.unpack(f">{rank}I", content[4:4 + 4 * rank])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def masked_crc32c(data):
    """TFRecord's checksum, bit by bit from its definition (reflected polynomial 0x82f63b78)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class ConvertedFashionMnist(unittest.TestCase):
    """Every image and label of Fashion-MNIST, written by `infeed convert`, read by TensorFlow."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        self.addCleanup(self.folder.cleanup)

    def check(self, split, idx_prefix, count, compression):
        pattern = os.path.join(self.folder.name, f"{split}-*-of-00016.tfrecord{'.gz' if compression else ''}")
        files = sorted(glob.glob(pattern))
        self.assertEqual(len(files), 16, f"shards that match {pattern}")
        features = {"image": tf.io.FixedLenFeature([], tf.string),
                    "label": tf.io.FixedLenFeature([], tf.int64)}
        dataset = (tf.data.TFRecordDataset(files, compression_type=compression).batch(4096)
                   .map(lambda records: tf.io.parse_example(records, features)))
        images, labels = [], []
        for batch in dataset:
            images.append(tf.io.decode_raw(batch["image"], tf.uint8).numpy())
            labels.append(batch["label"].numpy())
        images, labels = np.concatenate(images), np.concatenate(labels)
        self.assertEqual(len(images), count)
        np.testing.assert_array_equal(
            images, read_idx(f"{idx_prefix}-images-idx3-ubyte").reshape(count, -1))
        np.testing.assert_array_equal(labels, read_idx(f"{idx_prefix}-labels-idx1-ubyte"))

    def test_plain_shards(self):
        programs.infeed("convert", "-o", self.folder.name, "--shards", "16")
        self.check("train", "train", 60_000, "")
        self.check("test", "t10k", 10_000, "")

    def test_gzip_shards(self):
        programs.infeed("convert", "-o", self.folder.name, "--shards", "16", "--compression", "gzip")
        self.check("train", "train", 60_000, "GZIP")
        self.check("test", "t10k", 10_000, "GZIP")


class RandomRecords(unittest.TestCase):
    """Records of all sizes, empty ones too, both ways and in every compression."""

    COMPRESSIONS = {"none": "", "gzip": "GZIP", "zlib": "ZLIB"}

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        self.addCleanup(self.folder.cleanup)
        draw = random.Random(SEED)
        sizes = [0, 1, 0] + [draw.randrange(200) for _ in range(200)] + [70_000, 300_000, 0]
        self.records = [draw.randbytes(size) for size in sizes]

    def test_tensorflow_reads_ours(self):
        for compression, tensorflow_name in self.COMPRESSIONS.items():
            with self.subTest(compression=compression, seed=SEED):
                file = os.path.join(self.folder.name, compression)
                programs.write_with_infeed(file, self.records, compression)
                read = list(tf.data.TFRecordDataset(file, compression_type=tensorflow_name)
                            .as_numpy_iterator())
                self.assertEqual(read, self.records)

    def test_we_read_tensorflows(self):
        for compression, tensorflow_name in self.COMPRESSIONS.items():
            with self.subTest(compression=compression, seed=SEED):
                file = os.path.join(self.folder.name, compression)
                with tf.io.TFRecordWriter(file, options=tensorflow_name) as writer:
                    for record in self.records:
                        writer.write(record)
                read = programs.read_with_infeed(file)
                self.assertEqual([record["size"] for record in read],
                                 [len(record) for record in self.records])
                for ours, record in zip(read, self.records):
                    if len(record) < 1000:
                        self.assertEqual(ours["crc32c"], masked_crc32c(record))


def fill_feature(draw, feature):
    """Random values of a random kind."""
    count = draw.choice([0, 1, 1, 2, 17, 200])
    kind = draw.randrange(3)
    if kind == 0:
        feature.bytes_list.value.extend(draw.randbytes(draw.randrange(50)) for _ in range(count))
        feature.bytes_list.SetInParent()
    elif kind == 1:
        feature.float_list.value.extend(draw.gauss(0, 1e3) for _ in range(count))
        feature.float_list.SetInParent()
    else:
        feature.int64_list.value.extend(
            draw.choice([-1, 1]) * draw.getrandbits(draw.randrange(1, 63)) for _ in range(count))
        feature.int64_list.SetInParent()


def fill_features(draw, features):
    for i in range(draw.randrange(6)):
        fill_feature(draw, features.feature[f"feature {i} {chr(draw.randrange(0xc0, 0x24f))}"])


def expected_feature(feature):
    """As programs.read_with_infeed() shows it."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "bytes_list":
        return {"kind": "bytes", "values": [value.hex() for value in feature.bytes_list.value]}
    if kind == "float_list":
        values = np.array(feature.float_list.value, "<f4")
        return {"kind": "floats", "values": values.tobytes().hex()}
    return {"kind": "integers", "values": list(feature.int64_list.value)}


def expected_features(features):
    return {name: expected_feature(feature) for name, feature in features.feature.items()}


class RandomExamples(unittest.TestCase):
    """tf.train.Examples that protobuf encodes, decoded by infeed."""

    def test_every_value_arrives(self):
        draw = random.Random(SEED)
        examples = [tf.train.Example() for _ in range(300)]
        for example in examples:
            fill_features(draw, example.features)
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            file = os.path.join(folder, "examples.tfrecord")
            with tf.io.TFRecordWriter(file) as writer:
                for example in examples:
                    writer.write(example.SerializeToString())
            read = programs.read_with_infeed(file)
        self.assertEqual(len(read), len(examples))
        for ours, example in zip(read, examples):
            self.assertEqual(ours["features"], expected_features(example.features), f"seed {SEED}")


class SequenceExamples(unittest.TestCase):
    """tf.train.SequenceExamples, both ways."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        self.addCleanup(self.folder.cleanup)
        self.theirs = os.path.join(self.folder.name, "theirs")
        self.ours = os.path.join(self.folder.name, "ours")

    def write_with_tensorflow(self, examples):
        with tf.io.TFRecordWriter(self.theirs) as writer:
            for example in examples:
                writer.write(example.SerializeToString())

    def test_every_value_arrives_and_comes_back(self):
        draw = random.Random(SEED)
        examples = [tf.train.SequenceExample() for _ in range(200)]
        for example in examples:
            example.context.SetInParent()  # we write it even when it is empty
            fill_features(draw, example.context)
            for i in range(draw.randrange(5)):
                steps = example.feature_lists.feature_list[f"list {i}"]
                steps.SetInParent()
                for _ in range(draw.choice([0, 1, 3, 20])):
                    step = steps.feature.add()
                    if draw.randrange(8):
                        fill_feature(draw, step)
        self.write_with_tensorflow(examples)
        read = programs.read_sequences_with_infeed(self.theirs)
        self.assertEqual(len(read), len(examples))
        for ours, example in zip(read, examples):
            expected = {"features": expected_features(example.context),
                        "lists": {name: [expected_feature(step) for step in steps.feature]
                                  for name, steps in example.feature_lists.feature_list.items()}}
            self.assertEqual(ours, expected, f"seed {SEED}")
        programs.rewrite_sequences_with_infeed(self.ours, read)
        written = [tf.train.SequenceExample.FromString(record)
                   for record in tf.data.TFRecordDataset(self.ours).as_numpy_iterator()]
        self.assertEqual(len(written), len(examples))
        for ours, example in zip(written, examples):
            self.assertTrue(ours == example, f"seed {SEED}: {ours} instead of {example}")

    def test_tensorflow_parses_what_we_write(self):
        lengths = [3, 0, 5]
        sequences = [
            {"features": {"label": {"kind": "integers", "values": [length]}},
             "lists": {
                 "fixed": [{"kind": "integers", "values": [i, -i]} for i in range(length)],
                 "ragged": [{"kind": "bytes", "values": ["61" * i] * i} for i in range(length)]}}
            for length in lengths]
        programs.rewrite_sequences_with_infeed(self.ours, sequences)
        records = list(tf.data.TFRecordDataset(self.ours))
        context, lists, counts = tf.io.parse_sequence_example(
            tf.stack(records),
            context_features={"label": tf.io.FixedLenFeature([], tf.int64)},
            sequence_features={"fixed": tf.io.FixedLenSequenceFeature([2], tf.int64),
                               "ragged": tf.io.RaggedFeature(tf.string)})
        np.testing.assert_array_equal(context["label"].numpy(), lengths)
        np.testing.assert_array_equal(counts["fixed"].numpy(), lengths)
        for row, length in enumerate(lengths):
            for i in range(5):
                expected = [i, -i] if i < length else [0, 0]
                np.testing.assert_array_equal(lists["fixed"][row, i].numpy(), expected)
        self.assertEqual(lists["ragged"].to_list(),
                         [[[b"a" * i] * i for i in range(length)] for length in lengths])


if __name__ == "__main__":
    unittest.main(verbosity=2)
