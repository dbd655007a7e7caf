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

BUCKET_SECONDS = 0.1
BUDGET_MIB = 64
NEAR = 0.95

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


def measure(arguments, name):
    setting, settings = best_setting(arguments, name)
    extra = setting_arguments(setting)
    seconds = arguments.seconds
    again = 0
    while True:
        first = run(arguments, name, seconds, extra)
        tuned = run(arguments, name, seconds)
        second = run(arguments, name, seconds, extra)
        oracles = [rate(first), rate(second)]
        if max(oracles) <= 1.05 * min(oracles) or again == arguments.again:
            break
        again += 1
    oracle = statistics.mean(oracles)
    ours = rate(tuned, min(5.0, seconds / 2))
    total = sum(tuned["elements"][:-1])
    baselines = {
        "all 1": rate(run(arguments, name, 3, setting_arguments(
            {knob: 1 for knob in GRIDS[name] if "/" not in knob}))),
        "fixed choice": rate(run(arguments, name, 3, ["--mode", "off"])),
        "hill climbing": rate(run(arguments, name, seconds, ["--mode", "hill"]), seconds / 2),
    }
    within = seconds_to(tuned, oracle)
    changes = len(tuned.get("changes") or [])
    row = {
        "name": name,
        "ours": ours,
        "oracle": oracle,
        "ratio": ours / oracle,
        "oracle_setting": setting,
        "settings_tried": settings,
        "oracle_spread": max(oracles) / min(oracles) - 1,
        "measured_again": again,
        "seconds_to_5_percent": within,
        "changes": changes,
        "regret": 1 - total / (oracle * len(tuned["elements"][:-1]) * BUCKET_SECONDS),
        "memory_over_budget_mib": max(0.0, tuned["resident_mib"] - BUDGET_MIB),
        "memory_ratio": tuned["resident_mib"] / max(1.0, first["resident_mib"]),
        "threads_ratio": tuned["threads_end"] / max(1, first["threads_end"]),
        "prediction_errors": errors_of(tuned),
        "baselines": baselines,
        "log": tuned["log"],
    }
    row["bar_met"] = (row["ratio"] >= NEAR and within is not None and within <= 5
                      and row["memory_over_budget_mib"] <= 32)
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
    """A busy process on each core: the tuner must not lose to the serial form."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count() or 1)]
    rows = []
    try:
        for name in names:
            serial = {knob: 0 for knob in GRIDS[name] if "/" not in knob}
            before = rate(run(arguments, name, arguments.seconds / 2, setting_arguments(serial)))
            tuned = rate(run(arguments, name, arguments.seconds), arguments.seconds / 2)
            after = rate(run(arguments, name, arguments.seconds / 2, setting_arguments(serial)))
            other = (before + after) / 2
            rows.append({"name": f"busy neighbours: {name}", "ours": tuned, "oracle": other,
                         "ratio": tuned / other, "bar_met": tuned >= 0.97 * other})
    finally:
        for process in busy:
            process.kill()
    return rows


def chart(rows):
    """Bars of ours over the oracle, as SVG."""
    rows = [row for row in rows if row.get("ratio")]
    height = 24 * len(rows) + 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" '
             'font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>',
             '<text x="10" y="20">Tuner over the best fixed setting (the line: 0.95)</text>']
    for index, row in enumerate(rows):
        top = 34 + 24 * index
        width = min(1.5, row["ratio"]) * 280
        colour = "#2a7" if row["bar_met"] else "#c63"
        parts.append(f'<text x="10" y="{top + 14}">{row["name"]}</text>'
                     f'<rect x="300" y="{top}" width="{width:.0f}" height="18" fill="{colour}"/>'
                     f'<text x="{306 + width:.0f}" y="{top + 14}">{row["ratio"]:.2f}</text>')
    parts.append(f'<line x1="566" x2="566" y1="30" y2="{height - 6}" stroke="black"/></svg>')
    return "\n".join(parts)


def show(row):
    def text(key, form="{:.2f}"):
        value = row.get(key)
        return "" if value is None else form.format(value)

    errors = row.get("prediction_errors") or []
    print(f"| {row['name']} | {text('ours', '{:,.0f}')} | {text('oracle', '{:,.0f}')} | "
          f"{text('ratio')} | {text('seconds_to_5_percent', '{:.1f}')} | {text('changes', '{}')} | "
          f"{text('regret')} | {text('memory_ratio')} | {text('threads_ratio')} | "
          f"{max(errors, default=0):.0%} | {'yes' if row['bar_met'] else 'NO'} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.seconds = 6 if arguments.short else 20
    arguments.grid_seconds = 1.0 if arguments.short else 2.0
    arguments.again = 1 if arguments.short else 3
    print("| workload | tuner/s | best fixed/s | ratio | seconds to 5 % | changes | regret | memory "
          "| threads | worst prediction | bar met |\n|---|---|---|---|---|---|---|---|---|---|---|")
    rows = []

    def add(row):
        rows.append(row)
        show(row)

    names = [name for name in GRIDS if arguments.only in name]
    for name in names:
        add(measure(arguments, name))
    if arguments.only in "another phase":
        add(measure_phases(arguments))
    if arguments.only in "half the quota":
        add(measure_quota(arguments))
    if arguments.only in "busy neighbours":
        for row in measure_neighbours(arguments, list(GRIDS)):
            add(row)
    errors = sorted(error for row in rows for error in row.get("prediction_errors") or [])
    if errors:
        print(f"\n{len(errors)} predictions: median off by {statistics.median(errors):.0%}, 95th "
              f"percentile by {errors[int(0.95 * (len(errors) - 1))]:.0%}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if arguments.svg:
        pathlib.Path(arguments.svg).write_text(chart(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
