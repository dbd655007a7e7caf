#!/usr/bin/env python3
"""Runs every command on files that mean harm: under 512 MB of memory and in 10 seconds of CPU each ends
with a clear error or the right result, and writes nowhere else."""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from binary_files import (array_files, crc32c, field, gzipped, jpeg_folders, masked, png, record, tar_files,
                          write)
from limited import limited_commands, pipe_commands
from packed_files import classes_of, compressed_files, names, packed, tables
from recordings import hostile_recordings
from servers import two_servers, was_told

MEMORY_BYTES_MAX = 512 << 20
CORES_MAX = 8
CPU_SECONDS_MAX = 10
# By the clock, for one that waits: a machine with other work may take several times as long.
SECONDS_MAX = 60
# Of a run that hung: what timeout would say.
HUNG = 124


def text_inputs(folder):
    deep = "[" * 400_000 + "]" * 400_000
    objects = '{"a":' * 20_000 + "1" + "}" * 20_000
    yield write(folder, "deep.jsonl", f'{{"x": {deep}}}\n')
    yield write(folder, "objects.jsonl", objects + "\n")
    yield write(folder, "names.jsonl",
                "".join(f'{{"name{i}": 1}}\n' for i in range(3_000)))
    yield write(folder, "keys.jsonl",
                json.dumps({f"key{i}": i for i in range(200_000)}) + "\n")
    yield write(folder, "members.jsonl",
                json.dumps({f"o{i}": {"a": 1} for i in range(100_000)}) + "\n")
    yield write(folder, "prefix.jsonl",
                json.dumps({"x" * (1 << 20): {f"{i}": 1 for i in range(3_000)}}) + "\n")
    yield write(folder, "one_line.csv.gz", gzipped(b"a,b\n", b"x", 256 << 20))
    yield write(folder, "commas.csv.gz", gzipped(b"a,b\n", b",", 32 << 20))
    yield write(folder, "latin1.csv", "größe,caf\xe9\n1,2\n".encode("latin-1"))
    yield write(folder, "control.csv", "\x1b]0;owned\x07,\u202eb\n1,2\n")
    yield write(folder, "quote.csv", 'a,b\n"' + "x" * 1_000_000)
    yield write(folder, "empty.csv", "")
    yield write(folder, "columns.csv", ",".join(f"c{i}" for i in range(1_000_000)) + "\n")


def archive_inputs(folder):
    for name, data in [*array_files(), *tar_files(), *compressed_files(), *tables()]:
        yield write(folder, name, data)


def image_folders(folder):
    for name, data in {"wide.png": png(65_000, 65_000), "zero.png": png(0, 0),
                       "cut.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\0" * 20}.items():
        root = pathlib.Path(folder, f"images-{name}")
        write(root, f"class/{name}", data)
        yield str(root)
    root = pathlib.Path(folder, "images-special")
    write(root, "class/good.png", png(1, 1))
    os.mkfifo(root / "class" / "pipe.png")
    (root / "class" / "zero-device.png").symlink_to("/dev/zero")
    (root / "class" / "loop").symlink_to("..")
    (root / "class" / "itself.png").symlink_to("itself.png")
    yield str(root)


def record_files(folder):
    yield write(folder, "huge.tfrecord", struct.pack("<QI", 1 << 62, 0) + b"x" * 100)
    yield write(folder, "checked.tfrecord", (lambda length: length + struct.pack(
        "<I", masked(crc32c(length))) + b"x" * 100)(struct.pack("<Q", 1 << 40)))
    yield write(folder, "bomb.tfrecord.gz", gzipped(b"", b"\0", 256 << 20))
    for program in ("zstd", "lz4"):
        yield write(folder, f"bomb.tfrecord.{program}", packed(program, b"\0" * (256 << 20)))
    yield write(folder, "index.tfrecord.lz4", packed("lz4", record(b"abc")) + struct.pack(
        "<II", 0x184D2A5D, 44) + b"\0" * 24 + struct.pack("<QI", 1 << 60, 0) + b"INFEEDL2")
    yield write(folder, "noise.tfrecord", os.urandom(100_000))
    yield write(folder, "groups.tfrecord", record(b"\x0b" * 100_000))
    indexed = write(folder, "indexed.tfrecord", record(b"abc") * 3)
    write(folder, "indexed.tfrecord.index", b"\xff" * 4096)
    yield indexed


def sets(folder):
    """Folders of shards, some of which are foreign or missing, and the exit status."""
    for name, shards, status in (("gap", ["00000-of-00003", "00002-of-00003"], 1),
                                 ("two", ["00000-of-00001", "00000-of-00002", "00001-of-00002"], 1),
                                 ("huge", ["00000-of-4294967295"], 1),
                                 ("beyond", ["00007-of-00002"], None),
                                 ("whole", ["00000-of-00002", "00001-of-00002"], 0)):
        for shard in shards:
            write(folder, f"set-{name}/t-{shard}.tfrecord", record(shard.encode()))
        yield str(pathlib.Path(folder, f"set-{name}")), status


def manifests(infeed, folder):
    """Those that infeed has written, changed by somebody who can make a checksum, too."""
    table = write(folder, "good.csv", "a\n1\n")
    good = pathlib.Path(folder, "good")
    subprocess.run([infeed, "convert", table, "--output", str(good)], check=True,
                   capture_output=True)
    for name, file in {"same": "data-00000-of-00001.tfrecord", "passwd": "/etc/passwd",
                       "above": "../good/data-00000-of-00001.tfrecord", "zero": "/dev/zero",
                       "control": "\u001b]0;owned\u0007"}.items():
        root = pathlib.Path(folder, f"manifest-{name}")
        shutil.copytree(good, root)
        manifest = root / "data.manifest.json"
        json_of = json.loads(manifest.read_text(encoding="utf-8"))
        del json_of["checksum"]
        json_of["shards"][0]["file"] = file
        text = json.dumps(json_of, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        json_of["checksum"] = f"{crc32c(text.encode()):08x}"
        manifest.write_text(json.dumps(json_of, ensure_ascii=False), encoding="utf-8")
        yield str(root), name == "same"
    for name, text in {"deep": "[" * 400_000, "values": "[" + "[]," * (5 << 20) + "[]]",
                       "objects": "[" + "{}," * (5 << 20) + "{}]"}.items():
        root = pathlib.Path(folder, f"manifest-{name}")
        shutil.copytree(good, root)
        write(root, "data.manifest.json", text)
        yield str(root), False


def commands(infeed, folder):
    """Each, and the exit status that it is to have; None: any of those that are documented."""
    out = [0]

    def output():
        out[0] += 1
        return str(pathlib.Path(folder, f"out-{out[0]}"))

    for path in [*text_inputs(folder), *archive_inputs(folder), *image_folders(folder)]:
        yield [infeed, "convert", path, "--output", output()], None
    yield from image_commands(infeed, folder, output)
    for path, classes in classes_of(folder):
        yield [infeed, "convert", path, "--classes", classes, "--output", output()], 1
    for pattern in names(folder):
        yield [infeed, "inspect", pattern], 1
    for path, status in sets(folder):
        yield [infeed, "inspect", path], status
        yield [infeed, "reshard", path, "--output", output()], status
    for path in record_files(folder):
        yield [infeed, "verify", path, "--json", output()], None
        yield [infeed, "inspect", path], None
    for path, is_good in manifests(infeed, folder):
        yield [infeed, "verify", path, "--json", output()], 0 if is_good else 1
        yield [infeed, "inspect", path], None
    # A stack of 1 GB is more than the limit of memory, so that no thread can be had.
    no_threads = ["prlimit", "--stack=1073741824"]
    yield [*no_threads, infeed, "verify", str(pathlib.Path(folder, "indexed.tfrecord"))], 1
    yield [infeed, "inspect", str(pathlib.Path(folder, "x-*-of-4294967295"))], 1
    yield [infeed, "verify", str(pathlib.Path(folder, "x-?????-of-4294967295"))], 1
    yield [infeed, "inspect", "s3://localhost:1#x/key"], 1
    yield [infeed, "inspect", "s3://u@localhost:1/key"], 1
    for path, status in claims(folder):
        yield [infeed, "verify", path], status
        yield [infeed, "inspect", path], None
    yield [infeed, "convert", str(pathlib.Path(folder, "begun", "a.csv")), "--output",
           str(pathlib.Path(folder, "begun", "out"))], 1
    yield from recording_commands(infeed, folder, output)
    yield from batch_commands(infeed, folder, output)
    planted(folder)
    yield [infeed, "index", str(pathlib.Path(folder, "planted", "a.tfrecord"))], None
    yield [infeed, "convert", str(pathlib.Path(folder, "planted", "a.csv")), "--output",
           str(pathlib.Path(folder, "planted", "out"))], 1


def image_commands(infeed, folder, output):
    write(folder, "images-texts/class/a.png", png(1, 1, 900))
    yield [infeed, "convert", str(pathlib.Path(folder, "images-texts")), "--decode-images",
           "--output", output()], None
    for path, data in jpeg_folders(folder):
        yield [infeed, "convert", path, "--output", output()], 1
        yield [infeed, "convert", path, "--decode-images", "--resize", "32", "--output",
               output()], 1
        yield [infeed, "convert", path, "--trust-images", "--output", output()], None
        feature = field(1, field(1, data))  # Feature{bytes_list{value}}
        file = write(folder, f"{pathlib.Path(path).name}.tfrecord",
                     record(field(1, field(1, field(1, b"image") + field(2, feature)))))
        yield [infeed, "inspect", file, "--picture", "image"], None


def recording_commands(infeed, folder, output):
    for name, text, is_good in hostile_recordings():
        file = write(folder, f"{name}.profile", text)
        status = 0 if is_good else 1
        yield [infeed, "profile", file, "--html", output()], status
        yield [infeed, "compare", file, file], status
        yield [infeed, "plan", file, "--svg", output()], None if is_good else 1
        for batch in (1024, 2**63 - 1):
            yield [infeed, "profile", file, "--replay", f"v3-8:resnet50:{batch}"], (
                None if is_good and batch == 1024 else 1)


def batch_commands(infeed, folder, output):
    data = write(folder, "batch.tfrecord", record(b"\x1b]0;owned\x07") * 100)
    pipeline = {"stages": [{"stage": "records", "files": data}, {"stage": "batch", "size": 10}]}
    good = write(folder, "batch.json", json.dumps(pipeline))
    for step, status in ((0, 0), (9, 0), (10, 1), (2**64 - 1, 1)):
        yield [infeed, "batch", "--pipeline", good, "--step", str(step), "--trace", "--json",
               output()], status
    for name, text in {"empty": b"", "deep": b"[" * 400_000, "noise": os.urandom(10_000),
                       "control": b"\x1b]0;owned\x07", "checkpoint": b"infeed-checkpoint 1\n"}.items():
        file = write(folder, f"batch-{name}", text)
        yield [infeed, "batch", "--pipeline", file, "--step", "0"], 1
        yield [infeed, "batch", "--pipeline", good, "--step", "0", "--resume", file], 1


def claims(folder):
    """Files that take nothing on the disk and claim 1 TB, and a plan of billions of shards."""
    for name, ending in (("train", ".manifest.json"), ("test", ".tfrecord.index")):
        root = pathlib.Path(folder, f"sparse-{name}")
        shard = "train-00000-of-00001.tfrecord" if name == "train" else "test.tfrecord"
        write(root, shard, record(b"abc"))
        with open(root / (name + ending), "wb") as sparse:
            sparse.truncate(1 << 40)
        yield str(root), 1 if name == "train" else None
    root = pathlib.Path(folder, "begun")
    write(root, "a.csv", "a\n1\n")
    write(root, "out/.data.plan.json", '{"shards": 4294967295}')


def planted(folder):
    """Links at the names that partial files and journals have."""
    root = pathlib.Path(folder, "planted")
    write(root, "a.tfrecord", record(b"abc"))
    write(root, "a.csv", "a\n1\n")
    (root / "out").mkdir()
    mine = write(folder, "mine", "untouched")
    for name in (".a.tfrecord.index.partial", "out/.data.journal", "out/.data.plan",
                 "out/.data-00000-of-00001.tfrecord.partial"):
        (root / name).symlink_to(mine)


def url_commands(infeed, folder, servers):
    here = f"http://127.0.0.1:{servers[0].server_port}"
    output = str(pathlib.Path(folder, "out-url"))
    for place in ("claims", "elsewhere", "circle", "file"):
        yield [infeed, "inspect", f"{here}/{place}/train-00000-of-00001.tfrecord"], 1
        yield [infeed, "verify", f"{here}/{place}/train-00000-of-00001.tfrecord"], 1
    yield [infeed, "convert", f"{here}/claims/train-00000-of-00001.tfrecord", "--output",
           output], 1
    yield [infeed, "inspect", "s3://bucket/data/*"], 1
    yield [infeed, "inspect", "s3://bucket/data/a.tfrecord"], 1


def program_commands(infeed, program, folder):
    """What programs read: snapshots' journals, checkpoints' places, trainings."""
    shard = "shard\ta\t3\t57"
    failure = "error\t{}\tdata_loss\t\t\t\t\tno good"
    for number, (lines, status) in enumerate((
            ([shard, "end\t3"], 0), ([shard, failure.format(1), "end\t4"], 1),
            (["shard\ta\t0\t0", "end\t0"], 1), ([shard, "shard\tb\t0\t0", "end\t3"], 1),
            ([shard, failure.format(10**9), "end\t4"], 1),
            ([shard, failure.format(2**64 - 1), "end\t4"], 1),
            (["shard\t../outside\t3\t57", "end\t3"], 1),
            (["shard\t/etc/passwd\t3\t57", "end\t3"], 1),
            ([f"shard\ta\t{2**64 - 1}\t57", f"end\t{2**64 - 1}"], 1),
            ([shard, "shard\ta\t3\t57", "end\t6"], None))):
        write(folder, f"snapshot-{number}/a", b"".join(record(b"abc") for _ in range(3)))
        yield [program, "snapshot", str(pathlib.Path(folder, f"snapshot-{number}")), *lines], status
    write(folder, "outside", b"".join(record(b"abc") for _ in range(3)))
    for words, status in (("8 4 32 8 16", 0), (f"{2**43} {2**20} 2 1 1", None),
                          (f"{2**63} 2 1 1 1", 1), (f"{2**64 - 1} 4 1 2 1", 1),
                          (f"{2**60} 16 16 4096 1", None), ("7 3 5 11 13", 0)):
        yield [program, "reshard", *words.split()], status
    whole = "tensor {:08x} float32 2 w\nbytes 00000000 0 t\n".format(crc32c(bytes(8)))
    for number, (lines, status) in enumerate((
            (whole, 0), ("tensor 00000000 float32 2000000000x4 w\n", 1),
            ("tensor 00000000 float32 60000x60000 v\ntensor 00000000 float32 60000x60000 w\n", 1),
            (f"tensor 00000000 float32 {2**62}x{2**62} w\n", 1),
            (f"bytes 00000000 {2**64 - 1} t\n" * 2, 1), ("bytes 00000000 3000000000 t\n", 1))):
        manifest = f"infeed-training-checkpoint 2\nstep 7\n{lines}".encode()
        write(folder, f"training-{number}/manifest",
              manifest + b"checksum %08x\n" % crc32c(manifest))
        write(folder, f"training-{number}/tensors", bytes(8))
        write(folder, f"training-{number}/bytes", b"")
        yield [program, "checkpoint", str(pathlib.Path(folder, f"training-{number}"))], status
    yield from pipe_commands(infeed, program, folder)
    yield from limited_commands(infeed, program, folder)


def limit():
    # A thread a core, with a stack of 8 MiB: those of a large machine would take all memory.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES_MAX])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, settings):
    """Its exit status, and what it said."""
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "swordfish",
                   "AWS_SESSION_TOKEN": "swordfish-token", "MALLOC_ARENA_MAX": "2",
                   **settings}
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS_MAX, check=False,
                              preexec_fn=limit, env=environment, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return HUNG, b""
    return done.returncode, done.stdout + done.stderr


def few_commands(infeed):
    """What --badly stands in for: it runs none of them, so it needs none of the files."""
    yield [infeed, "inspect", "a.tfrecord"], 0
    yield [infeed, "verify", "a.tfrecord"], 0


def run_badly(command, _):
    """Each kind of harm in place of a command, to see that it is noticed."""
    done = subprocess.run(["sh", "-c", "printf '\\033'; exit 3"], capture_output=True, check=False)
    hung = subprocess.run(["timeout", "0.1", "sleep", "60"], check=False)
    return (done.returncode, done.stdout) if "verify" in command else (hung.returncode, b"")


def faults(status, wanted, said, folder):
    if status == HUNG:
        yield "it hung"
    elif status == -signal.SIGXCPU:
        yield f"it took more than {CPU_SECONDS_MAX} s of CPU"
    elif status not in (0, 1) or wanted not in (None, status):
        yield f"exit status {status}"
    for secret in (b"swordfish", b"root:x:0", b"Internal error", b"internal error", b"internal:"):
        if secret in said:
            yield f"it said {secret!r}"
    if any(byte < 0x20 and byte not in b"\n\r\t" for byte in said):
        yield "control characters reach the terminal"
    if b"out of memory" in said:
        yield "it took all memory instead of naming a limit"
    if status != 0 and not said.strip():
        yield "it failed without a word"
    mine = pathlib.Path(folder, "mine")
    if mine.exists() and mine.read_text(encoding="utf-8") != "untouched":
        yield "it wrote to a file that a link led to"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--infeed", required=True, help="the program")
    parser.add_argument("--program", required=True, help="infeed_hostile")
    parser.add_argument("--show", action="store_true", help="also what each command said")
    parser.add_argument("--only", default="", help="only commands that have this in them")
    parser.add_argument("--badly", action="store_true", help="do harm in place of the commands")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="infeed-hostile-")
    count = bad = 0
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        servers = stack.enter_context(two_servers())
        write(folder, ".netrc", "machine 127.0.0.1 login me password swordfish\n")
        settings = {"HOME": folder, "AWS_REGION": "nowhere",
                    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{servers[0].server_port}"}
        all_commands = itertools.chain(
            commands(arguments.infeed, folder),
            url_commands(arguments.infeed, folder, servers),
            program_commands(arguments.infeed, arguments.program, folder))
        for command, wanted in few_commands(arguments.infeed) if arguments.badly else all_commands:
            if arguments.only not in " ".join(command):
                continue
            status, said = (run_badly if arguments.badly else run)(command, settings)
            count += 1
            if arguments.show:
                print(f"{status} {' '.join(command[1:])[:120]}: {said[:200]!r}")
            for fault in faults(status, wanted, said, folder):
                bad += 1
                print(f"{' '.join(command[1:])[:200]}: {fault}\n  {said[-400:]!r}")
        if told := was_told(servers[1]):
            bad += 1
            print(told)
    print(f"{count} commands on hostile input, {bad} faults")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
