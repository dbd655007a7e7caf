#!/usr/bin/env python3
"""Lists each source with its lines and branches and how many of them were reached, by what clang's counters wrote.

    sources.py BUILD COUNTS [--lines-min PERCENT]

Prints the rooms and the sources with most unreached lines; BUILD/sources.txt has all, BUILD/html each line. Exit status 1
if fewer lines than PERCENT are reached.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("records", "pipeline", "device", "tools")
SHOWN = 25


def tool(name):
    """LLVM's program of the version that wrote the counts, that of clang++."""
    version = re.search(r"version (\d+)", subprocess.run(["clang++", "--version"], check=True, capture_output=True, text=True).stdout)
    return shutil.which(f"{name}-{version[1]}") or name


def programs_of(build):
    """All that has counters: what a test links or runs."""
    found = []
    for file in build.rglob("*"):
        if not file.is_file() or file.is_symlink() or "CMakeFiles" in file.parts:
            continue
        if file.suffix != ".so" and not (file.suffix == "" and os.access(file, os.X_OK)):
            continue
        sections = subprocess.run(["readelf", "--section-headers", "--wide", file], capture_output=True, text=True, check=False)
        if "__llvm_covmap" in sections.stdout:
            found.append(str(file))
    return sorted(found)


class Tally:
    """Counts of (all, reached) by kind."""

    def __init__(self):
        self.lines, self.branches = [0, 0], [0, 0]

    def add(self, summary):
        for tally, kind in ((self.lines, "lines"), (self.branches, "branches")):
            tally[0] += summary[kind]["count"]
            tally[1] += summary[kind]["covered"]

    @property
    def unreached(self):
        return self.lines[0] - self.lines[1]

    @property
    def percent(self):
        return 100 * self.lines[1] / max(self.lines[0], 1)

    def text(self, name):
        branches = 100 * self.branches[1] / max(self.branches[0], 1)
        return (f"{self.percent:6.1f} % of {self.lines[0]:6} lines, {self.unreached:5} unreached; "
                f"{branches:6.1f} % of {self.branches[0]:6} branches  {name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("counts", type=pathlib.Path)
    parser.add_argument("--lines-min", type=float, default=92)
    given = parser.parse_args()

    merged = given.build / "counts.profdata"
    written = sorted(map(str, given.counts.glob("*.profraw")))
    if not written:
        sys.exit(f"no program wrote counts to {given.counts}: no test ran")
    subprocess.run([tool("llvm-profdata"), "merge", "--sparse", "--failure-mode=all", "-o", merged, *written], check=True)
    programs = programs_of(given.build)
    which = [programs[0], *(f"--object={program}" for program in programs[1:]), f"--instr-profile={merged}",
             "--ignore-filename-regex=/(tests|benchmarks|build|python)/|^/usr/"]
    exported = subprocess.run([tool("llvm-cov"), "export", "--summary-only", *which], check=True, capture_output=True, text=True)

    rooms, sources = collections.defaultdict(Tally), {}
    for file in json.loads(exported.stdout)["data"][0]["files"]:
        name = os.path.relpath(file["filename"], ROOT)
        room = name.split(os.sep)[0]
        if room not in ROOMS:
            continue
        sources[name] = Tally()
        for tally in (sources[name], rooms[room], rooms["all"]):
            tally.add(file["summary"])
    by_unreached = sorted(sources, key=lambda name: (-sources[name].unreached, name))
    (given.build / "sources.txt").write_text("".join(f"{sources[name].text(name)}\n" for name in by_unreached))
    with open(given.build / "html.log", "w", encoding="utf-8") as log:
        subprocess.run([tool("llvm-cov"), "show", "--format=html", f"--output-dir={given.build / 'html'}", *which], check=False,
                       stdout=log, stderr=log)
    for name in by_unreached[:SHOWN]:
        print(sources[name].text(name))
    print()
    for room in (*ROOMS, "all"):
        print(rooms[room].text(room))
    if rooms["all"].percent < given.lines_min:
        sys.exit(f"fewer than {given.lines_min} % of all lines are reached")


if __name__ == "__main__":
    main()
