"""The two sides of a comparison: our program, and the peers' child processes."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROW_SECONDS_MAX = 60
CHILD_BYTES_MAX = 8 << 30


class MeasureError(Exception):
    pass


class NotInstalled(MeasureError):
    """A peer's package isn't here: its line says so, and the others are measured."""


def resident_bytes(pid):
    try:
        with open(f"/proc/{pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Peer:
    """A child process that serves measurements (peer.py); started again when it had to be ended."""

    def __init__(self, name, script, *arguments, python=sys.executable):
        self.name = name
        self.command = [python, os.path.join(HERE, script), *arguments]
        self.process = None
        self.notes = {}  # by row and form, of the last measurement

    def _start(self):
        # What the libraries say about CPUs and compilers is kept for the case that they fail.
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0,
            start_new_session=True)  # so that what it starts ends with it
        self.pending = b""
        self.known = self._answer(120)["ready"]

    def _answer(self, seconds_max):
        deadline = time.monotonic() + seconds_max
        while b"\n" not in self.pending:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                data = os.read(self.process.stdout.fileno(), 1 << 16)
                if not data:
                    self.log.seek(0)
                    last_words = self.log.read().decode(errors="replace").strip().splitlines()[-3:]
                    self.stop()
                    if last_words and last_words[-1].startswith("ModuleNotFoundError: "):
                        raise NotInstalled(last_words[-1])
                    raise MeasureError(f"{self.name} ended: " + " / ".join(last_words))
                self.pending += data
            if time.monotonic() > deadline:
                self.stop()
                raise MeasureError(f"{self.name} took over {seconds_max} s and was ended")
            if resident_bytes(self.process.pid) > CHILD_BYTES_MAX:
                self.stop()
                raise MeasureError(f"{self.name} used over {CHILD_BYTES_MAX >> 30} GiB and was ended")
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def forms(self, row):
        """In which ways it can do the row."""
        if self.process is None:
            self._start()
        if row.name not in self.known:
            raise MeasureError(f"{self.name} has no row '{row.name}'")
        return self.known[row.name]

    def measure(self, row, form, options):
        if self.process is None:
            self._start()
        request = {"name": row.name, "form": form, "seconds": options.seconds, "data": options.data}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        answer = self._answer(ROW_SECONDS_MAX)
        if "error" in answer:
            raise MeasureError(f"{self.name}, {form}: {answer['error'].strip()}")
        if "notes" in answer:
            self.notes[row.name, form] = answer["notes"]
        return answer["value"]

    def stop(self):
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def measure_ours(row, options):
    command = [options.ours, "--row", row.name, "--data", options.data,
               "--seconds", str(options.seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ROW_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise MeasureError(f"infeed took over {ROW_SECONDS_MAX} s and was ended") from None
    if done.returncode != 0:
        raise MeasureError(f"infeed ended with status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)
