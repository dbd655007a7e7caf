"""Runs the tests of a program that has one mistake in it until one of them finds it."""

import collections
import dataclasses
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

from building import Refused

TESTS = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)", re.M)
FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)", re.M)
RUNS = re.compile(r"^\[ RUN      \] ([\w/.]+)", re.M)
# A mistake may be slow by so much; behind it nobody would wait.
TIMES_SLOWER = 5
CPU_SECONDS_MIN = 3
CPU_SECONDS_SOUND_MAX = 1800  # of tests without a mistake
# Threads that all sleep for so long wait for each other.
IDLE_SECONDS_MAX = 15
KILLERS_MAX = 20
BYTES_MAX = 12 << 30


@dataclasses.dataclass
class Run:
    passed: bool
    by: str = ""  # the test that failed, or was running
    how: str = ""  # failed, crashed, hung, slow
    cpu_seconds: float = 0
    tests: int = 0


def limits(cpu_seconds):
    def set_limits():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 2))
    return set_limits


def is_idle(session):
    """The ticks that the processes of a session took so far, and whether none of them computes."""
    ticks, computes = 0, False
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) != session:
                continue
            ticks += int(fields[11]) + int(fields[12])
            for thread in (place / "task").iterdir():
                computes |= (thread / "stat").read_text().rpartition(")")[2].split()[0] in "RD"
        except (OSError, IndexError):
            continue  # it ended meanwhile
    return ticks, not computes


def run_tests(program, only, cpu_seconds, scratch):
    """Runs the tests that a filter of GoogleTest selects until one fails."""
    folder = pathlib.Path(scratch) / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    output = pathlib.Path(scratch) / "output"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(output, "w") as out:
        child = subprocess.Popen([program, f"--gtest_filter={only}", "--gtest_fail_fast", "--gtest_color=no"],
                                 cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 env={**os.environ, "TMPDIR": str(folder)}, preexec_fn=limits(cpu_seconds))
        how, idle_since, ticks = "", time.monotonic(), -1
        pause = 0.01
        while child.poll() is None:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)
            now, idle = is_idle(child.pid) if pause == 0.5 else (0, False)
            if now != ticks or not idle:
                ticks, idle_since = now, time.monotonic()
            if time.monotonic() - idle_since > IDLE_SECONDS_MAX:
                how = "hung"
                break
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = output.read_text(errors="replace")
    running = RUNS.findall(said)
    failed = FAILED.findall(said)
    if not how and status == 0:
        return Run(True, cpu_seconds=cpu, tests=len(running))
    how = how or ("slow" if status in (-signal.SIGXCPU, -signal.SIGKILL) else
                  "failed" if failed and status == 1 else "crashed")
    by = failed[0] if how == "failed" else running[-1] if running else "before any test"
    return Run(False, by, how, cpu, len(running))


def words_of(name):
    return set(re.split(r"[_\W]+", name)) - {"test", "tests", "cc", "h", ""}


def suites_of(files):
    found = set()
    for file in files:
        found |= set(TESTS.findall(file.read_text()))
    return found


def filter_of(suites, without=()):
    """A filter of GoogleTest for suites, plain ones and those with parameters or types."""
    def patterns(names):
        return ":".join(f"{name}.*:*/{name}.*:{name}/*:*/{name}/*" for name in sorted(names))
    chosen = patterns(suites) if suites else "*"
    return chosen + (f"-{patterns(without)}" if without else "")


def likely_suites(root, source):
    """The suites of the test files named like a source, and those of its whole room."""
    parts = pathlib.Path(source).parts
    room = pathlib.Path(root, "tests", *parts[:-1])
    while not room.is_dir():
        room = room.parent
    if room == pathlib.Path(root, "tests", parts[0]):
        return set(), set()
    files = sorted(room.rglob("*_test.cc"))
    named = [file for file in files if words_of(file.stem) & words_of(pathlib.Path(source).stem)]
    return suites_of(named), suites_of(files)


class Judge:
    """Says of mistakes in one source after the other whether the tests find them."""

    def __init__(self, build, say, only_likely=False):
        self.build, self.say, self.only_likely = build, say, only_likely
        # The tests that found something in each source, and the CPU time of those they ran among.
        self.killers = collections.defaultdict(dict)
        self.sound = {}  # the filter and the CPU time of each run without a mistake

    def steps(self, source):
        """Filters from the likeliest tests to all; each leaves out what ran before."""
        named, room = likely_suites(self.build.root, source)
        steps = []
        if named:
            steps.append(filter_of(named))
        if room - named:
            steps.append(filter_of(room - named))
        steps.append(filter_of((), room | named))
        return steps[:1] if self.only_likely else steps

    def run(self, program, only, cpu_seconds):
        return run_tests(program, only, cpu_seconds, self.build.scratch)

    def prepare(self, source, text):
        """Runs the tests without a mistake, linked as those with one are. Raises Refused if one fails."""
        module = pathlib.Path(source).parts[0]
        made = self.build.compile(source, text)
        if made is None:
            raise Refused(f"{source} doesn't compile alone: {self.build.complaint}")
        program = self.build.link(module, made)
        for number, only in enumerate(self.steps(source)):
            if (module, only) in self.sound and number > 0:
                continue
            for _ in range(3):  # one that fails by chance may fail again
                run = self.run(program, only, CPU_SECONDS_SOUND_MAX)
                if run.passed:
                    break
            if not run.passed:
                raise Refused(f"without any mistake in {source} {run.by} {run.how}")
            self.sound[module, only] = run.cpu_seconds
            self.say(f"  {run.tests} tests take {run.cpu_seconds:.1f} s of CPU without a mistake")

    def judge(self, mutant, source_text):
        """(state, by, how): killed, survived or uncompiled."""
        made = self.build.compile(mutant.file, mutant.applied_to(source_text))
        if made is None:
            return "uncompiled", "", ""
        module = pathlib.Path(mutant.file).parts[0]
        program = self.build.link(module, made)
        killers = self.killers[mutant.file]
        steps = [(only, self.sound[module, only]) for only in self.steps(mutant.file)]
        if killers:
            last = list(killers)[-KILLERS_MAX:]
            steps.insert(0, (":".join(reversed(last)), max(killers[test] for test in last)))
        for only, sound_seconds in steps:
            run = self.run_twice(program, only, TIMES_SLOWER * sound_seconds + CPU_SECONDS_MIN)
            if not run.passed:
                if "." in run.by:
                    killers.setdefault(run.by, sound_seconds)
                return "killed", run.by, run.how
        return "survived", "", ""

    def run_twice(self, program, only, cpu_seconds):
        """Runs tests, and one that fails once more: one that fails by chance finds nothing."""
        while True:
            run = self.run(program, only, cpu_seconds)
            if run.how != "failed" or not self.run(program, run.by, cpu_seconds).passed:
                return run
            self.say(f"  {run.by} failed once of two times, which doesn't count")
            only += (":" if "-" in only else "-") + run.by
