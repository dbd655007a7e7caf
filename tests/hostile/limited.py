"""Commands where files, threads and memory are few, where nobody can hear them, and where pipes lie in the
place of files."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess

from binary_files import crc32c, record, write


def pipe_commands(infeed, program, folder):
    """Pipes that nobody writes to, in the place of files that are looked for beside the data."""
    root = pathlib.Path(folder, "pipes")
    table = write(root, "good.csv", "a\n1\n")
    good = root / "good"
    subprocess.run([infeed, "convert", table, "--output", str(good)], check=True,
                   capture_output=True)

    def with_pipe(name, of=good):
        copy = root / f"pipe-{name}"
        if of.exists():
            shutil.copytree(of, copy)
        copy.mkdir(exist_ok=True)
        (copy / name).unlink(missing_ok=True)
        os.mkfifo(copy / name)
        return str(copy)

    shard = "data-00000-of-00001.tfrecord"
    for name in ("data.manifest.json", f"{shard}.index"):
        with_pipe(name)
        yield [infeed, "verify", str(root / f"pipe-{name}")], 1
        yield [infeed, "inspect", str(root / f"pipe-{name}")], None
        yield [infeed, "inspect", str(root / f"pipe-{name}" / shard)], None
        yield [infeed, "convert", table, "--output", str(root / f"pipe-{name}")], 1
    yield [infeed, "index", str(root / f"pipe-{shard}.index" / shard)], 1
    yield [infeed, "verify", with_pipe(shard)], 1
    yield [infeed, "convert", table, "--output", with_pipe(".data.plan.json", root / "none")], 1
    yield [infeed, "profile", str(root / "pipe-.data.plan.json" / ".data.plan.json")], 1
    write(root / "snapshot", "a", record(b"abc"))
    yield [program, "snapshot", with_pipe("a", root / "snapshot"), "shard\ta\t1\t19", "end\t1"], 1
    yield [program, "read", with_pipe("elements.journal", root / "snapshot")], 1
    whole = b"infeed-training-checkpoint 2\nstep 7\n"
    write(root / "training", "manifest", whole + b"checksum %08x\n" % crc32c(whole))
    for name in ("tensors", "bytes"):
        write(root / "training", name, b"")
    for name in ("manifest", "tensors", "bytes"):
        yield [program, "checkpoint", with_pipe(name, root / "training")], 1


def limited_commands(infeed, program, folder):
    """Where files may only have some bytes, where nobody can hear, and where threads are few."""
    numbers = itertools.count()

    def output():
        return str(pathlib.Path(folder, f"out-limited-{next(numbers)}"))

    table = write(folder, "limited.csv", "a,b\n" + "1,some text\n" * 10_000)
    small = ["prlimit", "--fsize=20000"]
    yield [*small, infeed, "convert", table, "--output", output()], 1
    for bytes_max in (100, 2_000):
        yield ["prlimit", f"--fsize={bytes_max}", program, "record", output()], 0
    yield [*small, program, "write", output()], 1
    for streams in ("2>/dev/full", "2>&-", "2>&- <&-"):
        for words, status in ((["verify", "nothing"], 1), (["nothing"], 2), (["--help"], 0),
                              (["convert", table, "--output", output()], 0)):
            yield ["sh", "-c", f'"$@" {streams}; test $? = {status}', "sh", infeed, *words], 0
    yield ["sh", "-c", '"$@" >&-; test $? = 1', "sh", infeed, "--help"], 0
    yield ["prlimit", "--stack=314572800", infeed, "pace", "--seconds", "0.1"], 1
    many = write(folder, "many.tfrecord", b"".join(record(b"\x0a\x00") for _ in range(20_000)))
    threads = write(folder, "threads.json", json.dumps(
        {"records": many, "batch": 20, "threads": 100_000}))
    yield [infeed, "pace", "--seconds", "0.3", "--pipeline", threads], None
