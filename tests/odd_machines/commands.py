#!/usr/bin/env python3
"""Runs the commands where a machine is odd in its files or its memory: names in any bytes, a file beyond
4 GiB, many small files, disks that are full or may only be read, little memory."""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent.parent / "hostile"))
from binary_files import crc32c, masked, png, record, write  # noqa: E402

SECONDS_MAX = 600  # by the clock, of one command: a machine with other work may take its time


class Machine:
    """A folder with the machine's oddity, and what went wrong there."""

    def __init__(self, infeed, folder, is_short):
        self.infeed = infeed
        self.folder = pathlib.Path(folder)
        self.is_short = is_short
        self.commands = 0
        self.faults = []

    def run(self, *words, status=0, says=(), limits=(), environment=None):
        """Runs a command, which has to end with that status and say one of these texts. Returns what it
        wrote with --json, if anything."""
        found = self.folder / "found.json"
        found.unlink(missing_ok=True)
        words = [os.fsencode(found) if word == "FOUND" else os.fsencode(word) for word in words]
        try:
            done = subprocess.run([*limits, self.infeed, *words], capture_output=True, check=False,
                                  timeout=SECONDS_MAX, stdin=subprocess.DEVNULL,
                                  env={**os.environ, **(environment or {})})
            ended, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            ended, said = None, b"it hung"
        self.commands += 1
        statuses = (status,) if isinstance(status, int) else status
        what = b" ".join(words)[:200].decode(errors="backslashreplace")
        if ended not in statuses:
            self.blame(f"{what}: ended with {ended} instead of {statuses}: {said[-400:]!r}")
        elif says and ended != 0 and not any(text.encode() in said for text in says):
            self.blame(f"{what}: says none of {says}: {said[-400:]!r}")
        elif any(byte < 0x20 and byte not in b"\n\r\t" for byte in said):
            self.blame(f"{what}: control characters reach the terminal: {said[-400:]!r}")
        return json.loads(found.read_bytes()) if found.exists() and ended == 0 else None

    def blame(self, fault):
        self.faults.append(fault)

    def expect(self, what, found, wanted):
        if found != wanted:
            self.blame(f"{what} is {found!r} instead of {wanted!r}")

    def converted(self, *words, **options):
        """The number of examples that a conversion says it wrote."""
        found = self.run("convert", *words, "--json", "FOUND", **options)
        return sum(one["examples"] for one in found["sets"]) if found else None


def byte_names():
    """File names with each byte that may be in one, and some that programs stumble over."""
    for byte in range(1, 256):
        if byte != ord("/"):
            yield b"n" + bytes([byte])
        if byte not in b"./":  # a pattern passes over hidden names
            yield bytes([byte]) + b"m"
    yield from (b"-o", b"--help", b" ", b"~", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
                b"\xe2\x80\xae", b"%s%n", b"$(id)", b"{a,b}", b"x" * 230)


def names(machine):
    """File names in any bytes."""
    root = os.fsencode(machine.folder)
    for kind, ending, content in (("files", b".bin", b"x"), ("images", b".png", png(1, 1)),
                                  ("records", b".tfrecord", record(b"abc"))):
        folder = os.path.join(root, kind.encode(), b"class\xff\n")
        os.makedirs(folder)
        files = sorted({os.path.join(folder, name + ending) for name in byte_names()})
        for file in files:
            pathlib.Path(os.fsdecode(file)).write_bytes(content)
        out = machine.folder / f"out-{kind}"
        what = os.path.join(root, b"images") if kind == "images" else folder + b"/*"
        more = ("--trust-images",) if kind == "images" else ()
        machine.expect(f"examples of {kind}",
                       machine.converted("--kind", kind, what, "-o", out, "--no-sync", *more), len(files))
        machine.run("verify", out)
    machine.run("index", folder)
    machine.run("inspect", folder, "--json", "FOUND")
    machine.run("verify", folder + b"/*.tfrecord")
    for name in (b"n\xff", b"n\n", b"n[", b"n*", b"\x1bm", b" "):
        machine.run("inspect", os.path.join(folder, name + ending))
        machine.run("repair", os.path.join(folder, name + ending), "-o",
                    os.path.join(root, b"saved-" + name + ending))


def large(machine):
    """A file of 5 GB, most of which takes nothing on the disk."""
    payload_bytes, records = 1 << 20, 5 << 10
    length = struct.pack("<Q", payload_bytes)
    header = length + struct.pack("<I", masked(crc32c(length)))
    footer = struct.pack("<I", masked(crc32c(bytes(payload_bytes))))
    file = machine.folder / "large.tfrecord"
    with open(file, "wb") as large_file:
        for i in range(records):
            large_file.seek(i * (payload_bytes + 16))
            large_file.write(header)
            large_file.seek(payload_bytes, os.SEEK_CUR)
            large_file.write(footer)
        large_file.write(record(b"the last"))
    machine.expect("bytes on the disk below 100 MB", file.stat().st_blocks * 512 < 100e6, True)
    machine.run("index", file)
    machine.run("index", "--dali", file)
    last = (machine.folder / "large.tfrecord.idx").read_text(encoding="ascii").split("\n")[-2]
    machine.expect("the last record's place", last, f"{records * (payload_bytes + 16)} 24")
    found = machine.run("inspect", file, "--first", str(records), "--show", "1", "--records",
                        str(records + 1), "--json", "FOUND")
    machine.expect("inspect finds records", found is not None, True)
    if machine.is_short:
        return
    machine.run("verify", file)
    machine.expect("records of a conversion", machine.converted(
        "--kind", "records", file, "-o", machine.folder / "out", "--compression", "lz4", "--no-sync"),
        records + 1)
    machine.run("verify", machine.folder / "out")


def many(machine):
    """Many small files, more than a program may have open."""
    count = 5_000 if machine.is_short else 1_000_000
    few = ("prlimit", "--nofile=128")
    folder = machine.folder / "many"
    folder.mkdir()
    for i in range(count):
        (folder / f"{i:07}.csv").write_bytes(b"a,b\n%d,x\n" % i)
    pattern = folder / "*.csv"
    for kind, seed in (("files", ()), ("csv", ("--seed", "1"))):
        out = machine.folder / f"out-{kind}"
        machine.expect(f"examples of {kind}", machine.converted(
            "--kind", kind, pattern, "-o", out, "--no-sync", *seed, limits=few), count)
        machine.run("verify", out, limits=few)
    peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    machine.expect(f"memory below 100 MB and 3 KB a file: {peak_bytes >> 20} MiB",
                   peak_bytes < 100_000_000 + 3_000 * count, True)


def written_by(machine, place):
    """Commands that write into a folder, or a file in it."""
    data = machine.folder / "data"
    table, shard = machine.folder / "table.csv", data / "data-00000-of-00001.tfrecord"
    pipeline = machine.folder / "pipeline.json"
    yield "convert", table, "-o", place / "shards"
    yield "convert", table, "-o", place / "packed", "--compression", "gzip", "--shards", "3"
    yield "reshard", data, "-o", place / "again", "--shards", "2"
    yield "repair", shard, "-o", place / "saved.tfrecord"
    yield "inspect", shard, "--json", place / "inspected.json"
    yield "verify", data, "--json", place / "verified.json"
    yield "batch", "--pipeline", pipeline, "--step", "0", "--json", place / "batch.json"
    yield "pace", "--seconds", "0.05", "--json", place / "paced.json"
    yield "pace", "--seconds", "0.05", "--service-times", place / "times.txt"
    yield "profile", place / "run.profile", "--pipeline", pipeline, "--seconds", "0.1"
    yield "index", place / "here.tfrecord"
    yield "index", "--dali", place / "here.tfrecord"


@contextlib.contextmanager
def disk(folder, options):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def disks(machine):
    """Disks that are full, and such as may only be read."""
    write(machine.folder, "table.csv", "a,b\n" + "1,some text\n" * 5_000)
    machine.run("convert", machine.folder / "table.csv", "-o", machine.folder / "data")
    shard = (machine.folder / "data" / "data-00000-of-00001.tfrecord").read_bytes()
    write(machine.folder, "pipeline.json", json.dumps({"stages": [
        {"stage": "records", "files": str(machine.folder / "data" / "*.tfrecord")},
        {"stage": "batch", "size": 10}]}))
    with disk(machine.folder / "full", "size=1m") as place:
        write(place, "here.tfrecord", shard)
        with open(place / "fill", "wb", buffering=0) as fill, contextlib.suppress(OSError):
            while True:
                fill.write(bytes(4096))
        before = sorted(place.iterdir())
        for command in written_by(machine, place):
            machine.run(*command, status=1, says=("disk is full", "No space left"))
        left = [file.name for file in place.rglob("*") if file not in before and file.is_file()
                and file.stat().st_size]
        machine.expect("what is left on the full disk", left, [])
        machine.run("verify", place / "here.tfrecord")
    with disk(machine.folder / "read-only", "size=4m") as place:
        write(place, "here.tfrecord", shard)
        shutil.copytree(machine.folder / "data", place / "data")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        for command in written_by(machine, place):
            machine.run(*command, status=1, says=("ead-only",))
        machine.run("verify", place / "data")
        machine.run("inspect", place / "data")
        machine.run("inspect", place / "here.tfrecord")
        machine.expect("examples from a disk that may only be read", machine.converted(
            "--kind", "records", place / "here.tfrecord", "-o", machine.folder / "copied"), 5_000)


def memory(machine):
    """32 MB for all that a process has for itself."""
    limits = ("prlimit", "--data=33554432", "--stack=1048576")
    write(machine.folder, "table.csv", "a,b\n" + "1,some text\n" * 100_000)
    out = machine.folder / "out"
    few = ("--threads", "1")
    machine.expect("examples in 32 MB", machine.converted(
        machine.folder / "table.csv", "-o", out, "--no-sync", *few, limits=limits), 100_000)
    shard = out / "data-00000-of-00001.tfrecord"
    machine.run("verify", out, *few, limits=limits)
    machine.run("inspect", shard, limits=limits)
    machine.run("index", shard, *few, limits=limits)
    # A record that doesn't fit: a clear end, no crash.
    write(machine.folder, "large.tfrecord", record(bytes(100_000)))
    with open(machine.folder / "huge.tfrecord", "wb") as huge:
        length = struct.pack("<Q", 1 << 26)
        huge.write(length + struct.pack("<I", masked(crc32c(length))))
        huge.truncate((1 << 26) + 16)
    write(machine.folder, "wide.csv", "a\n" + "x" * (40 << 20) + "\n")
    for command in (("inspect", machine.folder / "huge.tfrecord"),
                    ("convert", machine.folder / "huge.tfrecord", "-o", machine.folder / "out-huge", *few),
                    ("convert", machine.folder / "wide.csv", "-o", machine.folder / "out-wide", *few)):
        machine.run(*command, limits=limits, status=1, says=("memory", "damage", "limit", "bytes"))


MACHINES = {"names": names, "large": large, "many": many, "disks": disks, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machines", nargs="*", metavar="MACHINE", default=[],
                        help=f"{', '.join(MACHINES)}; by default all")
    parser.add_argument("--infeed", required=True, help="the program")
    parser.add_argument("--short", action="store_true", help="5,000 files instead of a million, and less of 5 GB")
    arguments = parser.parse_args()
    if unknown := set(arguments.machines) - set(MACHINES):
        parser.error(f"unknown machine {', '.join(sorted(unknown))}: there are {', '.join(MACHINES)}")
    commands = bad = 0
    for name in arguments.machines or MACHINES:
        if name == "disks" and os.geteuid() != 0:
            print("disks: only root can mount them; nothing was tested")
            continue
        with tempfile.TemporaryDirectory(prefix="infeed-odd-") as folder:
            machine = Machine(arguments.infeed, folder, arguments.short)
            MACHINES[name](machine)
        for fault in machine.faults:
            print(f"{name}: {fault}")
        commands += machine.commands
        bad += len(machine.faults)
    print(f"{commands} commands on odd machines, {bad} faults")
    return 1 if bad or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
