"""A job of `mpirun`, whose ranks a test may kill and stop."""

import os
import pathlib
import signal
import subprocess
import time

SECONDS_MAX = 60


def environment(plugin, more=()):
    return os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                         "INFEED_MPI_PLUGIN": str(plugin), "LC_ALL": "C"} | dict(more)


def mpirun(*parts):
    """The command for (ranks, command) pairs, on any number of cores."""
    command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    for ranks, part in parts:
        command += ["-n", str(ranks), *map(str, part), ":"]
    return command[:-1]


def state_of(pid):
    """Tells a rank that waits from one on a busy machine: S, 1.3 s of CPU."""
    try:
        state, *numbers = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone"
    return f"{state}, {(int(numbers[10]) + int(numbers[11])) / os.sysconf('SC_CLK_TCK'):.1f} s of CPU"


class Job:
    count = 0

    def __init__(self, command, env):
        Job.count += 1
        self.mark = f"INFEED_TEST_JOB={os.getpid()}-{Job.count}"
        env = env | dict([self.mark.split("=")])
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
                                        start_new_session=True)
        self.begun = time.monotonic()

    launcher_hung = False

    def is_running(self):
        return self.process.poll() is None

    def pids(self):
        """The process of each rank."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            for variable in self.variables_of(folder):
                name, _, value = variable.partition(b"=")
                if name == b"OMPI_COMM_WORLD_RANK":
                    found[int(value)] = int(folder.name)
        return found

    def send(self, rank, number):
        """Sends a signal to a rank; waits until mpirun has started it. Returns its process, or None if the job is over
        or hangs."""
        while self.is_running():
            pid = self.pids().get(rank)
            if pid is not None:
                try:
                    os.kill(pid, number)
                    return pid
                except ProcessLookupError:
                    return None
            if time.monotonic() - self.begun > SECONDS_MAX:
                return None
            time.sleep(0.002)
        return None

    def end(self, seconds_max=SECONDS_MAX):
        """The exit status and all that was said. Ends what hangs, and raises AssertionError then."""
        try:
            said, _ = self.process.communicate(timeout=seconds_max)
        except subprocess.TimeoutExpired:
            ranks = self.pids()
            state = {rank: state_of(pid) for rank, pid in sorted(ranks.items())}
            for pid in self.all_pids():
                os.kill(pid, signal.SIGKILL)
            said, _ = self.process.communicate()
            # Open MPI 4.1's mpirun may hang by itself once it has said that a rank was killed while it connected.
            self.launcher_hung = not ranks and "mpirun noticed that process rank" in said
            if not self.launcher_hung:
                raise AssertionError(f"it hangs, with the ranks {state}; it said:\n{said}") from None
        self.expect_none_left()
        return self.process.returncode, said

    def expect_none_left(self):
        until = time.monotonic() + 30
        while left := self.all_pids():
            assert time.monotonic() < until, f"processes are left: {left}"
            time.sleep(0.05)

    def all_pids(self):
        """Also those of mpirun and of its daemons."""
        return [int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*") if self.variables_of(folder)]

    def variables_of(self, folder):
        """The environment of a process of this job; none of others."""
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            return []
        return variables if self.mark.encode() in variables else []
