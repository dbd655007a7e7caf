#!/usr/bin/env python3
"""Converts 10 GB and says how much memory that took.

    benchmarks/convert_memory.py [--infeed PROGRAM] [--gigabytes N] [--folder FOLDER] [KIND...]

KIND: npy (4 KiB rows), csv (text, about 100 bytes a row), csv-gz (the same, gzipped: read through a
decompressed copy in TMPDIR); all by default. Each conversion runs under a limit of 512 MB of private
memory (RLIMIT_DATA) and its peak resident size is measured. FOLDER (build/convert-memory) needs room
for two and a half times as much as is converted; everything is deleted afterwards. Exit status 1
when a conversion failed or used more than 512 MB.
"""

import argparse
import gzip
import os
import random
import resource
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_BYTES = 512 << 20
ROW_BYTES = 4096


def write_npy(path, total):
    """Rows of zeros that take no room on the disk; what is written of them does."""
    rows = total // ROW_BYTES
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, {ROW_BYTES}), }}"
    header = header.ljust(127 - 10) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.truncate(10 + len(header) + rows * ROW_BYTES)


def csv_block():
    rng = random.Random(1)
    rows = (f"{rng.randrange(10**9)},{rng.random():.6f},{rng.getrandbits(300):x}\n"
            for _ in range(200_000))
    return "".join(rows).encode()


def write_csv(path, total):
    block = csv_block()
    with open(path, "wb") as file:
        file.write(b"id,score,text\n")
        for _ in range(total // len(block)):
            file.write(block)


def write_csv_gz(path, total):
    block = csv_block()
    member = gzip.compress(block, 1)
    with open(path, "wb") as file:
        file.write(gzip.compress(b"id,score,text\n"))
        for _ in range(total // len(block)):
            file.write(member)


KINDS = {"npy": ("image.npy", write_npy), "csv": ("t.csv", write_csv),
         "csv-gz": ("t.csv.gz", write_csv_gz)}


def measure(program, kind, total, folder):
    """Returns exit status, seconds, peak resident bytes and bytes written."""
    name, write = KINDS[kind]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, name)
    write(path, total)
    command = [program, "convert", path, "-o", os.path.join(folder, "out"), "--shards", "64"]
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES)))
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    written = sum(entry.stat().st_size for entry in os.scandir(os.path.join(folder, "out"))
                  if entry.name.endswith(".tfrecord"))
    return os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss * 1024, written


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=list(KINDS))
    parser.add_argument("--infeed", default=os.path.join(ROOT, "build/release/tools/infeed"))
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/convert-memory"))
    options = parser.parse_args()
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown kinds: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    missed = False
    try:
        for kind in options.kinds:
            status, seconds, peak, written = measure(
                options.infeed, kind, int(options.gigabytes * 1e9), options.folder)
            is_good = status == 0 and peak <= LIMIT_BYTES
            missed |= not is_good
            print(f"{kind:<7} {written / 1e9:6.2f} GB written in {seconds:6.1f} s, every shard synced; "
                  f"peak memory {peak / 1e6:6.1f} MB  "
                  + ("met" if is_good else f"MISSED (status {status})"), flush=True)
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
