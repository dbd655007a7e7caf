"""What stands in a drawn file, as pandas, pyarrow and Python's json read it, and the kinds that can hold it."""

import collections
import csv
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

Number = collections.namedtuple("Number", "written")  # as in JSON; of a table every cell is a str
BOOLEANS = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}  # of a table
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)",
                    re.IGNORECASE | re.ASCII)
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
        self.is_json = is_json
        is_json_boolean = isinstance(value, bool)
        self.is_text = is_json and isinstance(value, str)
        self.text = ("true" if value else "false") if is_json_boolean else getattr(value, "written", value)
        trimmed = self.text.strip(" \t")
        self.is_boolean = is_json_boolean or (not is_json and trimmed in BOOLEANS)
        may_be_number = not self.is_boolean and not self.is_text
        self.number = trimmed if may_be_number and NUMBER.fullmatch(trimmed) else None
        digits = trimmed.lstrip("+-")
        self.is_whole = self.number is not None and digits.isascii() and digits.isdigit()
        self.is_blank = not is_json and not trimmed
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
        if not np.isfinite(rounded):
            return False
        if self.is_whole:
            return int(rounded) != int(self.number)
        if rounded == 0:
            return re.search("[1-9]", re.split("[eE]", self.number)[0]) is not None
        return float(self.number) not in (float(rounded), float(str(rounded)))

    def holds(self, kind):
        """As the record should have it; None when the kind can't hold it."""
        if kind == "bytes":
            return self.text.encode("utf-8", "surrogateescape")
        if kind == "booleans":
            return BOOLEANS[self.text.strip(" \t")] if self.is_boolean else self.digit()
        return self.integer() if kind == "integers" else self.float32()

    def digit(self):
        """A table's bool columns take 1 and 0, too; JSON's don't."""
        return int(self.number) if not self.is_json and self.number in ("0", "1") else None


class Cells(list):
    """The values of a cell or member."""

    def __init__(self, values, is_list=False, shape=()):
        super().__init__(values)
        self.is_list, self.shape = is_list, shape


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
    """What column_choice.h promises; `values`: all of a column. Booleans are integers in an Example."""
    values = [value for value in values if not value.is_blank]
    codes = [value for value in values if value.is_code]
    booleans = [value for value in values if value.is_boolean]
    others = [value for value in values if value.number is None]
    has_booleans_only = booleans and all(value.is_boolean or value.number is None for value in values)
    if has_booleans_only:
        others = [value for value in others if not value.is_boolean]
    if not values or codes or 10 * len(others) > len(values):
        return "bytes"
    if has_booleans_only:
        return "booleans"
    integers = [value for value in values if value.integer() is not None]
    wide = [value for value in values if value.is_whole and value.integer() is None]
    if any(not value.is_whole and value.float32() is not None for value in values if value.number):
        return "floats"
    return "bytes" if wide else "integers" if integers else "floats"


def expected_shape(cells):
    """Of lists of lists: that of the first that has values."""
    return next((cell.shape for cell in cells if cell), ())


PIPELINE_TYPES = {"integers": ("int64", -3), "floats": ("float32", 0.5), "booleans": ("bool", 0)}


def pipeline_type(name, kind, rows, is_json):
    """The column that the pipeline has for convert's; None where it has no such column."""
    cells = [row[name] for row in rows if row and row.get(name) is not None]
    if is_json and not cells:
        return None  # null in some lines, and perhaps an object of other columns in the rest
    is_list = any(cell.is_list for cell in cells)
    if any(cell.is_list != is_list or cell.shape for cell in cells):
        return None
    if kind == "bytes":
        # JSON's numbers are no text there.
        if any(value.is_json and not value.is_text for cell in cells for value in cell):
            return None
        return {"name": name, "kind": "ragged_bytes" if is_list else "bytes", "default": [] if is_list else ""}
    dtype, default = PIPELINE_TYPES[kind]
    if is_list:
        return {"name": name, "kind": "ragged", "dtype": dtype, "default": []}
    return {"name": name, "dtype": dtype, "default": default}


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
    return names, [{name: Cells([Written(cell, False)]) if cell else None for name, cell in zip(names, row)}
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
            row[name] = Cells([Written(item, True) for item in leaves(value)], True, inner_shape(value))
        else:
            row[name] = None if value is None else Cells([Written(value, True)])


def leaves(values):
    for value in values:
        if isinstance(value, list):
            yield from leaves(value)
        elif value is None or (isinstance(value, tuple) and not isinstance(value, Number)):
            raise Twice
        else:
            yield value


def inner_shape(values):
    """Of a list of lists; () of a flat list."""
    shape = even_shape(values)
    return shape if len(shape) > 1 else ()


def even_shape(values):
    inner = {even_shape(value) if isinstance(value, list) else () for value in values}
    if len(inner) > 1:
        raise Twice
    return (len(values), *(inner.pop() if inner else ()))


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
        if any(value.number is not None and math.isinf(float(value.number)) for value in values or []):
            return None  # beyond float64
    return row
