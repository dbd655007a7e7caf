#!/usr/bin/env python3
"""Stops each command by one Ctrl-C after a random part of its work: it ends soon, in order."""

import argparse
import contextlib
import http.server
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from binary_files import png, record, tar, write
from recordings import large_recording

SECONDS_TO_END_MAX = 3
TRIES_MAX = 5  # a machine that is busy at one moment makes no fault
SECONDS_TO_BEGIN_MAX = 60
INTERRUPTED = 130
LOOKED_ENOUGH = 0  # top has no other end
MANY_BYTES = 16 << 30  # of a file without blocks: no disk is used
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LOOK_EVERY_S = 0.002  # a loop without it would take the core that the command needs


def pipeline_of(files, step_us):
    """A pipeline of record files for ever, as --pipeline takes it."""
    return json.dumps({"stages": [{"stage": "records", "files": str(files)}, {"stage": "repeat"},
                                  {"stage": "parse"}, {"stage": "batch", "size": 20}],
                       "step_us": step_us})


def made_inputs(folder, infeed):
    """Each some seconds of work for the commands."""
    write(folder, "table.csv", "a,b,c\n" + "1,2.5,some text\n" * 3_000_000)
    write(folder, "lines.jsonl", '{"a": 1, "b": [1.5, 2.5], "c": "some text"}\n' * 1_000_000)
    write(folder, "many/train-00000-of-00001.tfrecord", record(b"\x0a\x00") * 8_000_000)
    write(folder, "noise.tfrecord", record(b"abc") + b"noise" * 40_000_000)
    write(folder, "examples.tar", tar((f"{i}.txt", b"1") for i in range(60_000)))
    images = pathlib.Path(folder, "images", "class")
    first = write(images, "0.png", png(1, 1))
    for i in range(1, 30_000):
        os.link(first, images / f"{i}.png")
    write(folder, "pipeline.json", pipeline_of(pathlib.Path(folder, "many", "*.tfrecord"), 300))
    large_recording(pathlib.Path(folder, "run.profile"))
    few = write(folder, "few.csv", "a,b\n1,2\n")
    listed = pathlib.Path(folder, "listed")
    subprocess.run([infeed, "convert", few, "--output", listed], check=True,
                   stdout=subprocess.DEVNULL)
    # Its manifest is whole, so all of the shard is read, and then again to say which records are.
    for shard in listed.glob("*.tfrecord"):
        os.truncate(shard, MANY_BYTES)


class Silent(http.server.BaseHTTPRequestHandler):
    """Takes what is asked and never answers."""

    def do_GET(self):
        self.server.was_asked.set()
        self.server.has_ended.wait()

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def silent_server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.was_asked, server.has_ended = threading.Event(), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.has_ended.set()
        server.shutdown()


def commands(folder):
    """All that work for some seconds."""
    number = itertools.count()

    def output():
        return str(pathlib.Path(folder, f"out-{next(number)}"))

    def inside(name):
        return str(pathlib.Path(folder, name))

    shard = inside("many/train-00000-of-00001.tfrecord")
    for name in ("table.csv", "lines.jsonl", "examples.tar", "images"):
        yield ["convert", inside(name), "--output", output()]
    yield ["convert", inside("table.csv"), "--output", output(), "--dry-run"]
    yield ["reshard", shard, "--output", output(), "--seed", "1"]
    yield ["verify", shard]
    yield ["verify", inside("noise.tfrecord")]
    yield ["verify", inside("listed/data.manifest.json")]
    yield ["repair", inside("noise.tfrecord"), "--output", output()]
    yield ["inspect", shard, "--records", "100000000"]
    yield ["index", shard]
    yield ["repair", shard, "--output", output()]
    yield ["batch", "--pipeline", inside("pipeline.json"), "--step", "1000000000", "--trace"]
    yield ["step", "--virtual", "100000000", "--slice", "v3-2048"]
    yield ["pace", "--seconds", "3600"]
    yield ["pace", "--seconds", "3600", "--pipeline", inside("pipeline.json")]
    yield ["profile", inside("a.profile"), "--pipeline", inside("pipeline.json"), "--seconds",
           "3600"]
    yield ["profile", inside("b.profile"), "--pipeline", inside("pipeline.json"), "--seconds",
           "10", "--try"]
    recording = inside("run.profile")
    yield ["compare", recording, recording]
    yield ["profile", recording]
    yield ["profile", recording, "--replay", "v3-8"]
    for option in ("--json", "--html", "--trace", "--tensorboard", "--xprof"):
        yield ["profile", recording, option, output()]


def sleepers(folder):
    """Those that do nothing for a minute or more, and when they have begun to."""
    def inside(name):
        return pathlib.Path(folder, name)

    inside("slow.json").write_text(pipeline_of(inside("many/*.tfrecord"), 60_000_000), encoding="ascii")

    def has_printed(pid):
        return os.stat(f"/proc/{pid}/fd/1").st_size > 0

    def is_recording(_):
        return inside("slow.profile").exists() and inside("slow.profile").stat().st_size > 0

    yield ["pace", "--source-us", "1e9", "--seconds", "3600"], has_printed
    yield ["pace", "--step-us", "1e9", "--seconds", "3600"], has_printed
    yield (["profile", str(inside("slow.profile")), "--pipeline", str(inside("slow.json")),
            "--seconds", "3600"], is_recording)


def watches_signals(pid):
    """Whether Ctrl-C is taken by the command already, and no longer ends it at once."""
    try:
        return any(os.readlink(entry.path) == "anon_inode:[signalfd]"
                   for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def interrupt(words, is_time):
    """The exit status, what was said, seconds from the signal to the end; no seconds when it was over
    before."""
    with tempfile.TemporaryFile() as said, subprocess.Popen(
            words, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as process:
        end = time.monotonic() + SECONDS_TO_BEGIN_MAX
        while process.poll() is None and not (watches_signals(process.pid) and is_time(process.pid)):
            if time.monotonic() > end:
                process.kill()
                raise RuntimeError(f"{' '.join(words)} did not begin in {SECONDS_TO_BEGIN_MAX} s")
            time.sleep(LOOK_EVERY_S)
        seconds = None
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            try:
                process.wait(SECONDS_TO_END_MAX)
                seconds = time.monotonic() - begin
            except subprocess.TimeoutExpired:
                process.kill()
                seconds = SECONDS_TO_END_MAX
        status = process.wait()
        said.seek(0)
        return status, said.read(), seconds


def interrupt_in_time(words, is_time):
    """As interrupt(), once more if the command took too long to end."""
    for _ in range(TRIES_MAX):
        status, said, seconds = interrupt(words, is_time)
        if seconds is None or seconds < SECONDS_TO_END_MAX:
            break
        remove_outputs(words)
    return status, said, seconds


def faults(status, said, seconds, wanted=INTERRUPTED):
    if seconds is not None and seconds >= SECONDS_TO_END_MAX:
        yield f"it went on for {SECONDS_TO_END_MAX} s"
    elif status != wanted:
        yield f"exit status {status} instead of {wanted}"
    if not said.strip():
        yield "it ended without a word"
    if b"nternal error" in said:
        yield "it calls it an internal error"


def look(infeed, folder):
    """What is to be said about top, which looks at another process until somebody has seen enough."""
    pipeline = str(pathlib.Path(folder, "pipeline.json"))
    with subprocess.Popen([infeed, "pace", "--seconds", "3600", "--pipeline", pipeline],
                          env={**os.environ, "INFEED_TOP": "1"}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as seen:
        try:
            end = time.monotonic() + SECONDS_TO_BEGIN_MAX
            while not list(pathlib.Path("/dev/shm").glob(f"infeed-{seen.pid}.*")):
                if seen.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("the process that top is to look at shows nothing")
                time.sleep(LOOK_EVERY_S)
            words = ["top", str(seen.pid), "--every", "3600"]
            status, said, seconds = interrupt_in_time(
                [infeed, *words], lambda pid: os.stat(f"/proc/{pid}/fd/1").st_size > 0)
            wrong = list(faults(status, said, seconds, LOOKED_ENOUGH))
            if seconds is None:
                wrong.append("it ended without being asked to")
            if seen.poll() is not None:
                wrong.append("it ended what it looked at")
            return words, "looking", seconds, wrong, said
        finally:
            seen.terminate()


def remove_outputs(words):
    """What a command that had ended has written, which it refuses to write once more."""
    for path in map(pathlib.Path, words):
        if not path.name.startswith("out-"):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def try_all(infeed, folder, chosen, source):
    """The number of commands, and what is wrong."""
    for words in commands(folder):
        if chosen not in " ".join(words):
            continue
        # Of recordings, reading is the first part of the work.
        part_s = source.uniform(0, 2 if "run.profile" in " ".join(words) else 0.4)
        while True:
            status, said, seconds = interrupt_in_time([infeed, *words], lambda pid: cpu_s(pid) >= part_s)
            # A machine may be so fast that nothing, or only the last step, was left to stop.
            if status == INTERRUPTED or part_s < 0.001:
                break
            part_s /= 4
            remove_outputs(words)
        yield words, f"after {part_s:.2f} s", seconds, faults(status, said, seconds), said
    for words, has_begun in sleepers(folder):
        if chosen in " ".join(words):
            status, said, seconds = interrupt_in_time([infeed, *words], has_begun)
            yield words, "asleep", seconds, faults(status, said, seconds), said
    if chosen in "top":
        yield look(infeed, folder)
    for name in ("inspect", "verify", "convert", "index"):
        with silent_server() as server:
            words = [name, f"http://127.0.0.1:{server.server_port}/a.tfrecord"]
            if name == "convert":
                words += ["--output", str(pathlib.Path(folder, "out-url"))]
            if chosen not in " ".join(words) or name == "index":  # which takes local files only
                continue
            status, said, seconds = interrupt_in_time([infeed, *words], lambda _: server.was_asked.is_set())
        yield words, "unanswered", seconds, faults(status, said, seconds), said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--infeed", required=True, help="the program")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", default="", help="only commands that have this in them")
    parser.add_argument("--show", action="store_true", help="also what is good")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="infeed-ctrl-c-")
    count = bad = 0
    try:
        made_inputs(folder, arguments.infeed)
        for words, when, seconds, wrong, said in try_all(
                arguments.infeed, folder, arguments.only, random.Random(arguments.seed)):
            count += 1
            wrong = list(wrong)
            bad += len(wrong)
            if wrong or arguments.show:
                took = "had ended" if seconds is None else f"ended {seconds:.2f} s later"
                print(f"{' '.join(words)[:150]}: {when}, {took}: {'; '.join(wrong) or 'good'}\n"
                      f"  {said[-300:]!r}", flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{count} commands stopped, {bad} faults (seed {arguments.seed})")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
