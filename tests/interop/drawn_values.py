"""Random CSV, TSV and JSON-lines files, full of what converters trip over."""

import json
import random

NUMBERS_ODD = ["+5", " 7 ", "-0", "-0.0", "0x10", "1_000", "1,5", "5.", ".5", "-.5e-3", "1E5", "1e+2",
               "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e39", "-1e39", "3.4028235e38",
               "3.4028236e38", "1e300", "1e400", "-1e400", "1e-46", "1e-50", "1e-400", "1e-40",
               "16777216", "16777217", "-16777217", "33554433", "0.1", "1700000000.5",
               "3.141592653589793", "52.5200066", "123456789012345678901234567890",
               "0.50000000000000000001"]
INTEGERS_WIDE = ["9223372036854775807", "9223372036854775808", "-9223372036854775808",
                 "-9223372036854775809", "18446744073709551615", "18446744073709551616",
                 "10499958131665514997"]
CODES = ["007", "00812", "-01", "00.5", "0123456789012345678901"]
TEXTS = ["a", "N/A", "null", "None", "true", "False", "x y", " ", "  lead", "trail  ", "#", "\\", "\\n",
         "'single'", "Straße", "日本語", "🙂", "é", "\u2028", "2026-11-22", "1/2", "a;b", "a|b",
         "5 apples", "nan(1)", "--5", "+-5", "e5", ".", "-", "+"]
TEXTS_QUOTED = ["a,b", "say \"hi\"", "\"", "\"\"", "two\nlines", "two\r\nlines", "\n", "a\tb", ",", ""]
NOT_UTF8 = ["\udcff", "caf\udce9"]  # bytes 0xff and 0xe9, as Python's surrogateescape has them
LINE_BREAKS = ["\n", "\n", "\r\n"]


def draw_integer(draw):
    return str(draw.choice([-1, 1, 1]) * draw.getrandbits(draw.choice([1, 4, 10, 24, 26, 40, 62])))


def draw_decimal(draw):
    value = draw.choice([draw.random(), draw.gauss(0, 1e4), draw.gauss(0, 1) * 10.0 ** draw.randrange(-44, 38)])
    return draw.choice([repr(value), f"{value:.3f}", f"{value:.7g}", f"{value:e}"])


def draw_text(draw):
    if draw.random() < 0.8:
        return draw.choice(TEXTS)
    return "".join(chr(draw.choice([draw.randrange(0x20, 0x7f), draw.randrange(0xa1, 0x2000)]))
                   for _ in range(draw.randrange(1, 12)))


PROFILES = {
    "integers": [(1, draw_integer)],
    "decimals": [(1, draw_decimal)],
    "numbers": [(2, draw_integer), (2, draw_decimal), (1, lambda draw: draw.choice(NUMBERS_ODD))],
    "odd": [(1, lambda draw: draw.choice(NUMBERS_ODD))],
    "ids": [(3, draw_integer), (1, lambda draw: draw.choice(INTEGERS_WIDE))],
    "codes": [(3, draw_integer), (1, lambda draw: draw.choice(CODES))],
    "flags": [(1, lambda draw: draw.choice(["true", "false", "True", "FALSE"]))],
    "almost flags": [(30, lambda draw: draw.choice(["true", "false"])), (1, draw_text), (1, lambda draw: "1")],
    "almost": [(30, draw_integer), (1, draw_text), (1, lambda draw: draw.choice(NUMBERS_ODD))],
    "texts": [(1, draw_text)],
    "all": [(1, draw_integer), (1, draw_decimal), (1, draw_text), (1, lambda draw: draw.choice(NUMBERS_ODD)),
            (1, lambda draw: draw.choice(INTEGERS_WIDE + CODES))],
    "empty": [(1, lambda draw: "")],
}


def draw_cells(draw, count):
    """A column's cells of one profile, some of them empty."""
    kinds = PROFILES[draw.choice(list(PROFILES))]
    weights, makers = zip(*kinds)
    empty_share = draw.choice([0, 0, 0.1, 0.5])
    return ["" if draw.random() < empty_share else draw.choices(makers, weights)[0](draw)
            for _ in range(count)]


class Table:
    """A drawn CSV or TSV file."""

    def __init__(self, draw, kind):
        self.kind = kind
        self.delimiter = "\t" if kind == "tsv" else draw.choice([",", ",", ",", ";", "|", "\t"])
        self.has_quotes = kind == "csv"
        count = draw.choice([1, 2, 3, 5])
        self.columns = [f"c{i} {draw_text(draw).strip()}" for i in range(count)]
        rows = draw.choice([0, 1, 2, 3, 10, 30, 80])
        self.cells = [draw_cells(draw, rows) for _ in self.columns]
        self._add_hard_cells(draw)
        self.line_break = draw.choice(LINE_BREAKS)
        self.text = self._write(draw)

    def arguments(self):
        usual = "," if self.kind == "csv" else "\t"
        return [] if self.delimiter == usual else ["--delimiter", self.delimiter]

    def bytes(self):
        return self.text.encode("utf-8", "surrogateescape")

    def bytes_of_rows(self, rows):
        """A file of some of the rows, which count from 0."""
        lines = [self.lines[0], *(self.lines[1 + row] for row in rows)]
        return (self.line_break.join(lines) + self.line_break).encode("utf-8", "surrogateescape")

    def _add_hard_cells(self, draw):
        for cells in self.cells:
            for row in range(len(cells)):
                if self.has_quotes and draw.random() < 0.02:
                    cells[row] = draw.choice(TEXTS_QUOTED)
                elif draw.random() < 0.003:
                    cells[row] = draw.choice(NOT_UTF8)
                if len(self.columns) == 1 and not cells[row].strip():
                    cells[row] = "x"  # a blank line is no row, for anybody
        if not self.has_quotes:
            self.columns = [name.replace("\t", " ") for name in self.columns]

    def _field(self, draw, text, is_first):
        must = any(c in text for c in (self.delimiter, "\n", "\r")) or text.startswith('"')
        # Blanks in quotes are text where the kind of a column is guessed, and pandas doesn't tell of quotes.
        may = draw.random() < 0.05 and text.strip(" \t") != ""
        if self.has_quotes and (must or may or (is_first and text.startswith("\ufeff"))):
            return '"' + text.replace('"', '""') + '"'
        return text

    def _write(self, draw):
        rows = [self.columns, *zip(*self.cells)]
        self.lines = []  # as they are written; the header first
        text = "\ufeff" if draw.random() < 0.1 else ""
        for number, row in enumerate(rows):
            fields = [self._field(draw, cell, i == 0) for i, cell in enumerate(row)]
            is_last = number == len(rows) - 1
            self.lines.append(self.delimiter.join(fields))
            text += self.lines[-1]
            text += "" if is_last and draw.random() < 0.2 else self.line_break
            if draw.random() < 0.02:
                text += self.line_break
        return text


def draw_json_number(draw):
    wide = draw.choice(INTEGERS_WIDE)
    odd = draw.choice([n for n in NUMBERS_ODD if is_json_number(n)])
    return draw.choice([draw_integer(draw), draw_integer(draw), draw_decimal(draw), odd, wide])


def is_json_number(text):
    try:
        return isinstance(json.loads(text, parse_constant=lambda name: name), (int, float)) and text.strip() == text
    except ValueError:
        return False


def draw_json_string(draw):
    text = draw.choice([draw_text(draw), draw.choice(TEXTS_QUOTED), draw.choice(NUMBERS_ODD)])
    return json.dumps(text, ensure_ascii=draw.random() < 0.5)


def draw_json_value(draw, profile):
    """One value as it is written."""
    if draw.random() < 0.05:
        return "null"
    if profile == "nested":
        inner = ", ".join(f'"{key}": {draw_json_value(draw, draw.choice(["integers", "any"]))}'
                          for key in draw.sample(["x", "y", "z"], draw.randrange(3)))
        return "{" + inner + "}"
    if profile == "lists":
        return "[" + ", ".join(draw_integer(draw) for _ in range(draw.randrange(4))) + "]"
    if profile == "matrices":
        return f"[[{draw_decimal(draw)}, {draw_integer(draw)}], [{draw_integer(draw)}, {draw_integer(draw)}]]"
    if profile == "deep":
        return "[" + ", ".join(f"[{draw_decimal(draw)}, {draw_integer(draw)}]" for _ in range(draw.randrange(3))) + "]"
    if profile == "flags":
        return draw.choice(["true", "false"])
    if profile == "integers":
        return draw_integer(draw)
    if profile == "ids":
        return draw.choice([draw_integer(draw), draw_integer(draw), draw.choice(INTEGERS_WIDE)])
    if profile == "almost":
        return draw_json_string(draw) if draw.random() < 0.04 else draw_integer(draw)
    if profile == "booleans":
        return draw.choice(["true", "false", "1", "0"])
    if profile == "texts":
        return draw_json_string(draw)
    if profile == "nulls":
        return "null"
    if profile == "numbers":
        return draw_json_number(draw)
    return draw.choice([draw_json_number(draw), draw_json_string(draw), "true", "[]", "[1, \"a\"]",
                        "[null]", "[{}]", "[[1], 2]", "NaN" if draw.random() < 0.2 else "0.5"])


JSON_PROFILES = ["nested", "lists", "deep", "matrices", "flags", "integers", "ids", "almost", "booleans", "texts", "nulls",
                 "numbers", "numbers", "any"]


class JsonLines:
    """A drawn file of JSON lines."""

    kind = "jsonl"

    def __init__(self, draw):
        keys = [f"k{i}{draw.choice(['', '', '.x', ' ü'])}" for i in range(draw.choice([1, 2, 4]))]
        profiles = {key: draw.choice(JSON_PROFILES) for key in keys}
        self.lines = []
        for _ in range(draw.choice([1, 2, 3, 10, 30, 80])):
            present = [key for key in keys if draw.random() < 0.9]
            if present and draw.random() < 0.005:
                present.append(present[0])
            pairs = [f"{json.dumps(key)}: {draw_json_value(draw, profiles[key])}" for key in present]
            self.lines.append("{" + ", ".join(pairs) + "}")
        line_break = draw.choice(LINE_BREAKS)
        self.text = "\ufeff" if draw.random() < 0.05 else ""
        for line in self.lines:
            self.text += line + line_break + (line_break if draw.random() < 0.02 else "")

    def arguments(self):
        return []

    def bytes(self):
        return self.text.encode("utf-8", "surrogateescape")

    def bytes_of_rows(self, rows):
        """A file of some of the rows, which count from 0."""
        return "".join(self.lines[row] + "\n" for row in rows).encode("utf-8", "surrogateescape")


def draw_file(seed):
    """The same file for the same seed."""
    draw = random.Random(seed)
    kind = draw.choice(["csv", "csv", "tsv", "jsonl"])
    return JsonLines(draw) if kind == "jsonl" else Table(draw, kind)
