#!/usr/bin/env python3
"""Converts with one rank of mpirun and with two, by turns, and says how many times as fast two are.

    benchmarks/convert_ranks.py [--infeed PROGRAM] [--ranks N] [--seconds S] [--repeats N] [--folder FOLDER] [KIND...]

KIND: csv (a table into plain shards), gzip (the same table into shards that are compressed), png (a folder of images);
all by default. Each rank has one thread. The input is made so large that one rank takes S seconds or more (15). A time
is that of the whole command, mpirun's start included; the median of N runs (3) counts. Beside it stands what the machine
allows: as many processes at once, each of which converts the whole input into a folder of its own; cores that share
caches or memory make each of them slower than one alone. FOLDER (build/convert-ranks) needs room for some GB; everything
is deleted afterwards. Needs as many free cores as ranks. Exit status 1 if two ranks are less than 1.8 times as fast.
"""

import argparse
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAR = 1.8
SHARDS = 48


def write_table(folder, rows):
    name = os.path.join(folder, "table.csv")
    chance = random.Random(1)
    block = [f"{chance.randrange(10**9)},{chance.random():.6f},{chance.getrandbits(200):x}\n"
             for _ in range(100_000)]
    with open(name, "w", encoding="ascii") as file:
        file.write("id,score,text\n")
        for begin in range(0, rows, len(block)):
            file.writelines(block[:rows - begin])
    return name


def write_images(folder, count, side=64, noise_bits=8):
    """PNGs of random pixels. With fewer bits of noise a picture is small and takes long to decode, as photographs do."""
    name = os.path.join(folder, "photos")
    chance = random.Random(1)
    noise = bytes(value % (1 << noise_bits) for value in range(256))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for i in range(count):
        if i % 1000 == 0:
            inner = os.path.join(name, f"class{i // 1000 % 10}")
            os.makedirs(inner, exist_ok=True)
        pixels = b"".join(b"\0" + chance.randbytes(3 * side).translate(noise) for _ in range(side))
        with open(os.path.join(inner, f"{i}.png"), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
                       + chunk(b"IDAT", zlib.compress(pixels, 1)) + chunk(b"IEND", b""))
    return name


# How an input of some size is made, the options, and the size to begin with.
KINDS = {"csv": (write_table, [], 1_000_000),
         "gzip": (write_table, ["--compression", "gzip"], 500_000),
         "png": (write_images, ["--seed", "1"], 20_000)}


def seconds_of(options, source, more, ranks=1, jobs=1):
    """The time of so many conversions at once, each by so many ranks."""
    outputs = [os.path.join(options.folder, f"out{job}") for job in range(jobs)]
    for out in outputs:
        shutil.rmtree(out, ignore_errors=True)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    binding = ["--bind-to", "none"] if jobs > 1 else []
    os.sync()
    begin = time.monotonic()
    running = [subprocess.Popen(
        ["mpirun", *binding, "-n", str(ranks), options.infeed, "convert", source, "-o", out, "--shards", str(SHARDS),
         "--threads", "1", *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for out in outputs]
    said = [job.communicate()[0] for job in running]
    taken = time.monotonic() - begin
    for job, text in zip(running, said):
        if job.returncode != 0:
            sys.exit(f"{ranks} ranks ended with status {job.returncode}:\n{text}")
    for out in outputs:
        shutil.rmtree(out)
    return taken


def measure(options, kind):
    """Prints a line; returns the ratio."""
    write, more, size = KINDS[kind]
    while True:
        source = write(options.folder, size)
        taken = seconds_of(options, source, more)
        if taken >= options.seconds:
            break
        size = int(size * min(10, options.seconds * 1.15 / taken)) + 1
    one, several, apart = [], [], []
    for _ in range(options.repeats):
        one.append(seconds_of(options, source, more))
        several.append(seconds_of(options, source, more, ranks=options.ranks))
        apart.append(seconds_of(options, source, more, jobs=options.ranks))

    def described(times):
        return f"{statistics.median(times):6.2f} s ({min(times):.2f} to {max(times):.2f})"
    ratio = statistics.median(one) / statistics.median(several)
    allowed = options.ranks * statistics.median(one) / statistics.median(apart)
    print(f"{kind:5} {size:11,} examples: one rank {described(one)}, {options.ranks} ranks {described(several)}: "
          f"{ratio:.2f} times as fast (bar {BAR}); {options.ranks} jobs at once {described(apart)}: the machine allows "
          f"{allowed:.2f}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--infeed", default=os.path.join(ROOT, "build/release/tools/infeed"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/convert-ranks"))
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    options = parser.parse_args()
    kinds = options.kinds or list(KINDS)
    for kind in kinds:
        if kind not in KINDS:
            parser.error(f"there is no kind '{kind}', but {', '.join(KINDS)}")
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    try:
        ratios = [measure(options, kind) for kind in kinds]
    finally:
        shutil.rmtree(options.folder)
    return 0 if min(ratios) >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
