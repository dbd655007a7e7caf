#!/usr/bin/env python3
"""Drawn tables: infeed convert reads the texts that Python's csv module reads. Those that are written as
RFC 4180 has it are read; of others it may also say that they are wrong."""

import argparse
import csv
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

PIECES = ["a", "b c", "1", "-0.5", "é", "日本", " ", "\t", "'", "\\", "x" * 70, ";", ",", "|", '"', '""',
          "\n", "\r\n", "\r", "\n\n", "", "#", "NA"]
# Python ends a row at a CR alone, and convert refuses it: both are never to read other rows.
DAMAGES = ['"', '""', ",", "\n", "\r\n", "\r", 'a"b', '"a"b', " ", "\x00"]


def drawn_table(draw):
    """Rows with the header first, and the delimiter."""
    width = draw.randint(1, 5)
    rows = [[f"c{i}" for i in range(width)]]
    for _ in range(draw.randint(1, 12)):
        rows.append(["".join(draw.choices(PIECES, k=draw.randint(0, 3))) for _ in range(width)])
    return rows, draw.choice(",,,;|\t")


def written(draw, rows, delimiter):
    """Quotes where they are needed and sometimes where not, each end of line by itself, empty lines."""
    text = []
    for row in rows:
        cells = []
        for cell in row:
            is_needed = any(c in cell for c in ('"', "\n", "\r", delimiter))
            # A row of one empty cell would be an empty line, which is no row.
            is_needed |= len(row) == 1 and not cell
            quoted = '"' + cell.replace('"', '""') + '"'
            cells.append(quoted if is_needed or draw.random() < 0.2 else cell)
        text.append(delimiter.join(cells) + draw.choice(["\n", "\n", "\r\n"]))
        if draw.random() < 0.1:
            text.append(draw.choice(["\n", "\r\n"]))
    if draw.random() < 0.3:
        text[-1] = text[-1].rstrip("\r\n")
    return "".join(text)


def read_by_python(text, delimiter):
    """Rows with the header first; None where it says that they are wrong, or not of one width."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter,
                                          strict=True) if row]
    except csv.Error:
        return None
    return rows if rows and all(len(row) == len(rows[0]) for row in rows) else None


def fields(message):
    """(number, bytes) of a protobuf message of length-delimited fields."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        number = varint() >> 3
        size = varint()
        yield number, message[at:at + size]
        at += size


def examples(folder):
    """Each a dictionary of lists of bytes."""
    for path in sorted(pathlib.Path(folder).glob("*.tfrecord")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            size, = struct.unpack_from("<Q", data, at)
            example = {}
            for _, features in fields(data[at + 12:at + 12 + size]):
                for _, entry in fields(features):
                    parts = dict(fields(entry))
                    kinds = list(fields(parts.get(2, b"")))
                    example[parts[1].decode()] = [value for _, values in kinds
                                                  for _, value in fields(values)]
            yield example
            at += size + 16


def read_by_infeed(infeed, folder, text, delimiter, names):
    """Rows with the header first, or None; and what it said."""
    table, schema, output = (pathlib.Path(folder, name) for name in ("t.csv", "s.json", "out"))
    table.write_bytes(text.encode())
    schema.write_text(json.dumps({"columns": {name: "bytes" for name in names}}), encoding="utf-8")
    done = subprocess.run(
        [infeed, "convert", str(table), "--kind", "csv", "--schema", str(schema), "--delimiter",
         "tab" if delimiter == "\t" else delimiter, "--output", str(output), "--overwrite",
         "--shards", "1", "--threads", "1", "--no-sync"],
        capture_output=True, check=False, timeout=60)
    said = done.stdout + done.stderr
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit status {done.returncode}: {said!r}")
    if done.returncode:
        return None, said
    return [names] + [[b"".join(example.get(name, [])).decode() for name in names]
                      for example in examples(output)], said


def judge(infeed, folder, draw):
    """Whether it was read, and what is wrong, or nothing."""
    rows, delimiter = drawn_table(draw)
    text = written(draw, rows, delimiter)
    is_damaged = draw.random() < 0.4
    if is_damaged:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(DAMAGES) + text[at + draw.randint(0, 2):]
        text = text.replace("\r\n", "\n").replace("\n", draw.choice(["\n", "\r\n"]))
    theirs = read_by_python(text, delimiter)
    names = theirs[0] if theirs else rows[0]
    ours, said = read_by_infeed(infeed, folder, text, delimiter, names)
    if not is_damaged and theirs != rows:
        return False, f"Python itself read {theirs} of {text!r}"
    if ours is None:
        is_clear = said.strip() and b"nternal error" not in said
        return False, "" if is_damaged and is_clear else f"{text!r} was refused: {said!r}"
    if theirs is not None and ours != theirs:
        return True, f"{text!r}\n  infeed: {ours}\n  Python: {theirs}"
    if theirs is None and not is_damaged:
        return True, f"{text!r} was read, but Python refuses it"
    return True, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--infeed", required=True, help="the program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", type=int, default=400)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    read = bad = 0
    with tempfile.TemporaryDirectory(prefix="infeed-csv-") as folder:
        for _ in range(arguments.tables):
            was_read, wrong = judge(arguments.infeed, folder, draw)
            read += was_read
            if wrong:
                bad += 1
                print(wrong, flush=True)
    print(f"{arguments.tables} tables, {read} of them read, {bad} differ (seed {arguments.seed})")
    return 1 if bad or read < arguments.tables / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
