"""What `infeed convert` makes of text: each value equal to what pandas, pyarrow and Python's json read, or refused.

    INFEED_TEST_SEED=7 INFEED_VALUE_FILES=10000 tests/interop/run.sh test_values.py

draws that many files instead of the usual few hundred.
"""

import collections
import concurrent.futures
import csv
import io
import json
import math
import os
import re
import subprocess
import tempfile
import unittest

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from drawn_values import JsonLines, draw_file
from example_records import read_examples

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261122"))
FILES = int(os.environ.get("INFEED_VALUE_FILES", "300"))
QUARANTINE_MAX = 1000

Number = collections.namedtuple("Number", "written")  # as in JSON; of a table every cell is a str
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
FLOAT32_LIMIT = 2 ** 128 - 2 ** 103  # from here on it rounds to infinity


def float32_of(value):
    """numpy's float32, which says what is beyond it by becoming infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(value)


# Its usual strings can't hold what is no UTF-8.
pd.set_option("future.infer_string", False)
pd.set_option("mode.string_storage", "python")


class Written:
    """A value as it is written, and what kinds can hold it."""

    def __init__(self, value, is_json):
        self.is_boolean = isinstance(value, bool)
        self.text = ("true" if value else "false") if self.is_boolean else getattr(value, "written", value)
        number = self.text.strip(" ") if not self.is_boolean else str(int(value))
        may_be_number = self.is_boolean or isinstance(value, Number) or not is_json
        self.number = number if may_be_number and NUMBER.fullmatch(number) else None
        digits = number.lstrip("+-")
        self.is_whole = self.number is not None and digits.isascii() and digits.isdigit()
        self.is_code = self.number is not None and not is_json and re.match(r"0\d", digits) is not None

    def integer(self):
        if not self.is_whole or self.is_code or not -2 ** 63 <= int(self.number) < 2 ** 63:
            return None
        return int(self.number)

    def float32(self):
        if self.number is None or self.is_code:
            return None
        rounded = float32_of(float(self.number))
        is_infinite = "inf" in self.number.lower()
        return None if np.isinf(rounded) and not is_infinite else rounded

    def is_rounded(self):
        rounded = self.float32()
        if self.is_boolean or not np.isfinite(rounded):
            return False
        if self.is_whole:
            return int(rounded) != int(self.number)
        if rounded == 0:
            return re.search("[1-9]", re.split("[eE]", self.number)[0]) is not None
        return float(str(rounded)) != float(self.number)

    def holds(self, kind):
        """As the record should have it; None when the kind can't hold it."""
        if kind == "bytes":
            return self.text.encode("utf-8", "surrogateescape")
        return self.integer() if kind == "integers" else self.float32()


def same(ours, theirs, kind):
    if kind != "floats":
        return ours == theirs
    ours = np.frombuffer(ours, "<f4")[0]
    return ours.tobytes() == theirs.tobytes() or (np.isnan(ours) and np.isnan(theirs))


def same_number(ours, theirs, kind):
    """Whatever type they chose: an integer column may have become float64, -0 is their integer 0."""
    if kind == "integers":
        return ours == theirs or (isinstance(theirs, float) and float(ours) == theirs)
    return float32_of(theirs) == np.frombuffer(ours, "<f4")[0]


def expected_kind(values):
    """What column_choice.h promises; `values`: all of a column."""
    codes = [value for value in values if value.is_code]
    texts = [value for value in values if value.number is None]
    if not values or codes or 10 * len(texts) > len(values):
        return "bytes"
    integers = [value for value in values if value.integer() is not None]
    wide = [value for value in values if value.is_whole and value.integer() is None]
    if any(not value.is_whole and value.float32() is not None for value in values if value.number):
        return "floats"
    return "bytes" if wide else "integers" if integers else "floats"


class Refused(Exception):
    """The file can't be taken as it is."""


def read_table(drawn, content):
    """Rows of Written by column, as pandas and pyarrow both read the cells; an empty cell is None."""
    quoting = csv.QUOTE_MINIMAL if drawn.has_quotes else csv.QUOTE_NONE
    frame = pd.read_csv(io.BytesIO(content), sep=drawn.delimiter, quoting=quoting, dtype=object, keep_default_na=False,
                        encoding="utf-8", encoding_errors="surrogateescape", index_col=False)
    names = list(frame.columns)
    # pyarrow reads no header that no line break ends.
    table = pa.csv.read_csv(
        io.BytesIO(content if len(frame) else content + b"\n"), parse_options=arrow_format(drawn),
        convert_options=pa.csv.ConvertOptions(column_types={name: pa.binary() for name in names}))
    cells = {name: [cell.encode("utf-8", "surrogateescape") for cell in frame[name]] for name in names}
    if {name: table[name].to_pylist() for name in table.column_names} != cells:
        raise AssertionError("pandas and pyarrow differ: the drawn file isn't clear")
    return names, [{name: [Written(cell, False)] if cell else None for name, cell in zip(names, row)}
                   for row in zip(*(frame[name] for name in names))]


def arrow_format(drawn):
    return pa.csv.ParseOptions(delimiter=drawn.delimiter, quote_char='"' if drawn.has_quotes else False,
                               newlines_in_values=drawn.has_quotes)


class Twice(Exception):
    pass


def flatten(prefix, pairs, row):
    for key, value in pairs:
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, tuple) and not isinstance(value, Number):
            flatten(name, value, row)
        elif name in row:
            raise Twice
        elif isinstance(value, list):
            row[name] = [Written(item, True) for item in leaves(value)]
        else:
            row[name] = None if value is None else [Written(value, True)]


def leaves(values):
    for value in values:
        if isinstance(value, list):
            yield from leaves(value)
        elif value is None or (isinstance(value, tuple) and not isinstance(value, Number)):
            raise Twice
        else:
            yield value


def refuse_constant(name):
    raise Twice


def read_json(line):
    """A row as of read_table(), or None when nobody may take the line."""
    row = {}
    try:
        pairs = json.loads(line, parse_int=Number, parse_float=Number, object_pairs_hook=tuple,
                           parse_constant=refuse_constant)
        flatten("", pairs, row)
    except Twice:
        return None
    for values in row.values():
        if any(value.number and math.isinf(float(value.number)) for value in values or []):
            return None  # beyond float64
    return row


class Conversion:
    """One drawn file, converted."""

    def __init__(self, folder, seed):
        self.drawn = draw_file(seed)
        self.file = os.path.join(folder, f"{seed}.{self.drawn.kind}")
        self.content = self.drawn.bytes()
        with open(self.file, "wb") as stream:
            stream.write(self.content)
        out = os.path.join(folder, str(seed))
        done = subprocess.run(
            [os.environ["INFEED_PROGRAM"], "convert", self.file, "-o", out, "--shards", "1", "--no-sync",
             "--threads", "1", "--quarantine-max", str(QUARANTINE_MAX), *self.drawn.arguments()],
            text=True, capture_output=True, timeout=60, check=False)
        self.status, self.said, self.error = done.returncode, done.stdout, done.stderr
        if self.status == 0:
            with open(os.path.join(out, "data.manifest.json"), encoding="utf-8") as stream:
                self.manifest = json.load(stream)
            self.examples = read_examples(os.path.join(out, "data-00000-of-00001.tfrecord"))


class ConvertedValues(unittest.TestCase):
    def setUp(self):
        self.counts = collections.Counter()

    def test_every_value_is_equal_or_refused(self):
        with (tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder,
              concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool):
            for begin in range(0, FILES, 100):
                seeds = range(SEED + begin, SEED + min(begin + 100, FILES))
                for conversion in pool.map(lambda seed: Conversion(folder, seed), seeds):
                    with self.subTest(file=os.path.basename(conversion.file)):
                        self.check(conversion)
        print(", ".join(f"{count} {what}" for what, count in sorted(self.counts.items())))
        for what in ("values equal", "rows refused", "values rounded", "columns of pandas", "columns of pyarrow"):
            self.assertGreater(self.counts[what], 0, what)

    def check(self, conversion):
        drawn = conversion.drawn
        self.counts[f"files of {drawn.kind}"] += 1
        if isinstance(drawn, JsonLines):
            rows = [read_json(line) for line in drawn.lines]
            names = sorted({name for row in rows if row for name in row})
        else:
            names, rows = read_table(drawn, conversion.content)
        if conversion.status != 0:
            self.check_refusal(conversion, names)
            return
        kinds = {column["name"]: column["kind"] for column in conversion.manifest["columns"]}
        self.assertEqual(set(kinds), set(names))
        self.check_kinds(kinds, rows, conversion)
        self.check_rows(kinds, rows, conversion)

    def check_refusal(self, conversion, names):
        """Of a whole file: only one that seems to have another delimiter."""
        self.counts["files refused"] += 1
        self.assertEqual(conversion.status, 1, conversion.error)
        self.assertIn("--delimiter", conversion.error)
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], "[;|,\t]")

    def check_kinds(self, kinds, rows, conversion):
        for name, kind in kinds.items():
            values = [value for row in rows if row for value in row.get(name) or []]
            self.assertEqual(kind, expected_kind(values), f"{name}: {[value.text for value in values]}")
            self.assertIn(kind, conversion.said)

    def check_rows(self, kinds, rows, conversion):
        refused = self.refused_rows(conversion)
        examples = iter(conversion.examples)
        rounded = collections.Counter()
        for number, row in enumerate(rows, start=1):
            must_be_refused = row is None or any(
                value.holds(kinds[name]) is None for name, values in row.items() for value in values or [])
            self.assertEqual(number in refused, must_be_refused, f"row {number}: {refused.get(number)}")
            self.counts["rows refused" if must_be_refused else "rows"] += 1
            if not must_be_refused:
                self.check_row(kinds, row, next(examples), rounded)
        self.assertIsNone(next(examples, None), "more examples than rows")
        for column in conversion.manifest["columns"]:
            self.assertEqual(column.get("rounded", 0), rounded[column["name"]], column["name"])
        if refused == {}:
            self.check_typed(kinds, conversion)

    def refused_rows(self, conversion):
        """By their number, as the manifest names them: FILE line L (row R)."""
        refused = {}
        lines = conversion.content.decode("utf-8", "surrogateescape").split("\n")
        for item in conversion.manifest["quarantined"]:
            name, line, row = re.fullmatch(r"(.*) line (\d+) \(row (\d+)\)", item["input"]).groups()
            self.assertEqual(name, os.path.basename(conversion.file))
            if isinstance(conversion.drawn, JsonLines):
                self.assertEqual(lines[int(line) - 1].strip("\r\ufeff"), conversion.drawn.lines[int(row) - 1])
            elif conversion.drawn.kind == "tsv":
                self.assertEqual(lines[int(line) - 1].strip("\r"),
                                 "\t".join(cells[int(row) - 1] for cells in conversion.drawn.cells))
            refused[int(row)] = item["error"]
        return refused

    def check_row(self, kinds, row, example, rounded):
        expected = {name.encode("utf-8", "surrogateescape"): (name, values)
                    for name, values in row.items() if values is not None}
        self.assertEqual(set(example), set(expected))
        for encoded, (name, values) in expected.items():
            kind, ours = example[encoded]
            self.assertEqual(kind, kinds[name])
            self.assertEqual(len(ours), len(values))
            for value, theirs in zip(ours, values):
                self.assertTrue(same(value, theirs.holds(kind), kind), f"{name}: {value!r} of {theirs.text!r}")
                self.counts["values equal"] += 1
                if kind == "floats" and theirs.is_rounded():
                    rounded[name] += 1
                    self.counts["values rounded"] += 1

    def check_typed(self, kinds, conversion):
        """Columns that pandas and pyarrow take for numbers, too, by their own rules."""
        for reader, columns in (("pandas", self.pandas_columns(conversion)),
                                ("pyarrow", self.arrow_columns(conversion))):
            for name, theirs in columns.items():
                if kinds.get(name) not in ("integers", "floats"):
                    continue
                self.counts[f"columns of {reader}"] += 1
                ours = [example[name.encode()] if name.encode() in example else None
                        for example in conversion.examples]
                self.assertEqual(len(ours), len(theirs))
                for feature, value in zip(ours, theirs):
                    if value is None or (isinstance(value, float) and math.isnan(value)):
                        continue  # they take nan and what is missing for the same
                    self.assertTrue(same_number(feature[1][0], value, feature[0]),
                                    f"{reader} {name}: {feature} of {value!r}")

    def pandas_columns(self, conversion):
        drawn = conversion.drawn
        if isinstance(drawn, JsonLines):
            return {}
        quoting = csv.QUOTE_MINIMAL if drawn.has_quotes else csv.QUOTE_NONE
        frame = pd.read_csv(io.BytesIO(conversion.content), sep=drawn.delimiter, quoting=quoting, index_col=False,
                            encoding_errors="surrogateescape", low_memory=False,
                            dtype_backend="numpy_nullable")
        return {name: frame[name].to_numpy(object, na_value=None).tolist() for name in frame.columns
                if frame[name].dtype.kind in "if"}

    def arrow_columns(self, conversion):
        drawn = conversion.drawn
        try:
            if isinstance(drawn, JsonLines):
                table = pa.json.read_json(io.BytesIO(conversion.content.removeprefix(b"\xef\xbb\xbf")))
            else:
                table = pa.csv.read_csv(io.BytesIO(conversion.content), parse_options=arrow_format(drawn))
        except pa.ArrowInvalid:
            return {}  # lines of different types, which it doesn't take
        return {name: table[name].to_pylist() for name in table.column_names
                if pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type)}


if __name__ == "__main__":
    unittest.main(verbosity=2)
