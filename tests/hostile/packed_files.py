"""Compressed files, sets, names and lists of classes that claim much, have little, or lie."""

import pathlib
import struct
import subprocess

MEBIBYTE = 1 << 20


def packed(program, data):
    return subprocess.run([*program.split(), "-qc"], input=data, check=True,
                          capture_output=True).stdout


def skippable(content, size=None):
    return struct.pack("<II", 0x184D2A50, len(content) if size is None else size) + content


def seek_table(entries):
    """Of the seekable format, from pairs of sizes: compressed, decompressed."""
    table = b"".join(struct.pack("<II", *entry) for entry in entries)
    content = table + struct.pack("<IBI", len(entries), 0, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(content)) + content


def compressed_files():
    """Names with what is in them."""
    rows = b"a,b\n" + b"1,2\n" * 1000
    for program, ending in (("zstd", ".zst"), ("lz4", ".lz4")):
        yield "one_line.csv" + ending, packed(program, b"a,b\n" + b"x" * (256 * MEBIBYTE))
        yield "zeros.tar" + ending, packed(program, b"\0" * (256 * MEBIBYTE))
        yield "frames.csv" + ending, packed(program, rows) + packed(program, b"") * 200_000
        yield "skips.csv" + ending, skippable(b"") * 500_000 + packed(program, rows)
        yield "skip.csv" + ending, packed(program, rows) + skippable(b"x", 0xFFFFFFFF)
        yield "cut.jsonl" + ending, packed(program, b'{"a": 1}\n' * 1000)[:-1]
    # A window of 2^41 bytes; a frame that claims 2^60 bytes.
    yield "window.csv.zst", b"\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00"
    yield "claims.csv.zst", b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60) + b"\x01\x00\x00"
    frame = packed("zstd", rows)
    for name, entries in {"right": [(len(frame), len(rows))], "long": [(len(frame), 0xFFFFFFFF)],
                          "wraps": [(0xFFFFFFFF, 1)] * 1000, "many": [(0, 0)] * 500_000}.items():
        yield f"seek-{name}.csv.zst", frame + seek_table(entries)


def tables():
    """Columns that change their mind behind the sample, and numbers that fit no type."""
    yield "late.csv", "id,x\n" + "1,\n" * 20_000 + "2,half\n"
    yield "late.jsonl", '{"a": 1}\n' * 20_000 + '{"a": "half", "b": [[1], [2]]}\n'
    yield "ids.csv", "id\n\n" + "9007199254740993\n18446744073709551615\n1e400\n"
    yield "sep.csv", "sep=;\n" + "sep=,\n" * 1000


def classes_of(folder):
    """A folder of classes, and lists of classes that take long to compare or to print."""
    root = pathlib.Path(folder, "classes")
    for name in ("a", "e\u0301", "\u00e9", "\x1b]0;owned\x07"):
        (root / name).mkdir(parents=True)
        (root / name / "1.png").write_text("1")
    # Accents are put in order by comparing neighbours.
    accents = {"accents": ["a" + "\u0323\u0302" * 200_000], "many": [f"n{i}" for i in range(100_000)],
               "control": ["\x1b]0;owned\x07"], "same": ["a", "a"]}
    for name, classes in accents.items():
        file = pathlib.Path(folder, f"classes-{name}.txt")
        file.write_text("\n".join(classes) + "\n", encoding="utf-8")
        yield str(root), str(file)


def names(folder):
    """Patterns that stand for more than anybody has."""
    here = str(folder)
    yield here + "/x-{00000..99999999}-of-99999999"
    yield here + "/" + "{a,b}" * 40
    yield here + "/" + "{a,{b,{c,{d," * 1000
    yield here + "/" + "{a," * 10_000
    yield here + "/" + "**/" * 5000 + "x"
    yield here + "/" + "**/*/" * 40 + "**/x"
    yield here + "/" + "*a" * 60 + "b"
    yield here + "/[" + "a-" * 10_000
    yield here + "/" + "\\" * 9_999
    yield here + "/" + "x" * 100_000
