"""Recordings of runs, as pipeline/recording.md has them: a long one, and those that no run makes."""

import itertools
import json

LARGE_BYTES = 40_000_000
WINDOW_NS = 100_000_000
LATE_NS = 4_000_000


def header():
    return {"infeed_recording": 1, "process": 1, "process_start": 1, "program": "train",
            "host": "here", "started_unix_s": 1.5, "slow_after_ns": 1_000_000}


def stage(number, consumer, name="map", label=None):
    return {"id": number, "name": name, "label": label or name, "path": name, "consumer": consumer,
            "inside": -1, "runs_ahead": number == 0}


def window(begin_ns, stages):
    return {"window": {"begin_ns": begin_ns, "length_ns": WINDOW_NS, "elements": 20,
                       "consumer_wait_ns": 5_000_000, "process_cpu_ns": 1_000_000, "throttled_ns": 0,
                       "cores": 2, "cores_of_others": 0.5, "memory_bytes": 1000,
                       "memory_limit_bytes": 0,
                       "stages": [[i, 20, 100, 1000, 1000, 10, 10, 1, 1, 2, 1]
                                  for i in range(stages)]}}


def slow_call(begin_ns, number, of_stage=3, took_ns=LATE_NS):
    return {"slow": {"begin_ns": begin_ns, "took_ns": took_ns, "cpu_ns": 1000, "preempted_ns": 0,
                     "stage": of_stage, "position": number, "count": 1, "pass": 0, "thread": 1,
                     "waited_in": "file", "file": "a.tfrecord", "record": number, "records": 1,
                     "offset": number}}


def steps(rows):
    return {"steps": [list(row) for row in rows], "measured": True}


def text(lines):
    return "".join(json.dumps(line, separators=(",", ": ")) + "\n" for line in lines)


def usual_stages():
    return {"stages": [stage(i, i - 1, name)
                       for i, name in enumerate(("prefetch", "batch", "map", "records"))]}


def large_recording(path):
    """Of a run of an hour with a late step in each tenth of a second."""
    with open(path, "w", encoding="ascii") as file:
        file.write(text([header(), usual_stages()]))
        for number in itertools.count():
            if file.tell() > LARGE_BYTES:
                return
            at = number * WINDOW_NS
            rows = [(number * 20 + i, at + i * 5_000_000, LATE_NS if i == 0 else 1000, 0, 900_000, 0,
                     0, 1) for i in range(20)]
            file.write(text([window(at, 4), steps(rows), slow_call(at, number)]))


def late_rows(count, wait_ns):
    """Half of the steps wait so long, all at nearly the same time."""
    return [(i, i, wait_ns if i % 2 else 0, 0, 1000, 0, 0, 1) for i in range(count)]


def hostile_recordings():
    """Names with what is in them, and whether they are good for anything."""
    yield "circle", text([header(), {"stages": [stage(0, 1), stage(1, 0)]}, window(0, 2)]), False
    yield "beyond", text([header(), {"stages": [stage(100_000, -1)]}]), False
    yield "deep", text([header(), usual_stages()]) + "[" * 400_000 + "\n{}\n", False
    chain = {"stages": [stage(i, i - 1) for i in range(9_000)]}
    yield "chain", text([header(), chain, window(0, 9_000), steps(late_rows(2_000, LATE_NS))]), True
    begin = [header(), usual_stages(), window(0, 4)]
    # Each late step might look at each call, at each window, at each time when all were held back.
    over_all = steps(late_rows(100_000, 10**15))
    calls = (slow_call(i, i, took_ns=10**12) for i in range(50_000))
    yield "calls", text([*begin, over_all, *calls]), True
    yield "windows", text([*begin, *(window(i, 4) for i in range(20_000)), over_all]), True
    held = ({"held_back": {"begin_ns": i, "end_ns": 10**15 + i}} for i in range(100_000))
    yield "held", text([*begin, over_all, *held]), True
    tuned = ({"tuning": {"at_ns": 2**60, "text": "x"}} for i in range(100_000))
    yield "tuned", text([*begin, over_all, *tuned]), True
    # The label of a megabyte would stand in each late step's sentence.
    label = {"stages": [stage(0, -1, label="x" * (1 << 20))]}
    yield "label", text([header(), label, window(0, 1),
                         steps(late_rows(20_000, LATE_NS))]), True
    # A value of two bytes takes a hundred.
    values = '{"window": [' + "[]," * (5 << 20) + "[]]}\n"
    yield "values", text([header(), usual_stages()]) + values, False
    objects = '{"window": [' + "{}," * (5 << 20) + "{}]}\n"
    yield "objects", text([header(), usual_stages()]) + objects, False
    counts = {"steps": [[0, 0, 10, 0, 1000, 0, 0, 2**62]], "measured": False}
    yield "elements", text([*begin, counts]), True
    histogram = {"histogram": {"stage": 0, "calls_by_log2_ns": [1] * 1_000}}
    yield "histogram", text([*begin, histogram, {"end": {"at_ns": 1, "why": "", "dropped_events": 0}}]), False
