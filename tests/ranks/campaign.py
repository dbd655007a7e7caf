#!/usr/bin/env python3
"""Kills and stops (SIGSTOP) drawn ranks at drawn moments, from the start of a job to its end, in training, conversion
and feeding: the rank is named, and nothing is lost, doubled or left behind.

    campaign.py INFEED PLUGIN [--rounds N] [--seed S] [--seconds T] [--kinds train,convert,feed]
        [--signals killed,stopped]

Prints a line for each kind and signal. A failure prints its seed (also: INFEED_TEST_SEED) and what was said.
"""

import argparse
import filecmp
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

from idx_files import write_half
from mpi_job import Job, environment, mpirun

NAMED_AS_STOPPED = (r"rank {0} has (not answered|given no sign of life) for|rank {0} \(process \d+\) of this host is stopped|"
                    r"rank {0} is silent|rank {0} has said nothing for")
NAMED_AS_KILLED = r"rank {0} with PID \d+ on node \S+ exited on signal 9|" + NAMED_AS_STOPPED
# A silent rank is named after 4 s (feeding: 5 s); what follows takes a moment, on a busy machine a much longer one.
SECONDS_MAX = 100
# A rank that dies while mpirun starts it is named by nobody; only the status tells.
SECONDS_TO_START = 0.5


def same_trees(a, b):
    compared = filecmp.dircmp(a, b)
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    return not filecmp.cmpfiles(a, b, compared.common_files, shallow=False)[1] and all(
        same_trees(a / folder, b / folder) for folder in compared.common_dirs)


class Work:
    """What a campaign may do and look at."""

    def clear(self):
        """Begins anew."""

    def progress(self):
        return 0

    def outcome_of_failed(self, said):
        return None

    def commands_to_go_on(self, drawn):
        return []

    def check_end(self, said):
        """Looks for what is left behind."""

    def note(self):
        return ""


class Training(Work):
    """Four ranks train; another number goes on to the weights of one process."""
    ranks = 4

    def __init__(self, infeed, folder):
        self.infeed, self.folder = infeed, folder
        self.data = folder / "data"
        self.data.mkdir()
        write_half(self.data, "train", 3000)
        write_half(self.data, "t10k", 400)
        self.kept = []

    def command(self, ranks, *more):
        train = [self.infeed, "train", "--train-only", "--data", self.data, "--work", self.folder / "work", "--batch", "64",
                 "--epochs", "4", "--threads", "1", "--no-color", "--checkpoint-steps", "10", *more]
        return mpirun((ranks, train)) if ranks > 1 else list(map(str, train))

    def clear(self):
        shutil.rmtree(self.folder / "work", ignore_errors=True)

    def outcome(self, said):
        """All tensors of the newest checkpoint, the optimiser's too."""
        newest = max((self.folder / "work").glob("checkpoints/mlp-float32/step-*"))
        return newest.name, (newest / "tensors").read_bytes()

    def progress(self):
        return max((path.name for path in (self.folder / "work").glob("checkpoints/mlp-float32/step-*")), default="")

    def commands_to_go_on(self, drawn):
        return [self.command(drawn.choice([1, 2, 3, 4]), "--resume")]

    def check_end(self, said):
        went_on = re.search(r"it went on from step (\d+)", said)
        if went_on:
            self.kept.append(int(went_on[1]))
        left = [str(path) for path in (self.folder / "work").rglob(".*")]
        assert not left, f"left behind: {left}"

    def note(self):
        """How many went on from a step that only a failure has saved."""
        saved = sum(step % 10 != 0 and step % 46 != 0 for step in self.kept)
        count, self.kept = len(self.kept), []
        return f"; {count} went on from a checkpoint, {saved} of them from the failed step itself"


class Conversion(Work):
    """Three ranks convert; another number finishes with the bytes of one process."""
    ranks = 3

    def __init__(self, infeed, folder):
        self.infeed, self.folder = infeed, folder
        lines = (f"{i},{i * 7 % 1000}.25,note {i % 97}\n" for i in range(60000))
        (folder / "table.csv").write_text("id,price,note\n" + "".join(lines))

    def command(self, ranks, *more):
        convert = [self.infeed, "convert", self.folder / "table.csv", "-o", self.folder / "out", "--shards", "24", "--seed", "3",
                   "--compression", "gzip", "--threads", "1", *more]
        return mpirun((ranks, convert)) if ranks > 1 else list(map(str, convert))

    def clear(self):
        shutil.rmtree(self.folder / "out", ignore_errors=True)

    def outcome(self, said):
        kept = self.folder / "whole"
        if not kept.exists():
            shutil.copytree(self.folder / "out", kept)
        return same_trees(kept, self.folder / "out")

    def commands_to_go_on(self, drawn):
        return [self.command(drawn.choice([1, 2, 3]))]


class Feeding(Work):
    """Two ranks make batches for a third one, which has no state: what it took by the end of a whole job counts."""
    ranks = 3
    PIPELINE = """{"stages": [
      {"stage": "range", "stop": 60000}, {"stage": "shuffle", "buffer": 2000, "seed": 7},
      {"stage": "batch", "size": 50}, {"stage": "prefetch"}], "step_us": 300}"""

    def __init__(self, infeed, folder):
        self.infeed, self.folder = infeed, folder
        (folder / "pipeline.json").write_text(self.PIPELINE)

    def command(self, ranks, *more):
        take = [self.infeed, "feed", "--pipeline", self.folder / "pipeline.json", "--take", "100000", "--range-steps", "4", *more]
        return mpirun((1, take), (max(ranks - 1, 1), [self.infeed, "feed"]))

    def outcome(self, said):
        return re.findall(r"(\d+) batches in .*; order ([0-9a-f]{16})", said)

    def outcome_of_failed(self, said):
        return self.outcome(said) or None


KINDS = {"train": Training, "convert": Conversion, "feed": Feeding}


class Campaign:
    def __init__(self, kind, job, env, drawn):
        self.kind, self.job, self.env, self.drawn = kind, job, env, drawn
        self.job.clear()
        self.expected, _ = self.run_whole(self.job.command(1))
        self.job.clear()
        again, self.seconds = self.run_whole(self.job.command(self.job.ranks))
        assert again == self.expected, f"{kind}: {self.job.ranks} ranks give another result than one process"

    def run_whole(self, command):
        job = Job(command, self.env)
        status, said = job.end(SECONDS_MAX)
        seconds = time.monotonic() - job.begun
        assert status == 0, said
        self.job.check_end(said)
        return self.job.outcome(said), seconds

    def rounds(self, name, number, count, until):
        """Returns the line that says what happened."""
        seconds, whole, released, hung, unnamed, redone = [], 0, 0, 0, 0, 0
        done = 0
        while done < count and time.monotonic() < until:
            rank, moment = self.drawn.randrange(self.job.ranks), self.drawn.uniform(0, self.seconds)
            place = f"{self.kind}, round {done}: rank {rank} {name} after {moment:.2f} s"
            try:
                result = self.round(rank, moment, number)
            except AssertionError as failure:
                raise AssertionError(f"{place}: {failure}") from None
            if result is None:  # the rank had ended
                redone += 1
                assert redone < 10 * count + 10, f"{place}: hardly any job runs at its moment"
                continue
            done += 1
            whole += result["status"] == 0
            released += result["released"]
            hung += result["hung"]
            unnamed += result["unnamed"]
            if not result["hung"]:
                seconds.append(result["seconds"])
        late = f"; {released} were stopped behind the end of MPI, where mpirun waits for them" if released else ""
        late += f"; {hung} times mpirun itself hung without a rank" if hung else ""
        late += f"; {unnamed} died while mpirun started them, which names none" if unnamed else ""
        return (f"{self.kind}: {done} times a rank was {name} in jobs of {self.seconds:.1f} s: {whole} jobs were whole{late}; the others ended within "
                f"{max(seconds, default=0):.1f} s{self.job.note()}")

    def round(self, rank, moment, number):
        self.job.clear()
        job = Job(self.job.command(self.job.ranks), self.env)
        time.sleep(max(0.0, moment - (time.monotonic() - job.begun)))
        before = self.job.progress()
        pid = job.send(rank, number)
        if pid is None:
            job.end()
            return None
        sent = time.monotonic()
        released = False
        while job.is_running() and number == signal.SIGSTOP and not released:
            # A rank that is stopped behind the end of MPI holds up mpirun alone; nobody is left who could name it.
            released = set(job.pids()) == {rank}
            if released:
                time.sleep(1)
                released = set(job.pids()) == {rank} and job.send(rank, signal.SIGCONT) is not None
            time.sleep(0.1)
            if time.monotonic() - sent > SECONDS_MAX:
                break
        status, said = job.end(SECONDS_MAX)
        seconds = time.monotonic() - sent
        context = f"status {status} after {seconds:.1f} s; it said:\n{said}"
        if status == 0:
            assert self.job.outcome(said) == self.expected, f"another result; {context}"
            self.job.check_end(said)
            return {"status": 0, "seconds": 0, "released": released, "hung": False, "unnamed": False}
        named = (NAMED_AS_STOPPED if number == signal.SIGSTOP else NAMED_AS_KILLED).format(rank)
        unnamed = not re.search(named, said)
        assert not unnamed or (status == 128 + signal.SIGKILL and moment < SECONDS_TO_START), f"rank {rank} isn't named; {context}"
        assert self.job.progress() >= before, f"a checkpoint is lost; {context}"
        assert self.job.outcome_of_failed(said) in (None, self.expected), f"another result; {context}"
        for command in self.job.commands_to_go_on(self.drawn):
            went_on, _ = self.run_whole(command)
            assert went_on == self.expected, f"another result after going on by {' '.join(command)}; {context}"
        return {"status": status, "seconds": seconds, "released": False, "hung": job.launcher_hung, "unnamed": unnamed}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("infeed", type=lambda file: pathlib.Path(file).resolve())
    parser.add_argument("plugin", type=lambda file: pathlib.Path(file).resolve())
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="ends earlier, with fewer rounds")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INFEED_TEST_SEED", "20261128")))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--signals", default="killed,stopped")
    given = parser.parse_args()
    # A job on this machine begins within a second, or some on a busy one; the usual limit is for large ones.
    env = environment(given.plugin, {"INFEED_MPI_START_SECONDS": os.environ.get("INFEED_MPI_START_SECONDS", "15")})
    signals = {name: {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}[name] for name in given.signals.split(",")}
    begun = time.monotonic()
    kinds = given.kinds.split(",")
    parts = parts_left = len(kinds) * len(signals)
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix=f"infeed-{kind}-", ignore_cleanup_errors=True) as folder:
            drawn = random.Random(f"{given.seed} {kind}")
            campaign = Campaign(kind, KINDS[kind](given.infeed, pathlib.Path(folder)), env, drawn)
            for name, number in signals.items():
                parts_left -= 1
                until = begun + given.seconds * (parts - parts_left) / parts
                try:
                    print(campaign.rounds(name, number, given.rounds, until), flush=True)
                except AssertionError as failure:
                    sys.exit(f"FAILED with seed {given.seed}: {failure}")


if __name__ == "__main__":
    main()
