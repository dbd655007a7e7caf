"""A consumer that trains on the processor, alone and beside neighbours that come and go (see autotune.sh)."""

import contextlib
import itertools
import statistics
import subprocess
import sys

WORKLOAD = "training on the cores"
KNOBS = {"map": [0, 1, 2], "prefetch": [0, 1]}
NEAR = 0.95
# Computes for as long as it is away. Neighbours have other periods, so that they meet at times.
NEIGHBOUR = """
import sys, time
away = float(sys.argv[1])
while True:
    time.sleep(away)
    end = time.monotonic() + away
    while time.monotonic() < end:
        pass
"""


@contextlib.contextmanager
def neighbours(count, seconds):
    """They begin anew with each run: all settings have the same company."""
    busy = [subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(seconds / (10 + 3 * index))])
            for index in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure(arguments, autotune, count):
    """The best fixed setting in this company, and then it and the tuner by turns: medians."""
    def run(seconds, extra=()):
        with neighbours(count, arguments.company_seconds):
            result = autotune.run(arguments, WORKLOAD, seconds, extra)
        return autotune.rate(result, 0), result

    settings = [dict(zip(KNOBS, values)) for values in itertools.product(*KNOBS.values())]
    rates = [run(arguments.company_seconds / 2, autotune.setting_arguments(setting))[0]
             for setting in settings]
    best = settings[rates.index(max(rates))]
    oracles, ours = [], []
    for _ in range(arguments.times):
        oracles.append(run(arguments.company_seconds, autotune.setting_arguments(best))[0])
        tuned, result = run(arguments.company_seconds)
        ours.append(tuned)
    ratio = statistics.median(ours) / statistics.median(oracles)
    return {"name": f"{WORKLOAD}, {count or 'no'} neighbour{'' if count == 1 else 's'}",
            "ours": statistics.median(ours), "oracle": statistics.median(oracles), "ratio": ratio,
            "oracle_setting": best, "settings_tried": len(settings), "times": arguments.times,
            "all_ours": ours, "all_oracles": oracles,
            "changes": len(result.get("changes") or []), "bar_met": ratio >= NEAR,
            "prediction_errors": autotune.errors_of(result), "log": result["log"]}
