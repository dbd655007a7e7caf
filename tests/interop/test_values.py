"""What `infeed convert` and the pipeline's csv and json_lines make of text: each value equal to what pandas, pyarrow
and Python's json read, and the same for both, or refused by both.

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
from written_values import (arrow_format, expected_kind, expected_shape, pipeline_type, read_json, read_table,
                            same, same_number)

# An interpreter without sanitizers can't load a library with them.
if "INFEED_WITHOUT_LIBRARY" not in os.environ:
    from text_reader import read_text

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261122"))
FILES = int(os.environ.get("INFEED_VALUE_FILES", "300"))
QUARANTINE_MAX = 1000

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
        expected = ["values equal", "rows refused", "values rounded", "columns of pandas", "columns of pyarrow"]
        if "INFEED_WITHOUT_LIBRARY" not in os.environ:
            expected += ["values equal in the pipeline", "rows refused by the pipeline"]
        for what in expected:
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
        """Finds the columns of booleans, which an Example has as integers."""
        for name, kind in kinds.items():
            values = [value for row in rows if row for value in row.get(name) or []]
            expected = expected_kind(values)
            self.assertEqual(kind, "integers" if expected == "booleans" else expected,
                             f"{name}: {[value.text for value in values]}")
            self.assertIn(kind, conversion.said)
            kinds[name] = expected
        for row in rows:
            for name, values in (row or {}).items():
                if kinds[name] != "bytes" and values and values[0].is_blank:
                    row[name] = None  # blanks alone are no number, as an empty cell

    def check_rows(self, kinds, rows, conversion):
        refused = self.refused_rows(conversion)
        examples = iter(conversion.examples)
        rounded, booleans = collections.Counter(), collections.Counter()
        shapes = {name: expected_shape([row[name] for row in rows if row and row.get(name) is not None])
                  for name in kinds}
        for number, row in enumerate(rows, start=1):
            must_be_refused = row is None or any(
                values is not None and values.shape != shapes[name] or
                any(value.holds(kinds[name]) is None for value in values or []) for name, values in row.items())
            self.assertEqual(number in refused, must_be_refused, f"row {number}: {refused.get(number)}")
            self.counts["rows refused" if must_be_refused else "rows"] += 1
            if not must_be_refused:
                self.check_row(kinds, row, next(examples), rounded)
                booleans.update(name for name, values in row.items() if kinds[name] == "booleans"
                                for value in values or [] if value.is_boolean)
        self.assertIsNone(next(examples, None), "more examples than rows")
        for column in conversion.manifest["columns"]:
            name = column["name"]
            self.assertEqual(column.get("rounded", 0), rounded[name], name)
            self.assertEqual(column.get("booleans", 0), booleans[name], name)
            self.assertEqual(tuple(column.get("shape", ())), shapes[name], name)
        if refused == {}:
            self.check_typed(kinds, conversion)
        if "INFEED_WITHOUT_LIBRARY" not in os.environ:
            self.check_pipeline(kinds, rows, refused, conversion)

    def check_pipeline(self, kinds, rows, refused, conversion):
        """The pipeline takes the rows that convert took, with the same values, and no others."""
        is_json = isinstance(conversion.drawn, JsonLines)
        types = {name: pipeline_type(name, kind, rows, is_json) for name, kind in kinds.items()}
        types = {name: kind for name, kind in types.items() if kind is not None}
        self.counts["columns not of the pipeline"] += len(kinds) - len(types)
        if not types:
            return
        taken = [number for number in range(len(rows)) if number + 1 not in refused]
        content = conversion.content if not refused else conversion.drawn.bytes_of_rows(taken)
        batch, refusal = self.read_by_pipeline(conversion, content, types, leaves_out=False)
        self.assertIsNone(refusal)
        for name in types if taken else ():
            found = batch.column(batch.schema.names.index(name)).to_pylist()
            self.assertEqual(len(found), len(taken))
            for number, example, theirs in zip(taken, conversion.examples, found):
                self.check_pipeline_value(kinds[name], example.get(name.encode("utf-8", "surrogateescape")), theirs,
                                          types[name], f"{name} of row {number + 1}")
        bad = [number for number, row in enumerate(rows) if row and any(
            value.holds(kinds[name]) is None and not value.is_code
            for name in types for value in row.get(name) or [])]
        if bad:
            batch, refusal = self.read_by_pipeline(conversion, conversion.drawn.bytes_of_rows(bad), types,
                                                   leaves_out=True)
            self.assertIsNone(refusal)
            self.assertEqual(batch.num_rows, 0, "rows that convert refused")
            self.counts["rows refused by the pipeline"] += len(bad)

    def read_by_pipeline(self, conversion, content, types, leaves_out):
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(content)
            file.flush()
            is_json = isinstance(conversion.drawn, JsonLines)
            return read_text(file.name, list(types.values()), b"\0" if is_json else conversion.drawn.delimiter.encode(),
                             not is_json and conversion.drawn.has_quotes, leaves_out)

    def check_pipeline_value(self, kind, feature, theirs, column, where):
        if feature is None:
            default = column["default"]
            self.assertEqual(theirs, default.encode() if isinstance(default, str) else default, where)
            return
        values = theirs if isinstance(theirs, list) else [theirs]
        self.assertEqual(len(values), len(feature[1]), where)
        for ours, value in zip(feature[1], values):
            if kind == "floats":
                value = np.float32(value)
            self.assertTrue(same(ours, value, kind), f"{where}: {ours!r} and {value!r}")
            self.counts["values equal in the pipeline"] += 1

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
            self.assertEqual(kind, "integers" if kinds[name] == "booleans" else kinds[name])
            self.assertEqual(len(ours), len(values))
            for value, theirs in zip(ours, values):
                self.assertTrue(same(value, theirs.holds(kinds[name]), kind), f"{name}: {value!r} of {theirs.text!r}")
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
