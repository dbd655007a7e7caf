"""Protobuf messages by a descriptor set: columns are those of tf.io.decode_proto."""

import os
import random
import tempfile
import unittest

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import programs

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261127"))
DESCRIPTOR_SET = os.environ["INFEED_TEST_DESCRIPTOR_SET"]
# What tf.io.decode_proto gives for a field of a message.
FIELDS = {"id": tf.int64, "query": tf.string, "picture": tf.string, "kind": tf.int32, "kinds": tf.int32,
          "tokens": tf.int64, "words": tf.string, "page": tf.int32, "is_paid": tf.bool, "position": tf.float32,
          "small": tf.uint32, "large": tf.uint64, "turned": tf.int32, "fixed": tf.uint64}
OF_USER = {"id": tf.int64, "name": tf.string, "tastes": tf.float32}
OF_ITEM = {"sku": tf.string, "price": tf.float64, "sizes": tf.int32, "colours": tf.string}
REPEATED = {"kinds", "tokens", "words", "tastes", "sizes", "colours"}


def message_class(name):
    with open(DESCRIPTOR_SET, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    pool = descriptor_pool.DescriptorPool()
    for described in files:
        pool.Add(described)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def random_click(draw, click_class):
    click = click_class()
    if draw.random() < 0.8:
        click.id = draw.randrange(-2**63, 2**63)
        click.query = "".join(draw.choice("abä ") for _ in range(draw.randrange(20)))
        click.picture = draw.randbytes(draw.randrange(50))
        click.kind = draw.choice([0, 1, 2, 17])
        click.position = draw.choice([0.5, -0.0, 1e30])
        click.small, click.large = draw.randrange(2**32), draw.randrange(2**64)
        click.turned, click.fixed = draw.randrange(-2**31, 2**31), draw.randrange(2**64)
        click.is_paid = draw.random() < 0.5
    if draw.random() < 0.5:
        click.page = draw.randrange(-2**31, 2**31)
    click.kinds.extend(draw.choices([0, 1, 2], k=draw.randrange(4)))
    click.tokens.extend(draw.randrange(-2**63, 2**63) for _ in range(draw.randrange(5)))
    click.words.extend("w" * draw.randrange(9) for _ in range(draw.randrange(3)))
    if draw.random() < 0.7:
        click.user.id, click.user.name = draw.randrange(2**40), "Ada"
        click.user.tastes.extend([0.25] * draw.randrange(3))
    for _ in range(draw.randrange(4)):
        item = click.items.add()
        if draw.random() < 0.5:
            item.sku, item.price = "s" * draw.randrange(5), draw.random()
        item.sizes.extend(draw.randrange(50) for _ in range(draw.randrange(4)))
        item.colours.extend(["red"] * draw.randrange(3))
    return click


def decode(messages, name, fields):
    """{field: (counts, rows of as many values)} as TensorFlow has them."""
    sizes, values = tf.io.decode_proto(messages, name, list(fields), list(fields.values()),
                                       descriptor_source=DESCRIPTOR_SET)
    decoded = {}
    for i, field in enumerate(fields):
        counts = sizes[:, i].numpy()
        if field not in REPEATED:  # TensorFlow fills a missing value in, but counts none
            counts = np.ones_like(counts)
        rows = [row[:count] for row, count in zip(values[i].numpy(), counts)]
        decoded[field] = (counts, [value for row in rows for value in row])
    return decoded


def splits_of(counts):
    return [0, *np.cumsum(counts).tolist()]


def shown(values):
    return [value.hex() if isinstance(value, bytes) else value.item() for value in values]


class Columns(unittest.TestCase):
    maxDiff = 2000

    def check(self, column, values, splits):
        self.assertEqual(column["values"], shown(values))
        self.assertEqual(column["splits"], splits)

    def test_columns_are_those_of_decode_proto(self):
        draw = random.Random(SEED)
        click_class = message_class("shop.Click")
        clicks = [random_click(draw, click_class).SerializeToString() for _ in range(200)]
        names = [*FIELDS, *(f"user.{name}" for name in OF_USER), *(f"items.{name}" for name in OF_ITEM)]
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            file = os.path.join(folder, "clicks")
            with tf.io.TFRecordWriter(file) as writer:
                for click in clicks:
                    writer.write(click)
            columns = programs.columns_of_messages(file, DESCRIPTOR_SET, "shop.Click", names)

        for name, (counts, values) in decode(clicks, "shop.Click", FIELDS).items():
            self.check(columns[name], values, [splits_of(counts)] if name in REPEATED else [])

        _, users = decode(clicks, "shop.Click", {"user": tf.string})["user"]
        for name, (counts, values) in decode(users, "shop.User", OF_USER).items():
            self.check(columns[f"user.{name}"], values, [splits_of(counts)] if name in REPEATED else [])

        sizes, items = tf.io.decode_proto(clicks, "shop.Click", ["items"], [tf.string], descriptor_source=DESCRIPTOR_SET)
        counts = sizes[:, 0].numpy()
        items = [item for row, count in zip(items[0].numpy(), counts) for item in row[:count]]
        for name, (inner_counts, values) in decode(items, "shop.Item", OF_ITEM).items():
            splits = [splits_of(counts), *([splits_of(inner_counts)] if name in REPEATED else [])]
            self.check(columns[f"items.{name}"], values, splits)


if __name__ == "__main__":
    print(f"INFEED_TEST_SEED={SEED}")
    unittest.main()
