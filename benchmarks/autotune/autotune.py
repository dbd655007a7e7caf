"""Compares the tuner with the best fixed setting of each workload (see autotune.sh)."""

import argparse
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys

import company
import tuner_report

BUCKET_SECONDS = 0.1
BUDGET_MIB = 64
NEAR = 0.95
OTHERS_SECONDS_MAX = 20  # what they give is no better known after longer

# Knobs of each workload and the values of its grid; 0 workers is the serial form.
CORES = [0, 1, 2]
WAITERS = [0, 1, 4, 16, 32, 64]
THREAD = [0, 1]
GRIDS = {
    "computing": {"map": CORES, "prefetch": THREAD},
    "waiting": {"map": WAITERS, "prefetch": THREAD},
    "waiting, slow consumer": {"map": [0, 1, 2, 4, 6, 8, 16], "prefetch": THREAD},
    "two in balance": {"map[1] 'a'": CORES, "map[2] 'b'": CORES, "prefetch": THREAD},
    "waiting and computing": {"map[1] 'a'": [0, 1, 8, 16, 32, 64], "map[2] 'b'": CORES},
    "tiny elements": {"map": CORES, "prefetch": THREAD},
    "one of 100 is slow": {"map": CORES, "prefetch": THREAD},
    "storage stalls": {"map[2]": CORES, "prefetch": THREAD, "prefetch/depth": [2, 16, 256, 4096]},
    "cached": {"map": CORES, "prefetch": THREAD},
    "slow consumer": {"map": CORES, "prefetch": THREAD},
    "a serial filter": {"map": CORES, "prefetch": THREAD},
    "read and parse": {"parse_batch": CORES, "prefetch": THREAD},
    "JPEG": {"batch_into": CORES, "prefetch": THREAD},
}


def run(arguments, name, seconds, extra=(), group=None, on_start=None):
    """One run of a workload, in a process of its own."""
    command = [arguments.program, name, "--seconds", str(seconds), "--data", arguments.data,
               "--memory", str(BUDGET_MIB), *extra]

    def enter():
        if group:
            pathlib.Path(group, "tasks").write_text(str(os.getpid()), encoding="utf-8")

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=enter) as process:
        if on_start:
            on_start()
        text = process.communicate()[0]
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    return json.loads(text)


def core_to_core_ns(arguments):
    """How far the cores are from each other, which a virtual machine's change now and then."""
    done = subprocess.run([arguments.program, "--core-distance"], capture_output=True, text=True,
                          check=True)
    return float(done.stdout)


def run_by_turns(arguments, name, seconds, extra=()):
    """A run that is compared with others: with the cores' distance before and after it."""
    before = core_to_core_ns(arguments)
    result = run(arguments, name, seconds, extra)
    result["core_to_core_ns"] = [before, core_to_core_ns(arguments)]
    return result


def are_comparable(tuned, oracles):
    """The oracle's two runs are alike, and the cores were as far from each other in all three."""
    rates = [rate(oracle) for oracle in oracles]
    distances = [ns for result in (tuned, *oracles) for ns in result["core_to_core_ns"]]
    return max(rates) <= 1.05 * min(rates) and max(distances) <= 2 * min(distances)


def setting_arguments(setting):
    return [word for knob, value in setting.items() for word in ("--set", f"{knob}={value}")]


def rate(result, begin=1.0, end=None):
    """Elements a second between two times; the last bucket may be cut short."""
    buckets = result["elements"][:-1]
    first, last = int(begin / BUCKET_SECONDS), None if end is None else int(end / BUCKET_SECONDS)
    part = buckets[first:last]
    return sum(part) / (len(part) * BUCKET_SECONDS) if part else 0.0


def best_setting(arguments, name):
    """The quickest of the grid; of those within 2 % of it, the one with the fewest workers."""
    knobs = GRIDS[name]
    results = []
    for values in itertools.product(*knobs.values()):
        setting = dict(zip(knobs, values))
        if setting.get("prefetch") == 0 and setting.get("prefetch/depth", 2) != 2:
            continue
        result = run(arguments, name, arguments.grid_seconds, setting_arguments(setting))
        results.append((rate(result, arguments.grid_seconds / 3), sum(
            value for knob, value in setting.items() if "/" not in knob), setting))
    most = max(result[0] for result in results)
    near = [result for result in results if result[0] >= 0.98 * most]
    return min(near, key=lambda result: (result[1], -result[0]))[2], len(results)


def seconds_to(result, wanted):
    """When the rate of half a second first is near the wanted one, and stays so on average."""
    buckets = [count / BUCKET_SECONDS for count in result["elements"][:-1]]
    for at in range(len(buckets) - 5):
        if (statistics.mean(buckets[at:at + 5]) >= NEAR * wanted
                and statistics.mean(buckets[at:]) >= NEAR * wanted):
            return round(at * BUCKET_SECONDS, 1)
    return None


def errors_of(result):
    return [abs(change["predicted"] / change["after"] - 1)
            for change in result.get("changes") or [] if change["after"]]


def run_tfdata(arguments, name):
    """The rate of tf.data's AUTOTUNE once it has settled, and what its memory grew by."""
    if not arguments.python:
        return None
    seconds = arguments.seconds
    command = [arguments.python, str(pathlib.Path(__file__).with_name("tfdata_shapes.py")), name,
               str(seconds), arguments.data, str(BUDGET_MIB)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"tf.data, {name}: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return None
    result = json.loads(done.stdout)
    settled = rate(result, seconds / 2)
    return {"rate": settled, "resident_mib": result["resident_mib"],
            "seconds_to_its_5_percent": seconds_to(result, settled)}


def missed_bars(row):
    """By name; the tuner's own thread and 2 MiB are no miss, whatever the ratio."""
    bars = {
        "rate": row["ratio"] >= NEAR,
        "seconds": row["seconds_to_5_percent"] is not None and row["seconds_to_5_percent"] <= 5,
        "changes": row["changes"] <= 3,
        "regret": row["regret_seconds"] < 60 or row["regret"] < 0.05,
        "budget": row["memory_over_budget_mib"] <= 32,
        "memory": row["memory_ratio"] <= 1.3 or row["memory_more_mib"] <= 2,
        "threads": row["threads_ratio"] <= 1.3 or row["threads_more"] <= 1,
    }
    return [name for name, met in bars.items() if not met]


def run_baselines(arguments, name):
    """The rates of what people do instead."""
    seconds = min(arguments.seconds, OTHERS_SECONDS_MAX)
    return {
        "all 1": rate(run(arguments, name, 3, setting_arguments(
            {knob: 1 for knob in GRIDS[name] if "/" not in knob}))),
        "all cores": rate(run(arguments, name, 3, setting_arguments(
            {knob: 1 if knob == "prefetch" else os.cpu_count()
             for knob in GRIDS[name] if "/" not in knob}))),
        "fixed choice": rate(run(arguments, name, 3, ["--mode", "off"])),
        "hill climbing": rate(run(arguments, name, seconds, ["--mode", "hill"]), seconds / 2),
    }


def measure(arguments, name):
    setting, settings = best_setting(arguments, name)
    extra = setting_arguments(setting)
    seconds = arguments.seconds
    oracle_seconds = min(seconds, OTHERS_SECONDS_MAX)
    again = 0
    while True:
        first = run_by_turns(arguments, name, oracle_seconds, extra)
        tuned = run_by_turns(arguments, name, seconds)
        second = run_by_turns(arguments, name, oracle_seconds, extra)
        is_comparable = are_comparable(tuned, (first, second))
        if is_comparable or again == arguments.again:
            break
        again += 1
    peer = None if arguments.regret else run_tfdata(arguments, name)
    oracles = [rate(first), rate(second)]
    oracle = statistics.mean(oracles)
    ours = rate(tuned, min(5.0, seconds / 2))
    total = sum(tuned["elements"][:-1])
    baselines = {} if arguments.regret else run_baselines(arguments, name)
    if peer:
        baselines["tf.data"] = peer["rate"]
    memory = [tuned["resident_mib"], max(first["resident_mib"], second["resident_mib"])]
    row = {
        "name": name,
        "ours": ours,
        "oracle": oracle,
        "ratio": ours / oracle,
        "oracle_setting": setting,
        "settings_tried": settings,
        "oracle_spread": max(oracles) / min(oracles) - 1,
        "measured_again": again,
        "is_comparable": is_comparable,
        "seconds_to_5_percent": seconds_to(tuned, oracle),
        "changes": len(tuned.get("changes") or []),
        "regret": 1 - total / (oracle * len(tuned["elements"][:-1]) * BUCKET_SECONDS),
        "regret_seconds": seconds,
        "memory_mib": memory[0],
        "memory_over_budget_mib": max(0.0, memory[0] - BUDGET_MIB),
        "memory_ratio": memory[0] / max(1.0, memory[1]),
        "memory_more_mib": memory[0] - memory[1],
        "threads_ratio": tuned["threads_end"] / max(1, first["threads_end"]),
        "threads_more": tuned["threads_end"] - first["threads_end"],
        "prediction_errors": errors_of(tuned),
        "baselines": baselines,
        "tfdata": peer,
        "log": tuned["log"],
    }
    row["missed"] = missed_bars(row)
    row["bar_met"] = not row["missed"]
    return row


def measure_phases(arguments):
    """A change of the work in the middle of the run: how long until the rate is the later one's."""
    seconds = arguments.seconds
    tuned = run(arguments, "another phase", 2 * seconds)
    halves = [rate(tuned, seconds / 2, seconds), rate(tuned, 1.5 * seconds, 2 * seconds)]
    after = [count / BUCKET_SECONDS for count in tuned["elements"][int(seconds / BUCKET_SECONDS):-1]]
    reached = next((index for index in range(len(after) - 5)
                    if statistics.mean(after[index:index + 5]) >= NEAR * halves[1]), None)
    took = None if reached is None else round(reached * BUCKET_SECONDS, 1)
    return {"name": "another phase", "ours": halves[1], "before": halves[0],
            "seconds_to_5_percent": took, "bar_met": took is not None and took <= 2,
            "changes": len(tuned.get("changes") or []), "prediction_errors": errors_of(tuned),
            "log": tuned["log"]}


def measure_quota(arguments):
    """Half of the CPU time is taken away in the middle of the run, by a real control group."""
    group = pathlib.Path("/sys/fs/cgroup/cpu/infeed-autotune")
    try:
        group.mkdir(exist_ok=True)
    except OSError as error:
        return {"name": "half the quota", "bar_met": None, "why": f"no control group: {error}"}
    quota = group / "cpu.cfs_quota_us"
    seconds = arguments.seconds

    def cut_in_the_middle():
        signal.signal(signal.SIGALRM, lambda *_: quota.write_text("100000", encoding="utf-8"))
        signal.setitimer(signal.ITIMER_REAL, seconds)

    try:
        quota.write_text("200000", encoding="utf-8")
        tuned = run(arguments, "computing", 2 * seconds, group=group, on_start=cut_in_the_middle)
        quota.write_text("100000", encoding="utf-8")
        rates = [rate(run(arguments, "computing", 3, setting_arguments(setting), group=group))
                 for setting in ({"map": 0, "prefetch": 0}, {"map": 1, "prefetch": 1},
                                 {"map": 2, "prefetch": 1})]
    finally:
        quota.write_text("-1", encoding="utf-8")
        group.rmdir()
    oracle = max(rates)
    ours = rate(tuned, seconds + 2, 2 * seconds)
    answered = "may use 1 cores" in tuned["log"]
    return {"name": "half the quota", "ours": ours, "oracle": oracle, "ratio": ours / oracle,
            "changes": len(tuned.get("changes") or []), "bar_met": ours >= NEAR * oracle and answered,
            "prediction_errors": errors_of(tuned), "log": tuned["log"]}


def measure_neighbours(arguments, names):
    """A busy process on each core: the tuner must not lose to the serial form. All runs are as long and
    compared by their later halves; the kernel's shares differ from one run to the next, and where the
    serial form's do, by 5 %, both are measured again, and all that was measured counts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count() or 1)]
    rows = []

    def rate_beside(extra):
        result = run(arguments, name, arguments.seconds, extra)
        return rate(result, arguments.seconds / 2), result

    try:
        for name in names:
            serial = {knob: 0 for knob in GRIDS[name] if "/" not in knob}
            others = [rate_beside(setting_arguments(serial))[0]]
            ours = []
            for again in range(arguments.again + 1):
                tuned, result = rate_beside(())
                ours.append(tuned)
                others.append(rate_beside(setting_arguments(serial))[0])
                if max(others) <= 1.05 * min(others):
                    break
            tuned, other = statistics.mean(ours), statistics.mean(others)
            rows.append({"name": f"busy neighbours: {name}", "ours": tuned, "oracle": other,
                         "ratio": tuned / other, "bar_met": tuned >= 0.97 * other,
                         "oracle_spread": max(others) / min(others) - 1, "measured_again": again,
                         "log": result["log"]})
    finally:
        for process in busy:
            process.kill()
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--python", help="of an environment with TensorFlow; without it no tf.data")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seconds", type=float, help="of each run: 20, or 6 with --short")
    parser.add_argument("--only", default="")
    parser.add_argument("--regret", action="store_true", help="of a minute, and nothing else")
    arguments = parser.parse_args()
    given = arguments.seconds
    arguments.seconds = given or (60 if arguments.regret else 6 if arguments.short else 20)
    arguments.grid_seconds = 1.0 if arguments.short else 2.0
    arguments.company_seconds = given or (8 if arguments.short else 60)
    arguments.times = 1 if arguments.short else 5
    arguments.again = 1 if arguments.short or arguments.regret else 3
    rows = []
    print(tuner_report.HEAD, flush=True)

    def add(row):
        rows.append(row)
        print(tuner_report.line(row), flush=True)
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")

    has_photos = pathlib.Path(arguments.data, "photos").is_dir()
    names = [name for name in GRIDS if arguments.only in name and (name != "JPEG" or has_photos)]
    for name in names:
        add(measure(arguments, name))
    if arguments.only in "another phase" and not arguments.regret:
        add(measure_phases(arguments))
    if arguments.only in "half the quota" and not arguments.regret:
        add(measure_quota(arguments))
    if arguments.only in "busy neighbours" and not arguments.regret:
        for row in measure_neighbours(arguments, names or list(GRIDS)):
            add(row)
    if arguments.only in company.WORKLOAD and not arguments.regret:
        for count in (0, 1, 2):
            add(company.measure(arguments, sys.modules[__name__], count))
    print("\n" + tuner_report.after_the_table(rows))
    if arguments.svg:
        pathlib.Path(arguments.svg).write_text(tuner_report.chart(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
