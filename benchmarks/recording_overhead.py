#!/usr/bin/env python3
"""Measures what recording a run costs: each row of compare.sh's engine group with and without.

    benchmarks/recording_overhead.py [--program PROGRAM] [--before PROGRAM] [--turns N]
                                     [--seconds S] [--only TEXT] [--json FILE]

PROGRAM is build/release/benchmarks/infeed_compare, which benchmarks/compare.sh builds. Each turn is a
process that runs a row nine times without recording and nine times with it, by turns, each for about
a third of S seconds and as many elements; a turn's ratio is the median of its pairs, a row's the
median of its turns. Under 3 % more is met. (One process for each form, the quickest of six of either
counting, scattered by 2 % and more: where memory lies, and what else the machine did.)
The process has a second thread that sleeps (--idle-thread), as programs that train have: the
recorder's own would otherwise be the process's second one, from which on the C library takes its
locks, and a row that allocates would pay for those.
--before is the same program of another tree; its figure without recording is compared as well, by
the quickest turns: that of ours may be 1 % more (both without the second thread). A row whose turns
differ by more than the bar says so. Exit status 1 when a bar is missed.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks" / "compare"))

from rows import ENGINE  # noqa: E402 (it lies beside the peers' programs)

ON_MAX = 1.03
OFF_MAX = 1.01

# Where an element costs a nanosecond, up to a fifth of it depends on where its chunks and batches
# happen to lie in memory, which anything allocated before them changes. So the C library lays out
# memory in another way in each turn, in the same way for all forms of a turn.
LAYOUTS = ["perturb=0", "tcache_count=2", "tcache_count=0", "tcache_max=64", "mxfast=0",
           "tcache_count=20"]


class Runs:
    """Runs of a row, all of as many elements: what the program takes in a third of the seconds."""

    def __init__(self, name, seconds, program):
        self._arguments = ["--row", name, "--seconds", str(seconds)]
        elements = int(seconds / 3 * 1e9 / self.measure(program)["ours"]) + 1
        self._arguments += ["--elements", str(elements)]

    def measure(self, program, layout=LAYOUTS[0], *more):
        environment = dict(os.environ)
        environment.pop("INFEED_PROFILE", None)
        environment["GLIBC_TUNABLES"] = "glibc.malloc." + layout
        ran = subprocess.run([program, *self._arguments, *more], capture_output=True, text=True,
                             env=environment, check=True)
        return json.loads(ran.stdout.splitlines()[-1])


def turns_of(arguments, name, folder):
    """Nanoseconds an element, a list for each form."""
    figures = {"off": [], "on": []}
    if arguments.before:
        figures |= {"alone": [], "before": []}
    runs = Runs(name, arguments.seconds, arguments.program)
    for turn in range(arguments.turns):
        recording = str(pathlib.Path(folder, f"{turn}.profile"))
        layout = LAYOUTS[turn % len(LAYOUTS)]
        if arguments.before:
            figures["before"].append(runs.measure(arguments.before, layout)["ours"])
            figures["alone"].append(runs.measure(arguments.program, layout)["ours"])
        both = runs.measure(arguments.program, layout, "--idle-thread", "--recording", recording)
        figures["off"].append(both["ours"])
        figures["on"].append(both["other"])
        for file in pathlib.Path(folder).iterdir():
            file.unlink()
    return figures


def judge(name, figures):
    ratios = [on / off for on, off in zip(figures["on"], figures["off"])]
    row = {"name": name, "unit": "ns/element", "off": statistics.median(figures["off"]),
           "on_ratio": statistics.median(ratios), "ratios": ratios,
           "is_noisy": max(ratios) - min(ratios) > ON_MAX - 1}
    row["on"] = row["off"] * row["on_ratio"]
    row["bar_met"] = row["on_ratio"] < ON_MAX
    if "before" in figures:
        row |= {form: min(figures[form]) for form in ("alone", "before")}
        row["off_ratio"] = row["alone"] / row["before"]
        row["bar_met"] = row["bar_met"] and row["off_ratio"] < OFF_MAX
    return row


def line_of(row):
    before = (f"{row['before']:.2f} | {row['alone']:.2f} | {100 * (row['off_ratio'] - 1):+.1f} % | "
              if "before" in row else "")
    bar = "met" if row["bar_met"] else "MISSED"
    return (f"| {row['name']} | {before}{row['off']:.2f} | {row['on']:.2f} | "
            f"{100 * (row['on_ratio'] - 1):+.1f} % | {bar}{', noisy' if row['is_noisy'] else ''} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program",
                        default=str(ROOT / "build" / "release" / "benchmarks" / "infeed_compare"))
    parser.add_argument("--before")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.9)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if arguments.turns < 2:
        parser.error("--turns: two at least, or noise can't be told")
    for program in filter(None, (arguments.program, arguments.before)):
        if not os.access(program, os.X_OK):
            parser.error(f"there is no program {program}; benchmarks/compare.sh builds it")
    rows = []
    head = ["row"] + (["before, ns", "alone, ns", "alone against it"]
                      if arguments.before else []) + \
        ["off, ns", "on, ns", "on against off", "bar"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for row in ENGINE:
            if row.unit != "ns/element" or arguments.only not in row.name:
                continue
            rows.append(judge(row.name, turns_of(arguments, row.name, folder)))
            print(line_of(rows[-1]), flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n",
                                                encoding="utf-8")
    return 0 if rows and all(row["bar_met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
