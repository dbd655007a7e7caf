#!/usr/bin/env python3
"""Strikes the commands with drawn faults; each ends in order, and goes on to the right bytes without the fault.

    campaign.py --infeed PROGRAM --libraries FOLDER [--seconds S | --cases N] [--seed S] [--jobs N] [--only TEXT]
    campaign.py --infeed PROGRAM --libraries FOLDER --replay JOB FAULT

A finding says what is wrong, what was said, and the arguments that replay it. Exit status 1 where there is one.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from faults import Fault, draw, kinds_for, read_report
from flaky_server import FlakyServer
from jobs import JOBS, Job, make_inputs, newest_tensors, write_pipeline

HUNG = 124
LINES_MAX = 3
# What no user should read: of C++, of a bug, of the system's own.
UNCLEAR = re.compile(r"terminate called|std::|bad_alloc|internal error|what\(\):|basic_string|[Aa]ssert|Aborted|"
                     r"vector::|Segmentation|Bus error|pure virtual|0x[0-9a-f]{8}")


@dataclasses.dataclass
class Outcome:
    status: int
    out: str
    err: str
    seconds: float
    reached: str  # what the preloaded library has reported
    files: dict


def read_files(root, site):
    files = {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*"))
             if path.is_file() and not path.is_symlink()}
    return files | {f"(stored)/{name}": content for name, content in site.stored.items()}


def is_whole_json(content):
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def functions_in(report, program):
    """The report of the preloaded library, with the names of the program's functions instead of addresses."""
    addresses = re.findall(rf"{re.escape(program.name)}\(\+(0x[0-9a-f]+)\)", report)[:12]
    if not addresses or not shutil.which("addr2line"):
        return report.strip()
    done = subprocess.run(["addr2line", "-Cfpse", program, *addresses], capture_output=True, text=True, check=False)
    return report.splitlines()[0] + "".join(f"\n    {line[:150]}" for line in done.stdout.splitlines())


class Worker:
    """A place of its own, where one command runs after the other."""

    def __init__(self, number, arguments, pristine, server):
        self.root = pristine.parent / f"w{number}"
        self.infeed, self.libraries, self.pristine = arguments.infeed, arguments.libraries, pristine
        self.is_bad = arguments.badly
        self.site, url = server.add(f"w{number}", self.root / "in")
        self.places = {"in": self.root / "in", "out": self.root / "out", "url": url, "infeed": self.infeed}
        self.references, self.counts = {}, {}
        self.root.mkdir()
        self.restore_inputs()

    def restore_inputs(self):
        shutil.rmtree(self.root / "in", ignore_errors=True)
        shutil.copytree(self.pristine, self.root / "in")
        write_pipeline(self.root / "in")
        os.utime(self.root / "in" / "pipeline.json", (1, 1))

    def clear(self, job):
        shutil.rmtree(self.root / "out", ignore_errors=True)
        (self.root / "out").mkdir()
        if job.beside:
            shutil.copytree(self.root / "in" / job.beside, self.root / "out" / job.beside)
        self.site.reset()

    def run(self, job, fault=None, *more):
        report = self.root / "report"
        report.unlink(missing_ok=True)
        if job.is_named_by_time:
            time.sleep(1)  # such names hold the second
        words = [str(self.infeed), *job.list_words(self.places, *more)]
        if fault and self.is_bad and not fault.text.endswith(":0"):
            words = ["sh", "-c", "exit 3"]
        environment = {**os.environ, "HOME": str(self.root), "MALLOC_ARENA_MAX": "2"}
        if fault:
            words = fault.wrapped(words)
            environment |= fault.environment(self.libraries, self.root, report)
            if fault.kind == "server":
                self.site.kind, self.site.number, self.site.answers = fault.what, fault.number, 0
        begun = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                       cwd=self.root, start_new_session=True)
            if fault:
                fault.act(process, report)
            try:
                status = process.wait(fault.seconds_max() if fault else 120)
            except subprocess.TimeoutExpired:
                status = HUNG
            seconds = time.monotonic() - begun
            left = self.end_group(process)
            out.seek(0)
            err.seek(0)
            said, complaint = (file.read().decode(errors="replace") for file in (out, err))
        self.site.has_ended.set()
        self.site.number = 0
        if left and status != HUNG and not (fault and fault.ended_at_once(status)):
            complaint += "\n(a child process was left)"
            status = HUNG
        return Outcome(status, said, complaint, seconds, read_report(report), read_files(self.root / "out", self.site))

    @staticmethod
    def end_group(process):
        """Ends what is left of the command and its children. Returns whether a child was."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        was_running = process.poll() is None
        process.wait()
        return not was_running

    def reference(self, job):
        """What the command does without a fault."""
        if job.name not in self.references:
            self.clear(job)
            outcome = self.run(job)
            if outcome.status:
                raise RuntimeError(f"{job.name} fails without a fault: {outcome.err}")
            outcome.tensors = newest_tensors(self.root / "out")
            self.references[job.name] = outcome
        return self.references[job.name]

    def count_of(self, job, kind):
        """How many calls of a kind there are before the work begins, and in all."""
        if (job.name, kind) not in self.counts:
            self.clear(job)
            fault = Fault(f"{kind}:0")
            if fault.kind == "server":
                self.run(job)
                self.counts[job.name, kind] = 0, self.site.answers
            else:
                reached = self.run(job, fault).reached
                before = 0
                if fault.what in ("memory", "no_memory"):
                    before = self.count_before_work(fault)
                self.counts[job.name, kind] = before, int(re.match(r"\d*", reached)[0] or 0)
            self.restore_inputs()
        return self.counts[job.name, kind]

    def count_before_work(self, fault):
        """The calls that come before any command begins to work."""
        if fault.text not in self.counts:
            self.counts[fault.text] = int(self.run(Job("version", "--version"), fault).reached or 0)
        return self.counts[fault.text]

    def case(self, job, fault):
        """What is wrong about one fault, and how the command ended."""
        wanted = self.reference(job)
        self.clear(job)
        struck = self.run(job, fault)
        wrong = list(self.faults_of(job, fault, struck, wanted))
        if fault.changes_inputs():
            self.restore_inputs()
        if struck.status != HUNG:
            if fault.changes_inputs():
                more = job.anew
                if not more:  # it can't know that what is there was made of another input
                    self.clear(job)
            else:
                more = job.go_on if newest_tensors(self.root / "out") else ""
            went_on = self.run(job, None, *more.split())
            wrong += [f"going on, {text}" for text in self.faults_of_end(job, went_on, wanted)]
        return wrong, struck

    def faults_of(self, job, fault, struck, wanted):
        if struck.status == HUNG:
            yield f"it hung for {fault.seconds_max()} s, or left a child"
            return
        # glibc itself ends a process that has no memory to register the destructor of a thread's variable.
        ended_by_glibc = "Fatal glibc error" in struck.err and "out of memory" in struck.err
        if not fault.allows(struck.status, struck.reached) and not ended_by_glibc:
            yield f"exit status {struck.status}"
        if UNCLEAR.search(struck.err) or UNCLEAR.search(struck.out):
            yield "it says what no user understands"
        if struck.status == 0:
            shows_another_input = fault.changes_inputs() and (job.saves_what_is_there or job.says)
            tells_of_errors = job.says and "passed over" in struck.err
            if not shows_another_input and not tells_of_errors:
                yield from self.faults_of_end(job, struck, wanted)
            return
        if struck.status == 1:
            yield from self.faults_of_text(job, fault, struck)
        yield from self.faults_of_files(job, fault, struck, wanted)

    def faults_of_text(self, job, fault, struck):
        if fault.what == "fsize" and len(struck.err) >= fault.number:
            return  # the file of its errors may not be larger, either
        lines = struck.err.strip().splitlines()
        if not 1 <= len(lines) <= LINES_MAX or not lines[-1].startswith("infeed"):
            yield f"its error has {len(lines)} lines, or isn't its own"
        named = fault.is_named_by()
        if named is not None and not re.search(named, struck.out + struck.err):
            yield f"its error doesn't say '{named}'"
        if fault.names_file() and str(self.root) not in struck.out + struck.err:
            yield "its error names no file"

    def faults_of_files(self, job, fault, struck, wanted):
        """Of a failure: what has its final name is whole, and what isn't is gone unless the process was."""
        # A destructor of another library may need memory, and ends the command where there is none.
        says_so = fault.what in ("memory", "no_memory") and "may be left" in struck.err
        for name, content in struck.files.items():
            is_hidden = any(part.startswith(".") for part in name.split("/"))
            if is_hidden:
                if name.endswith(".partial") and not says_so and not fault.ended_at_once(struck.status) and (
                        struck.status != 130 and not struck.reached.startswith(("unlink", "remove", "fstat"))):
                    yield f"{name} is left"
            elif job.says or (fault.changes_inputs() and name.startswith("(stored)")):
                # It tells of what is wrong, or lies in a store without a manifest.
                if name.endswith(".json") and not is_whole_json(content):
                    yield f"{name} is torn"
            elif job.is_exact(name):
                if name not in wanted.files:
                    if job.is_kept(name):
                        continue
                    yield f"{name} is left"
                elif content != wanted.files[name]:
                    yield f"{name} is torn: {len(content)} bytes of {len(wanted.files[name])}"
            elif name.endswith(".json") and not is_whole_json(content):
                yield f"{name} is torn"

    def faults_of_end(self, job, outcome, wanted):
        """Of a success: all is there, nothing else is, and both are what they are without a fault."""
        if outcome.status:
            yield f"exit status {outcome.status}: {outcome.err[-300:]!r}"
            return
        if job.says and outcome.out != wanted.out:
            yield f"it says something else: {outcome.out[:200]!r}"
        names = {name for name in outcome.files if not job.is_passing(name)}
        expected = {name for name in wanted.files if not job.is_passing(name)}
        for name in sorted(names ^ expected):
            yield f"{name} is {'missing' if name in expected else 'left'}"
        for name in sorted(names & expected):
            if job.is_exact(name) and outcome.files[name] != wanted.files[name]:
                yield f"{name} has other bytes"
            elif name.endswith(".json") and not is_whole_json(outcome.files[name]):
                yield f"{name} is no JSON"
        if wanted.tensors != newest_tensors(self.root / "out"):
            yield "training came to other weights"


class Campaign:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.lock = threading.Lock()
        self.counts, self.ends = collections.Counter(), collections.Counter()
        self.findings = 0
        self.end = time.monotonic() + arguments.seconds
        pristine = folder / "pristine"
        pristine.mkdir()
        make_inputs(arguments.infeed, pristine)
        self.server = FlakyServer()
        self.workers = [Worker(i, arguments, pristine, self.server) for i in range(arguments.jobs)]

    def try_one(self, worker, job, fault):
        wrong, struck = worker.case(job, fault)
        with self.lock:
            self.counts[f"{fault.kind}:{fault.what}"] += 1
            self.ends["done all the same" if struck.status == 0 else
                      "ended by a signal" if struck.status < 0 else "an error"] += 1
            if self.arguments.show:
                print(f"{job.name} {fault}: {struck.status} {struck.err[-200:]!r}", flush=True)
            if not wrong:
                return
            self.findings += 1
            print(f"{job.name} {fault}: {'; '.join(wrong[:5])}\n  it said: {struck.err[-600:]!r}\n"
                  f"  it was at: {functions_in(struck.reached, worker.infeed)}\n  again: tests/faults.sh --replay {job.name} {fault}",
                  flush=True)

    def work(self, number):
        """One worker's share of the cases."""
        worker, arguments = self.workers[number], self.arguments
        drawn = random.Random(f"{arguments.seed} {number}")
        jobs = [job for job in JOBS if arguments.only in job.name and not (arguments.short and job.is_long)
                and any(arguments.kinds in kind for kind in kinds_for(job))]
        for case in range(number, arguments.cases, arguments.jobs):
            if time.monotonic() > self.end:
                return
            job = jobs[case % len(jobs)] if arguments.short else drawn.choice(jobs)
            fault = draw(job, drawn, worker.reference(job).seconds, lambda kind: worker.count_of(job, kind),
                         arguments.kinds)
            if fault:
                self.try_one(worker, job, fault)

    def run(self):
        if self.arguments.replay:
            name, fault = self.arguments.replay
            self.try_one(self.workers[0], next(job for job in JOBS if job.name == name), Fault(fault))
        else:
            with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
                list(pool.map(self.work, range(self.arguments.jobs)))
        total = sum(self.counts.values())
        ends = ", ".join(f"{count} {end}" for end, count in sorted(self.ends.items()))
        print(f"{total} faults of {len(self.counts)} kinds ({ends}), {self.findings} findings (seed {self.arguments.seed})")
        return 1 if self.findings or not total else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--infeed", required=True, type=pathlib.Path, help="the program")
    parser.add_argument("--libraries", required=True, type=pathlib.Path, help="the folder of the preloaded libraries")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long new cases begin")
    parser.add_argument("--cases", type=int, default=1_000_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="commands at once")
    parser.add_argument("--only", default="", help="only jobs that have this in their names")
    parser.add_argument("--kinds", default="", help="only faults that have this in them")
    parser.add_argument("--short", action="store_true", help="each job in turn, without the long ones")
    parser.add_argument("--show", action="store_true", help="also what is good")
    parser.add_argument("--badly", action="store_true", help="run something bad in place of the commands")
    parser.add_argument("--replay", nargs=2, metavar=("JOB", "FAULT"))
    arguments = parser.parse_args()
    arguments.infeed, arguments.libraries = arguments.infeed.resolve(), arguments.libraries.resolve()
    if arguments.replay:
        arguments.jobs = 1
    with tempfile.TemporaryDirectory(prefix="infeed-faults-", ignore_cleanup_errors=True) as folder:
        return Campaign(arguments, pathlib.Path(folder)).run()


if __name__ == "__main__":
    sys.exit(main())
