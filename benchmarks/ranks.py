#!/usr/bin/env python3
"""Measures what the ranks of a training exchange for a step, beside a plain MPI loop of the same collectives.

    benchmarks/ranks.py [--ranks 2 4] [--turns N] [--short]

The sides run by turns; each figure is the median over the turns of a run's median step, and the spread is that of the
turns' ratios. "MPI_Allreduce" stands beside it: its sum isn't that of one process. Build infeed_step_ranks before:

    cmake --build build/release --target infeed_step_ranks infeed_mpi

It measures the machine's cores as much as MPI: give each rank one. Exit status 1 when a row missed its bar.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

BUILD = pathlib.Path(__file__).parents[1] / "build" / "release"
BAR = 1.2
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def step(side, ranks, floats, steps):
    """The microseconds of the median step, and the checksum of the sums."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
               "-n", str(ranks), str(BUILD / "benchmarks" / "infeed_step_ranks"), "--side", side,
               "--floats", str(floats // 4), "--steps", str(steps)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    us, crc = done.stdout.split()
    return float(us), crc


def measure(ranks, floats, steps, turns):
    """A row. Returns whether it met the bar."""
    runs = {side: [] for side in ("infeed", "plain", "allreduce")}
    for _ in range(turns):
        for side, found in runs.items():
            found.append(step(side, ranks, floats, steps))
    crcs = {crc for side in ("infeed", "plain") for _, crc in runs[side]}
    if len(crcs) > 1:
        sys.exit(f"{ranks} ranks: the sums of infeed and of the plain loop differ: {crcs}")
    us = {side: statistics.median(found for found, _ in all_runs) for side, all_runs in runs.items()}
    ratios = sorted(ours / plain for (ours, _), (plain, _) in zip(runs["infeed"], runs["plain"]))
    ratio = us["infeed"] / us["plain"]
    print(f"{ranks:5} {4 * floats / 1e6:7.1f} MB {us['infeed']:12,.0f} us {us['plain']:12,.0f} us {ratio:7.2f} "
          f"{ratios[0]:5.2f}..{ratios[-1]:.2f} {us['allreduce']:12,.0f} us  {'met' if ratio <= BAR else 'MISSED'}",
          flush=True)
    return ratio <= BAR


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="a trial of a few seconds")
    arguments = parser.parse_args()
    turns = 1 if arguments.short else arguments.turns
    print(f"{'ranks':>5} {'gradients':>10} {'infeed':>15} {'plain MPI':>15} {'ratio':>7} {'spread':>11} "
          f"{'MPI_Allreduce':>15}  <= {BAR}")
    met = [measure(ranks, floats, 20 if arguments.short else steps, turns)
           for ranks in arguments.ranks
           for floats, steps in ((100_000, 500), (2_000_000, 100), (25_000_000, 20))
           if not (arguments.short and floats > 10_000_000)]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
