#!/usr/bin/env python3
"""Lets other ranks make the batches of a trainer, one rank and then two, by turns, and says how many times as fast two are.

    benchmarks/feed_ranks.py [--infeed PROGRAM] [--batches N] [--repeats N]

The pipeline decodes images of 500x500 and cuts random crops of 224x224 out of them, which keeps more than one core
busy; the trainer takes the batches and does nothing with them. Each rank that makes them has one core, which it shares
with the trainer. The figure is the rate that the trainer saw; the median of N runs (5) counts. Needs two free cores.
Exit status 1 if two ranks are less than 1.7 times as fast.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from convert_ranks import ROOT, write_images
from ranks import ENVIRONMENT

BAR = 1.7
IMAGES = 64


def pipeline(folder, batches):
    stages = [{"stage": "folder", "folder": str(folder)}, {"stage": "repeat"},
              {"stage": "batch", "size": 32}, {"stage": "take", "count": batches},
              {"stage": "random_resized_crop", "column": "content", "width": 224, "height": 224, "dtype": "uint8",
               "seed": 1},
              {"stage": "prefetch"}]
    return json.dumps({"stages": stages})


def rate(options, folder, workers):
    """The batches a second that the trainer took, and their order hash."""
    figures = folder / "taken.json"
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
               "-n", "1", options.infeed, "feed", "--pipeline", str(folder / "pipeline.json"),
               "--take", str(options.batches), "--json", str(figures)]
    for core in sorted(os.sched_getaffinity(0))[:workers]:
        command += [":", "-n", "1", "taskset", "-c", str(core), options.infeed, "feed"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{workers} ranks ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    found = json.loads(figures.read_text())
    return found["batches"] / found["seconds"], found["order_hash"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--infeed", default=os.path.join(ROOT, "build/release/tools/infeed"))
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    runs = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "pipeline.json").write_text(pipeline(write_images(folder, IMAGES, side=500, noise_bits=3), options.batches))
        for _ in range(options.repeats):
            for workers, found in runs.items():
                found.append(rate(options, folder, workers))
    if len({order for found in runs.values() for _, order in found}) > 1:
        sys.exit(f"the order depends on the number of ranks: {runs}")
    rates = {workers: [batches for batches, _ in found] for workers, found in runs.items()}
    for workers, found in rates.items():
        print(f"{workers} ranks make {statistics.median(found):6.1f} batches/s ({min(found):.1f} to {max(found):.1f})")
    ratio = statistics.median(rates[2]) / statistics.median(rates[1])
    print(f"two are {ratio:.2f} times as fast as one (bar {BAR})")
    return 0 if ratio >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
