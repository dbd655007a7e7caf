"""Random pipelines: infeed and tf.data give the same values, order, errors and ends, three epochs long.

    INFEED_TEST_SEED=7 INFEED_PIPELINES=3000 tests/interop/run.sh test_pipelines.py

INFEED_CORPUS=FILE keeps the pipelines that were compared, with what tf.data gave, for
tests/pipeline/drawn/drawn_corpus_test.cc, which runs them without TensorFlow.
"""

import collections
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import programs

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261121"))
PIPELINES = int(os.environ.get("INFEED_PIPELINES", "150"))
ELEMENTS_MAX = int(os.environ.get("INFEED_PIPELINE_ELEMENTS", "300"))
CORPUS = os.environ.get("INFEED_CORPUS")
AT_ONCE = 250
MEMORY_BYTES_MAX = 8 << 30

# What may follow an error so that both sides still mean the same. Elsewhere infeed departs from tf.data
# knowingly: an error counts as the element whose place it takes, takes no others with it, is there in
# every epoch of a cache, and never changes what a parallel interleave gives.
SAME_WITH_ERRORS = {"range", "failing_range", "map", "map_fails", "filter", "filter_fails",
                    "take_while", "scan", "unique", "flat_map", "skip_errors", "prefetch",
                    "enumerate", "repeat", "concatenate", "window"}
PASSES = {"repeat", "repeat_take", "cache", "concatenate"}
CUTS = {"take", "take_while", "repeat_take", "zip"}


def branches(pipeline):
    """Each way from a source to the end, as a list of stages."""
    path = []
    for stage in pipeline["stages"]:
        for other in branches(stage["other"]) if "other" in stage else []:
            yield other + [stage] + pipeline["stages"][len(path) + 1:]
        path.append(stage)
    yield path


def draws_depend_on_what_was_cut(path):
    """tf.data counts the passes of a shuffle that were begun; infeed numbers them by their place, so
    that a prefetch that runs ahead changes nothing. They part where passes are cut off unbegun."""
    shuffled = passes = False
    for stage in path:
        passes = passes or (shuffled and stage["op"] in PASSES)
        if passes and stage["op"] in CUTS:
            return True
        shuffled = shuffled or (stage["op"] == "shuffle" and stage["reshuffle"] == 1)
    return False


def errors_mean_something_else(path):
    failed = False
    for stage in path:
        failed = failed or "fail" in stage["op"]
        if stage["op"] == "skip_errors":
            failed = False
        if failed and stage["op"] not in SAME_WITH_ERRORS:
            return True
    return False


def why_not_compared(pipeline, streams):
    paths = list(branches(pipeline))
    if any(draws_depend_on_what_was_cut(path) for path in paths):
        return "passes cut off unbegun"
    has_errors = any("fail" in stage["op"] for path in paths for stage in path)
    if has_errors and any(errors_mean_something_else(path) for path in paths):
        return "errors where elements are counted"
    return None


def causes(streams):
    """Without what infeed adds: which window an error belongs to."""
    return [[re.sub("^! (the window .*, which failed: )+", "! ", element) for element in stream]
            for stream in streams]


def run_with_tensorflow(cases):
    """The streams of each case; a case at which TensorFlow crashed or hung has none."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for case in cases:
            file.write(json.dumps({"pipeline": case["pipeline"]}) + "\n")
        file.flush()
        limit = lambda: resource.setrlimit(resource.RLIMIT_DATA,
                                           (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
        child = subprocess.run([sys.executable, "tfdata_pipelines.py", file.name], text=True,
                               stdout=subprocess.PIPE, timeout=1200, preexec_fn=limit, check=False)
    done = [json.loads(line)["streams"] for line in child.stdout.splitlines()]
    if len(done) == len(cases):
        return done
    return done + [None] + run_with_tensorflow(cases[len(done) + 1:])


class RandomPipelines(unittest.TestCase):
    def test_give_what_tensorflow_gives(self):
        lines = programs.drawn_pipelines(SEED, PIPELINES, ELEMENTS_MAX)
        cases = [json.loads(line) for line in lines]
        reasons = collections.Counter()
        compared = []
        for case in cases:
            reason = why_not_compared(case["pipeline"], case["streams"])
            reasons[reason or "compared"] += 1
            if reason is None:
                compared.append(case)
        self.assertGreater(len(compared), PIPELINES // 2, reasons)
        different = []
        for begin in range(0, len(compared), AT_ONCE):
            part = compared[begin:begin + AT_ONCE]
            for case, theirs in zip(part, run_with_tensorflow(part)):
                self.assertIsNotNone(theirs, f"TensorFlow crashed at {json.dumps(case['pipeline'])}")
                if theirs != causes(case["streams"]):
                    different.append({**case, "tensorflow": theirs})
        print(f"seed {SEED}: {dict(reasons)}, {len(different)} different", file=sys.stderr)
        if CORPUS and not different:
            with open(CORPUS, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"pipeline": case["pipeline"], "streams": case["streams"]},
                                           separators=(",", ":")) + "\n" for case in compared)
        for case in different[:5]:
            print(json.dumps(case), file=sys.stderr)
        self.assertEqual(different, [], "the first of them are above")


if __name__ == "__main__":
    unittest.main()
