#!/usr/bin/env python3
"""Works on one to four hosts, each a network namespace with a name and a link of its own, with drawn stops and another
number of hosts behind each. Records, of which 1 % are bad, make the global batches of one process; a training has the
weights of one process, also when a link goes down.

    hosts.py INFEED PLUGIN HOST [--rounds N] [--links N] [--seed S] [--seconds T]

HOST is the program of tests/world/host, which takes the rows of a host.

Needs root, `ip` and `unshare`; without them it says so and ends with status 77. Leaves no namespace behind. A failure prints
its seed (also: INFEED_TEST_SEED) and what was said.
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from campaign import SECONDS_MAX, Training
from mpi_job import Job, environment

HOSTS = 4
NOT_HERE = 77
# Starts MPI's daemon on another host, as ssh would.
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host && $*"
"""


def ip(*arguments):
    return subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


class Network:
    """Hosts h0, h1, ... at one switch."""

    def __init__(self, folder):
        mark = f"{os.getpid() % 100000:05}"
        self.switch = f"ifs{mark}"
        self.hosts = [f"ifh{mark}n{number}" for number in range(HOSTS)]
        self.links = [f"ifl{mark}n{number}" for number in range(HOSTS)]
        self.agent = folder / "agent"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)

    def __enter__(self):
        try:
            ip("link", "add", self.switch, "type", "bridge")
            ip("link", "set", self.switch, "up")
            for number, (host, link) in enumerate(zip(self.hosts, self.links)):
                ip("netns", "add", host)
                ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", host)
                ip("link", "set", link, "master", self.switch, "up")
                ip("-n", host, "addr", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
                ip("-n", host, "link", "set", "eth0", "up")
                ip("-n", host, "link", "set", "lo", "up")
                # By Linux's default mpirun waits 15 minutes for the daemon of a host that can't be reached.
                ip("netns", "exec", host, "sh", "-c", "echo 5 > /proc/sys/net/ipv4/tcp_retries2")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], capture_output=True)
        subprocess.run(["ip", "link", "del", self.switch], capture_output=True)

    def cut(self, number):
        ip("link", "set", self.links[number], "down")

    def mend(self, number):
        ip("link", "set", self.links[number], "up")
        until = time.monotonic() + SECONDS_MAX
        while "state UP" not in ip("-n", self.hosts[number], "link", "show", "eth0") and time.monotonic() < until:
            time.sleep(0.05)
        for host in self.hosts:
            ip("-n", host, "neigh", "flush", "dev", "eth0")

    def command(self, count, command):
        """The command on so many hosts, a rank on each."""
        settings = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "btl_tcp_if_include": "eth0",
                    "oob_tcp_if_include": "eth0", "mpi_yield_when_idle": 1,
                    "oob_tcp_keepalive_time": 5, "oob_tcp_keepalive_intvl": 2, "oob_tcp_keepalive_probes": 3}
        mca = [word for name, value in settings.items() for word in ("--mca", name, str(value))]
        return ["ip", "netns", "exec", self.hosts[0], "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.hosts[0],
                "mpirun", *mca, "--host", ",".join(f"{host}:1" for host in self.hosts[:count]), "-n", str(count),
                *map(str, command)]


class TrainingOfHosts(Training):
    def __init__(self, infeed, folder, network):
        super().__init__(infeed, folder)
        self.network = network

    def on_hosts(self, count, *more):
        return self.network.command(count, self.command(1, *more))


class Batches:
    """Global batches of records, some of which are bad."""

    def __init__(self, host, folder, network, env, drawn):
        self.host, self.network, self.env, self.drawn = host, network, env, drawn
        self.checkpoint = folder / "position"
        self.file = subprocess.run([host, "write", folder], check=True, capture_output=True, text=True).stdout.strip()
        self.expected = self.run(1, 1 << 40)
        # Two passes of 450 records, 5 of them bad, each wrapped to whole batches.
        rows = [row for step in self.expected for row in step]
        assert 2 * 5 <= rows.count("-1") <= 2 * 6, f"{rows.count('-1')} rows of {len(rows)} are bad"

    def run(self, count, steps):
        """Takes so many steps at most; returns the rows of each global batch."""
        command = self.network.command(count, [self.host, self.file, self.checkpoint, steps])
        status, said = Job(command, self.env).end(SECONDS_MAX)
        assert status == 0, said
        hosts = []
        for rank in range(count):
            written = pathlib.Path(f"{self.checkpoint}.{rank}.rows")
            hosts.append([line.split() for line in written.read_text().splitlines()])
            written.unlink()
        assert len({len(taken) for taken in hosts}) == 1, f"hosts took {[len(taken) for taken in hosts]} steps"
        return self.joined(hosts)

    @staticmethod
    def joined(hosts):
        """Rows take turns among the hosts, over the ends of batches."""
        rows = [[row for step in taken for row in step] for taken in hosts]
        total = sum(map(len, rows))
        stream = [rows[at % len(rows)][at // len(rows)] for at in range(total)]
        steps = max(len(hosts[0]), 1)
        batch = total // steps
        return [stream[step * batch:(step + 1) * batch] for step in range(len(hosts[0]))]

    def stopped(self):
        """Takes all batches, with another number of hosts behind each stop. Returns how often it went on."""
        self.checkpoint.unlink(missing_ok=True)
        taken, counts = [], []
        while len(taken) < len(self.expected):
            counts.append(self.drawn.randint(1, HOSTS))
            steps = self.drawn.randint(1, len(self.expected) - len(taken))
            taken += self.run(counts[-1], steps)
            # The last rank's state is that of the whole job.
            pathlib.Path(f"{self.checkpoint}.{counts[-1] - 1}").rename(self.checkpoint)
        assert taken == self.expected, f"{counts} hosts, one number after the other: other batches"
        return len(counts) - 1


class Rounds:
    def __init__(self, training, env, drawn):
        self.training, self.env, self.drawn = training, env, drawn
        self.expected = self.run(training.command(1))
        self.seconds = {}
        for count in range(1, HOSTS + 1):
            training.clear()
            begun = time.monotonic()
            assert self.run(training.on_hosts(count)) == self.expected, f"{count} hosts give other weights than one process"
            self.seconds[count] = time.monotonic() - begun

    def run(self, command):
        status, said = Job(command, self.env).end(SECONDS_MAX)
        assert status == 0, said
        return self.training.outcome(said)

    def begin(self, count, *more):
        """Starts a job, and returns it at a moment between its start and its end."""
        job = Job(self.training.on_hosts(count, *more), self.env)
        time.sleep(self.drawn.uniform(0.1, self.seconds[count]))
        return job

    def stopped(self, number):
        """Stops one to three times, each time with another number of hosts. Returns how often it went on."""
        self.training.clear()
        counts = [self.drawn.randint(1, HOSTS) for _ in range(self.drawn.randint(2, 4))]
        for count in counts[:-1]:
            job = self.begin(count, "--resume")
            job.send(self.drawn.randrange(count), signal.SIGTERM)
            status, said = job.end(SECONDS_MAX)
            # A rank may die of the signal while it is being started, before it is the command.
            assert status in (0, 128 + signal.SIGTERM) or "stopped" in said, f"{counts}, round {number}: status {status}; it said:\n{said}"
        assert self.run(self.training.on_hosts(counts[-1], "--resume")) == self.expected, f"{counts}: other weights"
        return len(counts) - 1

    def without_link(self):
        """Takes the link of a host down for good. Returns the seconds until the job was over."""
        self.training.clear()
        count = self.drawn.randint(2, HOSTS)
        lost = self.drawn.randrange(1, count)  # mpirun itself runs on the first
        job = Job(self.training.on_hosts(count), self.env)
        while len(job.pids()) < count and job.is_running():  # mpirun waits for a daemon for ever that never came
            time.sleep(0.01)
        time.sleep(self.drawn.uniform(0, self.seconds[count]))
        self.training.network.cut(lost)
        cut = time.monotonic()
        try:
            status, said = job.end(SECONDS_MAX)
        finally:
            self.training.network.mend(lost)
        seconds = time.monotonic() - cut
        context = f"{count} hosts, the link of host {lost} was cut: status {status} after {seconds:.1f} s; it said:\n{said}"
        if status != 0 and "the start of MPI, to which all ranks must come" not in said:  # before that nobody knows the others
            assert re.search(rf"rank {lost} has (not answered|given no sign of life)|{self.training.network.hosts[lost]}", said), context
        assert self.run(self.training.on_hosts(self.drawn.randint(1, HOSTS), "--resume")) == self.expected, context
        return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("infeed", type=lambda file: pathlib.Path(file).resolve())
    parser.add_argument("plugin", type=lambda file: pathlib.Path(file).resolve())
    parser.add_argument("host", type=lambda file: pathlib.Path(file).resolve())
    parser.add_argument("--rounds", type=int, default=50, help="of stops and going on")
    parser.add_argument("--links", type=int, default=10, help="rounds in which a link goes down")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="ends earlier, with fewer rounds")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INFEED_TEST_SEED", "20261128")))
    given = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        print("hosts need root, ip (iproute2) and unshare (util-linux)")
        sys.exit(NOT_HERE)
    until = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="infeed-hosts-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        env = environment(given.plugin, {"INFEED_MPI_START_SECONDS": "10"})
        with contextlib.ExitStack() as stack:
            try:
                network = stack.enter_context(Network(folder))
            except (OSError, subprocess.CalledProcessError) as failure:
                print(f"no network namespaces can be made here: {failure}")
                sys.exit(NOT_HERE)
            try:
                drawn = random.Random(given.seed)
                batches = Batches(given.host, folder, network, env, drawn)
                done = went_on = 0
                while done < given.rounds and time.monotonic() < until:
                    went_on += batches.stopped()
                    done += 1
                print(f"{done} times {len(batches.expected)} global batches with bad records on 1 to {HOSTS} hosts: "
                      f"stopped and went on {went_on} times, the batches of one process each time", flush=True)
                rounds = Rounds(TrainingOfHosts(given.infeed, folder, network), env, drawn)
                done = went_on = 0
                while done < given.rounds and time.monotonic() < until:
                    went_on += rounds.stopped(done)
                    done += 1
                print(f"{done} trainings on 1 to {HOSTS} hosts: stopped and went on {went_on} times, the weights of one process each "
                      f"time", flush=True)
                ends = []
                while len(ends) < given.links and time.monotonic() < until:
                    ends.append(rounds.without_link())
                print(f"{len(ends)} times a link went down: over within {max(ends, default=0):.1f} s, went on to the same weights")
            except AssertionError as failure:
                sys.exit(f"FAILED with seed {given.seed}: {failure}")


if __name__ == "__main__":
    main()
