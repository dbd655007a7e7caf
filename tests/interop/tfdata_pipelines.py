"""Drawn pipelines (tests/pipeline/drawn/drawn_pipeline.h says what each stage does) as tf.data runs them.

    tfdata_pipelines.py FILE   reads {"pipeline": ...} lines, prints {"streams": ...} lines

A process of its own, with a limit of memory that its caller sets: tf.data can crash and hang.
"""

import json
import re
import sys

import tensorflow as tf

MODULUS = 1_000_003
ELEMENTS_MAX = 20_000
# 31^0, 31^1, ...: folding k rows, one after the other, is one sum.
POWERS = tf.constant([31 ** i for i in range(8)], tf.int64)


def congruent(x, stage):
    return tf.math.floormod(x, stage["modulus"]) == stage["residue"]


def refuse(condition, who, x):
    """Fails where the condition holds, else gives x."""
    check = tf.debugging.Assert(tf.logical_not(condition), [tf.strings.join(
        ["<<", who, tf.strings.as_string(x), ">>"])])
    with tf.control_dependencies([check]):
        return tf.identity(x)


def refuse_broken(x, condition):
    check = tf.debugging.Assert(tf.logical_not(condition), [tf.strings.join(
        ["<<element ", tf.strings.as_string(x), " is broken>>"])])
    with tf.control_dependencies([check]):
        return tf.identity(x)


def fold_rows(rows):
    """h = the number of rows; h = (h * 31 + x) % MODULUS for each."""
    size = tf.shape(rows, tf.int64)[0]
    powers = tf.reverse(POWERS[:size], [0])
    return tf.math.floormod(
        size * POWERS[size] + tf.reduce_sum(tf.math.floormod(rows, MODULUS) * powers), MODULUS)


def calls(stage):
    parallelism = stage.get("parallelism", 1)
    return parallelism if parallelism > 1 else None


def source(stage):
    if stage["op"] == "range":
        start, step = stage["start"], stage["step"]
        return tf.data.Dataset.range(start, start + stage["count"] * step, step)
    return tf.data.Dataset.range(stage["count"]).map(
        lambda x: refuse_broken(x, congruent(x, stage)))


def filter_fails(x, stage):
    return refuse(congruent(x, stage), "filter refuses ", x) % 2 == 0


def scan_step(state, x):
    total = tf.math.floormod(state + x, MODULUS)
    return total, total


def inner_range(stage):
    return lambda x: tf.data.Dataset.range(10 * x, 10 * x + tf.math.floormod(x, stage["modulus"]))


STAGES = {
    "map": lambda d, s: d.map(
        lambda x: tf.math.floormod(x * s["multiply"] + s["add"], MODULUS), calls(s)),
    "map_fails": lambda d, s: d.map(
        lambda x: refuse(congruent(x, s), "map refuses ", x), calls(s)),
    "filter": lambda d, s: d.filter(lambda x: tf.logical_not(congruent(x, s))),
    "filter_fails": lambda d, s: d.filter(lambda x: filter_fails(x, s)),
    "take_while": lambda d, s: d.take_while(lambda x: tf.logical_not(congruent(x, s))),
    "scan": lambda d, s: d.scan(tf.constant(0, tf.int64), scan_step),
    "enumerate": lambda d, s: d.enumerate(s["start"]).map(
        lambda number, x: tf.math.floormod(number * 1009 + x, MODULUS)),
    "take": lambda d, s: d.take(s["count"]),
    "skip": lambda d, s: d.skip(s["count"]),
    "shard": lambda d, s: d.shard(s["count"], s["index"]),
    "repeat": lambda d, s: d.repeat(s["count"]),
    "repeat_take": lambda d, s: d.repeat().take(s["count"]),
    "unique": lambda d, s: d.unique(),
    "skip_errors": lambda d, s: d.ignore_errors(),
    "cache": lambda d, s: d.cache(),
    "prefetch": lambda d, s: d.prefetch(s["depth"]),
    "shuffle": lambda d, s: d.shuffle(s["buffer"], s["seed"], bool(s["reshuffle"])),
    "batch": lambda d, s: d.batch(s["size"], bool(s["drop_remainder"])).map(fold_rows),
    "batch_unbatch": lambda d, s: d.batch(s["size"], bool(s["drop_remainder"])).unbatch(),
    "window": lambda d, s: d.window(
        s["size"], s["shift"], s["stride"], bool(s["drop_remainder"])).flat_map(
            lambda window: window.batch(s["size"])).map(fold_rows),
    "flat_map": lambda d, s: d.flat_map(inner_range(s)),
    "interleave": lambda d, s: d.interleave(
        inner_range(s), s["cycle_length"], s["block_length"], calls(s)),
    "concatenate": lambda d, s: d.concatenate(build(s["other"])),
    "zip": lambda d, s: tf.data.Dataset.zip((d, build(s["other"]))).map(
        lambda x, y: tf.math.floormod(x * 31 + y, MODULUS)),
}


def build(pipeline):
    dataset = source(pipeline["stages"][0])
    for stage in pipeline["stages"][1:]:
        dataset = STAGES[stage["op"]](dataset, stage)
    return dataset


def stream(dataset):
    elements = []
    iterator = iter(dataset)
    while len(elements) < ELEMENTS_MAX:
        try:
            elements.append(str(int(next(iterator))))
        except StopIteration:
            return elements
        except tf.errors.OpError as error:
            said = re.search(r"<<(.*?)>>", error.message)
            elements.append("! " + (said.group(1) if said else error.message))
    return elements + ["... and so on"]


def main():
    # The unfused orders: fusing shuffle with repeat, or map with batch, changes what comes out.
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            dataset = build(json.loads(line)["pipeline"]).with_options(options)
            print(json.dumps({"streams": [stream(dataset) for _ in range(3)]}), flush=True)


if __name__ == "__main__":
    tf.autograph.set_verbosity(0)
    main()
