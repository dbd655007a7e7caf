"""Runs a group of comparisons and prints the table; see compare.sh.

Ours and the peers are measured in turn (ours, peer, ours, peer ...), each in a child process with
limits of time and memory, and the medians are compared: what slows the machine down for a while
slows down both.
"""

import argparse
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time

import rows as row_tables

HERE = os.path.dirname(os.path.abspath(__file__))
ROW_SECONDS_MAX = 60
CHILD_BYTES_MAX = 8 << 30


class MeasureError(Exception):
    pass


def resident_bytes(pid):
    try:
        with open(f"/proc/{pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Peer:
    """A child process that serves measurements (peer.py); started again when it had to be ended."""

    def __init__(self, name, script):
        self.name = name
        self.script = script
        self.process = None

    def _start(self):
        # What the libraries say about CPUs and compilers is kept for the case that they fail.
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, self.script)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0)
        self.pending = b""
        self.known = set(self._answer(120)["ready"])

    def _answer(self, seconds_max):
        deadline = time.monotonic() + seconds_max
        while b"\n" not in self.pending:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                data = os.read(self.process.stdout.fileno(), 1 << 16)
                if not data:
                    self.log.seek(0)
                    last_words = self.log.read().decode(errors="replace").strip().splitlines()[-3:]
                    self.stop()
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

    def measure(self, row, options):
        if self.process is None:
            self._start()
        if row.name not in self.known:
            raise MeasureError(f"{self.name} has no row '{row.name}'")
        request = {"name": row.name, "seconds": options.seconds, "data": options.data}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        answer = self._answer(ROW_SECONDS_MAX)
        if "error" in answer:
            raise MeasureError(f"{self.name}: {answer['error'].strip()}")
        return answer["value"]

    def stop(self):
        if self.process is not None:
            self.process.kill()
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


def read_anew(folder):
    """Warm files as a first epoch leaves them: pages that were cached when the files were written lie
    one by one, those that were read ahead in larger pieces, out of which both sides read up to a third
    faster. How large depends on how much is read at once: 256 KiB, as both sides do.
    """
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb", buffering=0) as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while file.read(256 << 10):
                    pass


def make_data(options):
    """Writes the record files that both sides read, where they are not there yet."""
    done = subprocess.run([options.ours, "--make-data", "--data", options.data],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.sh: could not write the record files: {done.stderr.strip()}")
    read_anew(options.data)


def measure_row(row, peers, options):
    """The JSON objects of a row: one for each thing that it is compared with."""
    ours, others = [], []
    theirs = {name: [] for name in row.peers}
    for _ in range(options.repetitions):
        answer = measure_ours(row, options)
        ours.append(answer["ours"])
        if "other" in answer:
            others.append(answer["other"])
        for name in row.peers:
            theirs[name].append(peers[name].measure(row, options))
    against = [(name, theirs[name]) for name in row.peers]
    if row.other:
        against.append((row.other, others))
    median = statistics.median(ours)
    ceiling = statistics.median(others) if others else None
    return [report(row, median, name, statistics.median(values), index == 0, ceiling)
            for index, (name, values) in enumerate(against)] or [report(row, median, None, None, True)]


def report(row, ours, against, peer, has_bar, ceiling=None):
    result = {"name": row.name, "ours": ours, "peer": peer, "unit": row.unit,
              "ratio": row.ratio(ours, peer), "against": against}
    if has_bar:
        bars = {key: getattr(row, key) for key in ("ratio_min", "ceiling_share_min", "ours_max", "ours_min")
                if getattr(row, key) is not None}
        if bars:
            result["bar"] = bars
            result["bar_met"] = (
                (row.ratio_min is None or result["ratio"] >= row.ratio_min
                 or (row.ceiling_share_min is not None
                     and ours >= row.ceiling_share_min * ceiling))
                and (row.ours_max is None or ours <= row.ours_max)
                and (row.ours_min is None or ours >= row.ours_min))
    return result


def figure(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def bar_text(result):
    texts = []
    for key, value in result.get("bar", {}).items():
        text = {"ratio_min": f">= {value:g} x",
                "ceiling_share_min": f"or {value:g} of the ceiling", "ours_max": f"<= {value:g}",
                "ours_min": f">= {value:g}"}[key]
        texts.append(text)
    if not texts:
        return ""
    return ("met     " if result["bar_met"] else "MISSED  ") + ", ".join(texts)


def print_row(result):
    print(f"{result['name']:<54} {figure(result['ours']):>10} {figure(result['peer']):>10} "
          f"{result['unit']:<11} {figure(result['ratio']):>8}  {result['against'] or '':<17}"
          f"{bar_text(result)}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="compare.sh")
    parser.add_argument("groups", nargs="*", default=["main"])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for group in options.groups:
        if group not in row_tables.ROWS:
            parser.error(f"there is no group '{group}': the groups are "
                         + ", ".join(row_tables.ROWS))
    options.seconds = 0.15 if options.short else 0.4
    options.repetitions = 1 if options.short else 3
    return options


def main():
    options = parse_arguments()
    make_data(options)
    peers = {row_tables.TFDATA: Peer(row_tables.TFDATA, "tfdata.py"),
             row_tables.MLX: Peer(row_tables.MLX, "mlx_data.py")}
    results, failures = [], 0
    print(f"{'':<54} {'infeed':>10} {'peer':>10} {'':<11} {'ratio':>8}  {'against':<17}bar")
    try:
        for group in options.groups:
            for row in row_tables.ROWS[group]:
                if options.only not in row.name:
                    continue
                try:
                    for result in measure_row(row, peers, options):
                        result["group"] = group
                        results.append(result)
                        print_row(result)
                except MeasureError as error:
                    failures += 1
                    print(f"{row.name}: {error}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: the rows above are what was measured", file=sys.stderr)
        failures += 1
    finally:
        for peer in peers.values():
            peer.stop()
    missed = [result["name"] for result in results if result.get("bar_met") is False]
    bars = sum("bar" in result for result in results)
    print(f"{len(results)} rows; {bars - len(missed)} of {bars} bars met; {failures} rows failed")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"groups": options.groups, "cores": os.cpu_count(),
                       "machine": platform.processor() or platform.machine(),
                       "rows": results}, file, indent=1)
            file.write("\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
