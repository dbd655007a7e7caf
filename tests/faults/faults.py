"""The faults of a campaign. Each is a text, such as `call:EIO:17`, with which it can be had again."""

import dataclasses
import os
import pathlib
import resource
import signal
import time

from flaky_server import KINDS as SERVER_KINDS

# Kinds of the preloaded libraries, and by which words the error names what is wrong.
CALL_KINDS = {"EIO": "input/output error", "ENOSPC": "disk is full", "ESTALE": "", "EINTR": None,
              "short": None, "kill": None, "torn": None, "hang": None,
              "cut": "", "vanish": "", "grow": "", "spoil": ""}
# libcurl's resolver without memory finds no host.
NO_MEMORY = "memory|no further thread|Could not resolve host"
PROCESS_KINDS = {"memory": NO_MEMORY, "no_memory": NO_MEMORY,
                 "thread": "thread", "no_thread": "thread", "clock_back": None, "clock_ahead": None}
LIMITS = {"fsize": "ulimit -f|larger than is allowed|could not be written", "nofile": "open files|descriptors",
          "as": "memory|thread|shared libraries"}
# With less room than that, other libraries fail before main() begins.
LIMITS_FROM_TO = {"fsize": (0, 60_000), "nofile": (3, 30), "as": (38 << 20, 400 << 20)}
RLIMIT_NUMBERS = {"fsize": 1, "nofile": 7, "as": 9}
CHANGES_OF_INPUT = ("cut", "vanish", "grow", "spoil")
SIGNALS = ("INT", "TERM", "HUP", "PIPE", "KILL")
SECONDS_MAX = 60
# Of a server: a request that stalls is given up after 30 s.
SERVER_SECONDS_MAX = 200
INTERRUPTED = 130


@dataclasses.dataclass
class Fault:
    """One fault: `kind:what:number[:seconds]`."""
    text: str

    def __post_init__(self):
        self.kind, self.what, *numbers = (self.text + "::").split(":")[:4]
        self.numbers = [float(number) for number in numbers if number]

    def __str__(self):
        return self.text

    @property
    def number(self):
        return int(self.numbers[0]) if self.numbers else 0

    def environment(self, libraries, root, report):
        if self.kind not in ("call", "process"):
            return {}
        library = libraries / ("libinfeed_inject_faults.so" if self.kind == "call"
                               else "libinfeed_inject_process_faults.so")
        folder = root / "in" if self.what in CHANGES_OF_INPUT else root
        return {"LD_PRELOAD": str(library), "INFEED_FAULT": f"{self.what} {self.number} {folder}/ {report}"}

    def wrapped(self, words):
        return ["prlimit", f"--{self.what}={self.number}", *words] if self.kind == "limit" else words

    def seconds_max(self):
        return SERVER_SECONDS_MAX if self.kind == "server" else SECONDS_MAX

    def act(self, process, report):
        """Does to the running process what is done from outside."""
        if self.kind == "signal":
            wait(process, self.numbers[0])
            send(process, getattr(signal, f"SIG{self.what}"))
        elif self.kind == "pause":
            wait(process, self.numbers[0])
            send(process, signal.SIGSTOP)
            time.sleep(0.2)  # the fault itself: the process stands still
            send(process, signal.SIGCONT)
        elif self.kind == "shrink":
            wait(process, self.numbers[1])
            shrink(process, self.what, self.number)
        elif self.what == "hang" and self.number:
            end = time.monotonic() + SECONDS_MAX / 2
            while process.poll() is None and not report.exists() and time.monotonic() < end:
                time.sleep(0.005)
            # The first asks it to end, the second one doesn't wait for what hangs.
            for _ in range(2):
                if wait(process, 0.3):
                    os.killpg(process.pid, signal.SIGINT)  # as a terminal does

    def allows(self, status, report):
        """Whether the command may end with that status."""
        if status in (0, 1):
            return not (status and self.is_harmless())
        if self.kind == "signal":
            number = getattr(signal, f"SIG{self.what}")
            # Before it watches signals, each ends it.
            return status == -number or (status == INTERRUPTED and self.what in ("INT", "TERM"))
        if self.what == "hang":
            return status in (INTERRUPTED, -signal.SIGINT)
        if self.kind in ("limit", "shrink") and self.what in ("as", "nofile"):
            return status == 127  # the loader finds no room or descriptor for a library
        # A program that another one runs may be the one that is killed.
        return self.what in ("kill", "torn") and status in (-signal.SIGKILL, 128 + signal.SIGKILL)

    def is_harmless(self):
        """Whether nobody may see a difference."""
        return self.kind == "pause" or self.what in ("EINTR", "short", "clock_back", "clock_ahead", "once")

    def is_named_by(self):
        """What the error must say; None: it may say anything."""
        if self.kind == "call":
            return CALL_KINDS[self.what]
        if self.kind == "process":
            return PROCESS_KINDS[self.what]
        if self.kind in ("limit", "shrink"):
            return LIMITS[self.what]
        return "127.0.0.1" if self.kind == "server" else None

    def names_file(self):
        return self.kind == "call" and self.what != "hang"

    def changes_inputs(self):
        return self.what in CHANGES_OF_INPUT

    def ended_at_once(self, status):
        """Whether nothing could be tidied up."""
        return status < 0 or status == 128 + signal.SIGKILL


def wait(process, seconds):
    """Returns whether the process still runs."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(min(0.002, max(0.0, end - time.monotonic())))
    return process.poll() is None


def send(process, number):
    if process.poll() is None:
        os.kill(process.pid, number)


def shrink(process, what, limit):
    try:
        hard = resource.prlimit(process.pid, RLIMIT_NUMBERS[what])[1]
        resource.prlimit(process.pid, RLIMIT_NUMBERS[what], (limit, hard))
    except (ProcessLookupError, PermissionError):
        pass  # it has ended


def kinds_for(job):
    """The kinds of fault that a job is exposed to, with their weights."""
    kinds = {f"call:{what}": 2 for what in CALL_KINDS}
    if job.words.split()[0] not in ("convert", "reshard", "verify"):
        del kinds["call:spoil"]  # who only looks at a file shows what is there
    kinds |= {"process:memory": 12, "process:no_memory": 4, "process:thread": 2, "process:no_thread": 2,
              "process:clock_back": 1, "process:clock_ahead": 1}
    kinds |= {f"limit:{what}": 2 for what in LIMITS} | {f"shrink:{what}": 1 for what in LIMITS}
    kinds |= {f"signal:{what}": 1 for what in SIGNALS} | {"pause:stop": 1}
    if job.by_url:
        kinds |= {f"server:{what}": 3 for what in SERVER_KINDS} | {"server:stall": 0.3}
    return kinds


def draw(job, drawn, seconds, count_of, wanted=""):
    """One fault of a wanted kind for a job that takes `seconds`, if it has any such calls.

    count_of(kind) says how many come before the work begins, and in all."""
    kinds = {kind: weight for kind, weight in kinds_for(job).items() if wanted in kind}
    if not kinds:
        return None
    kind = drawn.choices(list(kinds), list(kinds.values()))[0]
    name, what = kind.split(":")
    moment = f"{drawn.uniform(0, 1.2 * seconds):.4f}"
    if name in ("signal", "pause"):
        return Fault(f"{kind}:{moment}")
    if name in ("limit", "shrink"):
        number = drawn.randint(*LIMITS_FROM_TO[what])
        return Fault(f"{kind}:{number}" + (f":{moment}" if name == "shrink" else ""))
    first, last = count_of(kind)
    # Where nearly all calls come before the work begins, most faults strike behind that.
    begin = first if first < last and drawn.random() < 0.85 else 0
    return Fault(f"{kind}:{drawn.randint(begin + 1, last)}") if last else None


def read_report(report):
    return pathlib.Path(report).read_text(encoding="utf-8", errors="replace") if report.exists() else ""
