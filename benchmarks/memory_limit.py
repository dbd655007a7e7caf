#!/usr/bin/env python3
"""Measures what pipelines with a memory limit hold at their peak, and what is left when the iterator has gone: by a
counting allocator, by the system (resident memory), and by the iterator's own account. Allowed are the limit, one
result of each call that is under way, and 16 MiB.

    benchmarks/memory_limit.py [--only TEXT] [--arenas N] [--json FILE]

The cases are tests of tests/pipeline/memory, each in a process of its own. Build them before:

    cmake --build build/release --target infeed_pipeline_tests

Takes about a minute. Exit status 1 when a test failed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = "LimitedMemory.*:ParsedImages.*:ParsedSentences.*:ReadRecords.OfManyGzipMembers"
FIGURES = ("limit", "allowed", "counted", "resident", "account", "left")


def names_of(program):
    names, suite = [], ""
    for line in subprocess.check_output([program, "--gtest_list_tests", f"--gtest_filter={TESTS}"],
                                        text=True).splitlines():
        if line.startswith(" "):
            names.append(suite + line.strip())
        else:
            suite = line
    return names


def measured(program, name, environment):
    """The bytes of each figure, as the test noted them, and what failed; None for a test without figures."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([program, f"--gtest_filter={name}", f"--gtest_output=json:{file.name}"],
                              env=environment, stdout=subprocess.PIPE, text=True, check=False)
        test = json.load(file)["testsuites"][0]["testsuite"][0] if os.path.getsize(file.name) else {}
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    if done.returncode == 0 and "limit" not in test:
        return None
    return {"case": name, **{figure: int(test.get(figure, 0)) for figure in FIGURES}, "status": done.returncode}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", default="", help="only the cases whose names hold TEXT")
    parser.add_argument("--arenas", metavar="N", type=int, default=1,
                        help="as MALLOC_ARENA_MAX=N (1; 0: its default): what the C library keeps of freed memory grows "
                             "with its arenas, of which there is one a thread, up to eight a core")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="also writes the rows as JSON, in bytes")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[1]
    program = str(root / "build/release/tests/infeed_pipeline_tests")
    environment = os.environ | ({"MALLOC_ARENA_MAX": str(options.arenas)} if options.arenas else {})
    print(f"| case, in MiB | {' | '.join(FIGURES)} |\n|---{'|---' * len(FIGURES)}|")
    rows = []
    for name in names_of(program):
        row = measured(program, name, environment) if options.only in name else None
        if row:
            rows.append(row)
            figures = " | ".join(f"{row[figure] / 2**20:.1f}" for figure in FIGURES)
            print(f"| {name} | {figures} |{' FAILED' if row['status'] else ''}", flush=True)
    met = sum(row["status"] == 0 for row in rows)
    print(f"{met} of {len(rows)} met")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 0 if rows and met == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
