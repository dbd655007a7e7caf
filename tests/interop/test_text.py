"""Drawn CSV, TSV and JSON-lines files: infeed reads the values that Python's csv and json modules,
pyarrow and pandas read, or refuses the file and says why."""

import csv
import io
import json
import math
import os
import random
import tempfile
import unittest

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from text_reader import read_text


FILES = int(os.environ.get("INFEED_DRAWN_TEXTS", "1000"))
SEED = int(os.environ.get("INFEED_TEST_SEED", random.SystemRandom().randrange(1 << 32)))

INTEGERS = ["0", "7", "-1", "123456789", "9223372036854775807", "-9223372036854775808", "-0", "00012"]
ODD_INTEGERS = ["+5", " 42 ", "9223372036854775808", "1.0", "1e3", "0x10", "1_000", "", "-", "NA", "١٢"]
FLOATS = ["0.5", "-1.25e10", "3", "0.1", "1e-300", "123456.789012345678", "2.2250738585072014e-308",
          "179769313486231570000000000", "0.30000000000000004", "5e-324", "-0.0"]
ODD_FLOATS = [".5", "5.", "+1.5", "nan", "inf", "-Infinity", "1e400", "1e-400", " 1.5", "1,5", "0x1p3", "",
              "1.2.3", "1e", "--1", "True"]
TEXTS = ["plain", "", "two words", "a,b", "semi;colon", "tab\there", 'say "hi"', "line\nbreak", "cr\r\nlf",
         "ümläut", "日本語", "😀", " spaced ", "'single'", "NA", "null", "5\" pipe", '"', "\\n", "x" * 300]


def infeed_read(text, schema, delimiter=b"\0", has_quotes=True):
    """The table, or the refusal."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(text)
        file.flush()
        return read_text(file.name, schema, delimiter, has_quotes)


def values_of(batch, name):
    return batch.column(batch.schema.names.index(name)).to_pylist() if name in batch.schema.names else []


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or math.isnan(a) and math.isnan(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) == type(b) and a == b


class Table:
    """A drawn table as somebody's program might write it."""

    def __init__(self, draw):
        self.delimiter = draw.choice(",,,;\t|")
        self.has_quotes = self.delimiter != "\t" or draw.random() < 0.5
        self.end = draw.choice(["\n", "\n", "\r\n"])
        self.is_odd = draw.random() < 0.5
        self.kinds = [draw.choice("ift") for _ in range(draw.randint(1, 5))]
        self.names = [f"c{i}" for i in range(len(self.kinds))]
        lines = [self.delimiter.join(self.names)]
        for _ in range(draw.randint(0, 12)):
            lines.append(self.delimiter.join(self.cell(draw, kind) for kind in self.kinds))
            if self.is_odd and draw.random() < 0.1:
                lines.append("")
            if self.is_odd and draw.random() < 0.03:
                lines[-1] += draw.choice([self.delimiter, '"', "\r", 'x"y', "\n\n"])
        text = self.end.join(lines) + (self.end if draw.random() < 0.8 else "")
        self.bytes = text.encode()
        if draw.random() < 0.1:
            self.bytes = b"\xef\xbb\xbf" + self.bytes

    def cell(self, draw, kind):
        is_odd = self.is_odd and draw.random() < 0.1
        if kind == "t":
            text = draw.choice(TEXTS)
            if not self.has_quotes:
                text = "".join(c for c in text if c not in "\r\n\t")
        elif kind == "i":
            text = draw.choice(ODD_INTEGERS if is_odd else INTEGERS)
        else:
            text = draw.choice(ODD_FLOATS if is_odd else FLOATS)
        if not self.has_quotes:
            return text
        must = any(c in text for c in self.delimiter + "\r\n") or text.startswith('"')
        if must or draw.random() < 0.2 or (len(self.kinds) == 1 and text == ""):
            return '"' + text.replace('"', '""') + '"'
        return text

    def schema(self, kinds):
        dtypes = {"i": {"dtype": "int64"}, "f": {"dtype": "float64"}, "t": {"kind": "bytes"}}
        return [{"name": name, **dtypes[kind]} for name, kind in zip(self.names, kinds)]


class DrawnText(unittest.TestCase):
    def refusal_says_why(self, refusal, text):
        self.assertRegex(refusal, r"line \d+|header|not closed|UTF", text)

    def test_tables_have_the_cells_that_the_csv_module_reads(self):
        refused = 0
        for number in range(FILES):
            table = Table(random.Random(f"{SEED} cells {number}"))
            with self.subTest(seed=SEED, number=number, text=table.bytes):
                batch, refusal = infeed_read(table.bytes, table.schema("t" * len(table.kinds)),
                                             table.delimiter.encode(), table.has_quotes)
                if refusal:
                    refused += 1
                    self.assertTrue(table.is_odd, refusal)
                    self.refusal_says_why(refusal, table.bytes)
                    continue
                text = table.bytes.decode("utf-8-sig")
                rows = list(csv.reader(
                    io.StringIO(text, newline=""), delimiter=table.delimiter,
                    quoting=csv.QUOTE_MINIMAL if table.has_quotes else csv.QUOTE_NONE))
                expected = [row for row in rows[1:] if row]
                found = [values_of(batch, name) for name in table.names]
                self.assertEqual([list(row) for row in zip(*found)],
                                 [[cell.encode() for cell in row] for row in expected])
        self.assertLess(refused, FILES / 2)

    def test_tables_have_the_values_that_pyarrow_and_pandas_read(self):
        compared = {"pyarrow": 0, "pandas": 0}
        for number in range(FILES):
            table = Table(random.Random(f"{SEED} values {number}"))
            with self.subTest(seed=SEED, number=number, text=table.bytes):
                batch, refusal = infeed_read(table.bytes, table.schema(table.kinds),
                                             table.delimiter.encode(), table.has_quotes)
                if refusal:
                    self.assertTrue(table.is_odd, refusal)
                    self.refusal_says_why(refusal, table.bytes)
                    continue
                for peer, read in (("pyarrow", self.read_with_pyarrow), ("pandas", self.read_with_pandas)):
                    expected = read(table)
                    if expected is None:
                        continue
                    compared[peer] += 1
                    for name in table.names:
                        found = values_of(batch, name)
                        self.assertTrue(same(found, expected[name]), f"{peer}: {found} {expected[name]}")
        self.assertGreater(compared["pyarrow"], FILES / 4, compared)
        self.assertGreater(compared["pandas"], FILES / 4, compared)

    @staticmethod
    def read_with_pyarrow(table):
        types = {"i": pa.int64(), "f": pa.float64(), "t": pa.binary()}
        try:
            read = pa.csv.read_csv(
                io.BytesIO(table.bytes), pa.csv.ReadOptions(use_threads=False),
                pa.csv.ParseOptions(delimiter=table.delimiter, newlines_in_values=True,
                                    quote_char='"' if table.has_quotes else False),
                pa.csv.ConvertOptions(
                    column_types={n: types[k] for n, k in zip(table.names, table.kinds)},
                    null_values=[], strings_can_be_null=False))
        except pa.ArrowInvalid:
            return None
        return {name: read.column(name).to_pylist() for name in table.names}

    @staticmethod
    def read_with_pandas(table):
        types = {"i": "int64", "f": "float64", "t": "str"}
        try:
            read = pd.read_csv(
                io.BytesIO(table.bytes), sep=table.delimiter,
                dtype={n: types[k] for n, k in zip(table.names, table.kinds)}, index_col=False,
                keep_default_na=False, na_values={}, encoding="utf-8-sig",
                quoting=csv.QUOTE_MINIMAL if table.has_quotes else csv.QUOTE_NONE)
        except (ValueError, OverflowError):
            return None
        return {n: [v.encode() for v in read[n].tolist()] if k == "t" else read[n].tolist()
                for n, k in zip(table.names, table.kinds)}

    def test_json_lines_have_the_values_that_others_read(self):
        compared = {"pyarrow": 0, "pandas": 0}
        for number in range(FILES):
            draw = random.Random(f"{SEED} json {number}")
            with self.subTest(seed=SEED, number=number):
                self.check_json_lines(draw, compared)
        self.assertGreater(compared["pyarrow"], FILES / 8, compared)
        self.assertGreater(compared["pandas"], FILES / 4, compared)

    def check_json_lines(self, draw, compared):
        make = {
            "i": lambda: draw.choice([0, -1, 2**63 - 1, -2**63, draw.randint(-10**9, 10**9)]),
            "f": lambda: draw.choice([0.5, -1.25e10, 5e-324, 0.1, 3.0, draw.random(), draw.gauss(0, 1e6)]),
            "t": lambda: draw.choice(TEXTS),
            "b": lambda: draw.random() < 0.5,
        }
        schemas = {"i": {"dtype": "int64"}, "f": {"dtype": "float64"}, "b": {"dtype": "bool"},
                   "t": {"kind": "bytes"}}
        lists = {kind: {**schemas[kind], "kind": "ragged"} for kind in "ifb"}
        lists["t"] = {"kind": "ragged_bytes"}
        columns = []  # (path, kind, is a list)
        for i in range(draw.randint(1, 5)):
            path = draw.choice([f"c{i}", f"o.c{i}", f"o.p.c{i}"])
            columns.append((path, draw.choice("iftb"), draw.random() < 0.3))
        rows, lines = [], []
        for _ in range(draw.randint(1, 10)):
            row, tree = {}, {}
            for path, kind, is_list in columns:
                value = [make[kind]() for _ in range(draw.randint(0, 3))] if is_list else make[kind]()
                row[path] = value
                *parents, last = path.split(".")
                place = tree
                for parent in parents:
                    place = place.setdefault(parent, {})
                place[last] = value
            if draw.random() < 0.3:
                tree["unknown"] = [{"a": [None, "]}"]}, 1e5, "\u2028"]
            items = list(tree.items())
            if draw.random() < 0.3:
                draw.shuffle(items)
            lines.append(json.dumps(dict(items), ensure_ascii=draw.random() < 0.5,
                                    separators=draw.choice([None, (",", ":"), (" , ", "\t: ")])))
            rows.append(row)
        damage = draw.random() < 0.2
        if damage:
            line = draw.randrange(len(lines))
            at = draw.randrange(len(lines[line]))
            lines[line] = lines[line][:at] + draw.choice(['"', "}", ",", "0", "\\", "\x01", "[", "x"]) + lines[line][at + 1:]
        text = draw.choice(["\n", "\r\n", "\n\n"]).join(lines).encode("utf-8", "surrogatepass") + draw.choice([b"", b"\n"])
        schema = [{"name": path, **(lists if is_list else schemas)[kind]} for path, kind, is_list in columns]
        batch, refusal = infeed_read(text, schema)
        if refusal:
            self.refusal_says_why(refusal, text)
            self.assertTrue(damage, (refusal, text))
            return
        if damage:
            self.check_each_line(batch, text, columns)
            return
        for path, kind, is_list in columns:
            expected = [self.expected(row[path], kind, is_list) for row in rows]
            self.assertTrue(same(values_of(batch, path), expected), (path, values_of(batch, path), expected))
        self.compare_with_pyarrow(text, columns, rows, compared)
        self.compare_with_pandas(text, columns, rows, compared)

    @staticmethod
    def expected(value, kind, is_list):
        if is_list:
            return [DrawnText.expected(item, kind, False) for item in value]
        return value.encode() if kind == "t" else value

    def check_each_line(self, batch, text, columns):
        """What was changed and is still taken says the same to Python."""
        trees = [json.loads(line) for line in text.decode().split("\n") if line.strip()]
        for path, kind, is_list in columns:
            expected = []
            for tree in trees:
                value = tree
                for part in path.split("."):
                    value = value.get(part) if isinstance(value, dict) else None
                value = [] if value is None and is_list else value
                item = float if kind == "f" else lambda x: x
                expected.append(self.expected([item(v) for v in value] if is_list else item(value), kind, is_list))
            self.assertTrue(same(values_of(batch, path), expected), (path, text))

    def compare_with_pyarrow(self, text, columns, rows, compared):
        try:
            table = pa.json.read_json(io.BytesIO(text), pa.json.ReadOptions(use_threads=False)).to_pylist()
        except pa.ArrowInvalid:
            return
        compared["pyarrow"] += 1
        for path, kind, is_list in columns:
            for found, row in zip(table, rows):
                value = found
                for part in path.split("."):
                    value = value[part]
                # Dates are pyarrow's own guess; lists of nothing have no type.
                self.assertEqual(value, row[path], (path, text))

    def compare_with_pandas(self, text, columns, rows, compared):
        try:
            table = pd.read_json(io.BytesIO(text), lines=True, dtype=False, convert_dates=False,
                                 convert_axes=False)
        except ValueError:
            return
        compared["pandas"] += 1
        for path, kind, is_list in columns:
            if "." in path or is_list or kind == "f":  # its floats are off by a bit
                continue
            self.assertEqual(table[path].tolist(), [row[path] for row in rows], text)


if __name__ == "__main__":
    unittest.main()
