#!/usr/bin/env python3
"""What pandas, NumPy and TensorFlow make of feature operations, and drawn cases for them.

A case is {"rows": [object...], "schema": [column...], "steps": [step...], "answer": [row...]}: the answer is column "y"
after all steps, a list for a row of several values, texts as they are, NaN as "nan".

    tests/interop/feature_referee.py COUNT > tests/records/features/feature_answers.json

writes the table that the C++ tests read, so that they need no Python.
"""

import json
import math
import random
import sys

import numpy as np
import pandas as pd
import tensorflow as tf

WORDS = ["Rome", "Oslo", "", "São Paulo", "a", "the quick brown fox jumps over it", "x" * 70, "0", "-7", "Rome ", "|"]


def plain(values):
    """Numbers and texts of an array as JSON has them."""
    if isinstance(values, (list, tuple, np.ndarray)):
        return [plain(value) for value in values]
    if isinstance(values, bytes):
        return values.decode()
    if isinstance(values, (np.generic,)):
        values = values.item()
    if isinstance(values, float) and math.isnan(values):
        return "nan"
    return values


def per_row(function, rows):
    """Applies a function of a flat array to all items, and gives each row its own back."""
    flat = [item for row in rows for item in row]
    answers = list(function(flat))
    return [[answers.pop(0) for _ in row] for row in rows]


def draw_rows(draw, items):
    """Rows of one item each, or of any number."""
    if draw.random() < 0.5:
        return False, [[items()] for _ in range(draw.randint(0, 12))]
    return True, [[items() for _ in range(draw.choice([0, 1, 1, 2, 5]))] for _ in range(draw.randint(0, 12))]


def text_case(draw, name):
    is_list, rows = draw_rows(draw, lambda: draw.choice(WORDS))
    if name == "hash_buckets":
        buckets = draw.choice([1, 7, 1000, 1 << 40])
        step = {"name": name, "buckets": buckets}
        answer = per_row(lambda flat: tf.strings.to_hash_bucket_fast(tf.constant(flat, tf.string), buckets).numpy(), rows)
    elif name == "vocabulary":
        words = draw.sample(sorted(set(WORDS)), 5)
        oov = draw.choice([1, 3])
        step = {"name": name, "words": words, "oov_buckets": oov}
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words), dtype=tf.int64)), oov)
        answer = per_row(lambda flat: table.lookup(tf.constant(flat, tf.string)).numpy(), rows)
    else:
        delimiter = draw.choice(["|", ", "])
        step = {"name": name, "delimiter": delimiter}
        is_list = False
        rows = [[delimiter.join(draw.choice(WORDS[:6]) for _ in range(draw.randint(0, 4)))] for _ in rows]
        parts = pd.Series([row[0] for row in rows], dtype=object).str.split(delimiter, regex=False)
        answer = [[] if row[0] == "" else part for row, part in zip(rows, parts)]
        return is_list, rows, "bytes", step, answer, "rows"
    return is_list, rows, "bytes", step, answer, "items"


def number_of(draw, dtype):
    if dtype.startswith("float"):
        value = draw.choice([0.0, -0.5, 1.0, 2.5, 3.0, 1e6, -1e-3, draw.uniform(-10, 10), draw.gauss(0, 1e4)])
        return float(np.dtype(dtype).type(value))
    low, high = (0, 255) if dtype == "uint8" else (-(1 << 40), 1 << 40) if dtype == "int64" else (-30000, 30000)
    return draw.choice([0, 1, 2, 3, 7, draw.randint(max(low, -20), 20), draw.randint(low, high)])


def number_case(draw, name):
    dtype = draw.choice(["int64", "int32", "int16", "uint8", "float32", "float64"])
    is_list, rows = draw_rows(draw, lambda: number_of(draw, dtype))
    column = np.dtype(dtype).type
    if name == "clip":
        low, high = sorted([draw.randint(0, 9), draw.randint(0, 9) + draw.choice([0, 0.5]) * dtype.startswith("float")])
        step = {"name": name, "min": low, "max": high}
        answer = per_row(lambda flat: np.clip(np.array(flat, dtype), column(low), column(high)), rows)
    elif name == "bucketise":
        edges = sorted({draw.choice([-1.5, 0.0, 1.0, 2.5, 3.0, 1e3, draw.uniform(-9, 9)]) for _ in range(draw.randint(1, 9))})
        step = {"name": name, "boundaries": edges}
        answer = per_row(lambda flat: np.digitize(np.array(flat, dtype), edges), rows)
    elif name == "normalise":
        mean, deviation = draw.uniform(-5, 5), draw.uniform(0.1, 9)
        step = {"name": name, "mean": [mean], "deviation": [deviation]}
        inner = np.float32 if dtype in ("float32", "int16", "uint8") else np.float64
        outer = np.float64 if dtype == "float64" else np.float32
        answer = per_row(lambda flat: ((np.array(flat, dtype).astype(inner) - inner(mean)) / inner(deviation)).astype(outer), rows)
    elif name == "cast":
        to = draw.choice(["float32", "float64", "float16", "int64"] if dtype != "float64" else ["float64", "float32"])
        if to == "float16" or (to == "int64" and dtype == "float32"):
            rows = [[item % 2048 // 1 for item in row] for row in rows]
        step = {"name": name, "dtype": to}
        answer = per_row(lambda flat: np.array(flat, dtype).astype(to), rows)
    else:
        dtype = "float32"
        rows = [[item if draw.random() < 0.6 else "nan" for item in row] for row in rows]
        rows = [[float(np.float32(item)) if item != "nan" else item for item in row] for row in rows]
        value = draw.choice([0.0, -1.0, 0.25])
        step = {"name": name, "value": value}
        answer = per_row(lambda flat: pd.Series([math.nan if item == "nan" else item for item in flat], dtype=dtype)
                         .fillna(value).to_numpy(), rows)
    return is_list, rows, dtype, step, answer, "items"


def hot_case(draw, name):
    depth = draw.randint(1, 6)
    dtype = draw.choice(["int64", "uint8", "int32"])
    is_list, rows = draw_rows(draw, lambda: draw.randrange(depth))
    step = {"name": name, "depth": depth}
    hot = [tf.one_hot(tf.constant(row, tf.int64), depth).numpy().reshape(-1, depth) for row in rows]
    if name == "one_hot":
        return is_list, rows, dtype, step, hot, "items"
    counts = draw.random() < 0.5
    if counts:
        step["counts"] = True
    answer = [row.sum(0) if counts else row.max(0, initial=0) for row in hot]
    return is_list, rows, dtype, step, answer, "rows"


def draw_case(seed):
    draw = random.Random(seed)
    name = draw.choice(["hash_buckets", "vocabulary", "split", "clip", "bucketise", "normalise", "cast", "fill",
                        "one_hot", "multi_hot"])
    kinds = {"hash_buckets": text_case, "vocabulary": text_case, "split": text_case, "one_hot": hot_case,
             "multi_hot": hot_case}
    is_list, rows, dtype, step, answer, unit = kinds.get(name, number_case)(draw, name)
    if dtype == "bytes":
        schema = {"name": "x", "kind": "ragged_bytes" if is_list else "bytes"}
    else:
        schema = {"name": "x", "kind": "ragged" if is_list else "dense", "dtype": dtype}
    if name == "fill":  # JSON has no NaN: it comes as text, which a step casts
        schema = {"name": "x", "kind": "ragged_bytes" if is_list else "bytes"}
        rows = [[repr(item) if item != "nan" else item for item in row] for row in rows]
    steps = [{"name": "cast", "column": "x", "dtype": "float32"}] if name == "fill" else []
    steps.append({"name": step.pop("name"), "column": "x", **step, "to": "y"})
    if not is_list and unit == "items":
        answer = [row[0] for row in answer]
    return {"rows": [{"x": row if is_list else row[0]} for row in rows], "schema": [schema], "steps": steps,
            "answer": plain(answer)}


if __name__ == "__main__":
    cases = [json.dumps(draw_case(seed)) for seed in range(int(sys.argv[1]))]
    print("[\n" + ",\n".join(cases) + "\n]")
