#!/usr/bin/env python3
"""Plants small mistakes in the sources, one at a time, and says which of them no test finds.

    tests/mutation/mutate.py --only records/codec --minutes 20

Each is built into the module's test program (build/release, made by `cmake --preset release` and
`ninja -C build/release infeed_records_tests`), whose tests run until one fails: those named like the
source, its room's, all. A mistake that the compiler refuses doesn't count. One that no test can find,
since it changes nothing that the code does, is explained in explained.txt.

Prints what survives, and a score for every file and room: the share of mistakes that a test found.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import sys
import tempfile
import time

import building
import judging
import rewriting

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPLAINED = pathlib.Path(__file__).resolve().parent / "explained.txt"
# Where a mistake changes what a user gets.
PLACES = ("records", "pipeline", "device/time")
PARAGRAPH = re.compile(r"((file )?(line (becomes )*)+)+reason ")
# Where no test finds any of so many, the programs that were run don't hold them.
NONE_FOUND_MAX = 30


class Explanations:
    """The mistakes that no test can find, each with the reason; a missing file holds none."""

    def __init__(self, path):
        self.reasons, self.faults = {}, []
        text = path.read_text() if path.exists() else ""
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        file = ""
        for paragraph in filter(None, "\n".join(lines).strip().split("\n\n")):
            fields = [line.partition(": ")[::2] for line in paragraph.splitlines()]
            names = "".join(f"{name} " for name, _ in fields)
            if not PARAGRAPH.fullmatch(names) or not (file or names.startswith("file ")):
                self.faults.append(f"{path.name}: needs the lines file, line, becomes, reason, but has:\n{paragraph}")
                continue
            for (name, text), (behind, _) in zip(fields, fields[1:]):
                if name == "file":
                    file = text
                elif name == "line":
                    before = text
                if name == "becomes" or name == "line" and behind != "becomes":
                    self.reasons[file, before, text if name == "becomes" else ""] = fields[-1][1]

    def explains(self, mutant):
        return mutant.name in self.reasons or (mutant.file, mutant.before, "") in self.reasons

    def stale(self, root):
        """What explains a mistake that can't be made any more."""
        for file in sorted({name[0] for name in self.reasons}):
            place = root / file
            known = set()
            if place.exists():
                mutants = rewriting.mutants_of(file, place.read_text())
                known = {(file, mutant.before, after) for mutant in mutants for after in (mutant.after, "")}
            for name in self.reasons:
                if name[0] == file and name not in known:
                    yield (f"{file}: explained.txt explains what can't be changed there any more; take it "
                           f"out, or write the line as it is now:\n  line: {name[1]}\n  becomes: {name[2]}")


def sources_of(root, only):
    """The sources that are asked for, by file or folder."""
    found = []
    for place in only or PLACES:
        path = root / place
        if not path.exists():
            raise building.Refused(f"{place} isn't in {root}; name a file or a folder, such as records/codec")
        found += [path] if path.is_file() else sorted(path.rglob("*.cc"))
    return [str(path.relative_to(root)) for path in found]


def drawn(mutants, seed, per_file):
    """Some of a file's mistakes, which one seed always draws alike."""
    mutants = list(mutants)
    random.Random(f"{seed} {mutants[0].file if mutants else ''}").shuffle(mutants)
    return mutants[:per_file] if per_file else mutants


def room_of(file):
    return str(pathlib.Path(file).parent)


def score_line(name, states):
    killed, survived = states["killed"], states["survived"]
    share = f"{100 * killed / (killed + survived):5.1f} %" if killed + survived else "      -"
    return (f"{share}  {killed:4} found, {survived:3} survive, {states['explained']:3} explained, "
            f"{states['uncompiled']:3} don't compile  {name}")


def report(results):
    """Prints the scores, and how each survivor looks."""
    by_file, by_room = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for result in results:
        by_file[result["file"]][result["state"]] += 1
        by_room[room_of(result["file"])][result["state"]] += 1
    for result in results:
        if result["state"] == "survived":
            print(f"\n{result['file']}:{result['line']}\n- {result['before']}\n+ {result['after']}")
    print()
    for table in (by_file, by_room):
        for name in sorted(table):
            print(score_line(name, table[name]))
        print()
    total = sum(by_room.values(), collections.Counter())
    print(score_line("in all", total))


def read_results(path):
    """The last result of each mistake."""
    latest = {}
    for line in path.read_text().splitlines():
        result = json.loads(line)
        latest[result["file"], result["line"], result["before"], result["after"]] = result
    return list(latest.values())


def judge_file(judge, explanations, file, mutants, options, keep):
    text = (options.root / file).read_text()
    print(f"{file}: {len(mutants)} mistakes", flush=True)
    judge.prepare(file, text)
    for mutant in mutants:
        if time.monotonic() > options.until:
            return
        began = time.monotonic()
        if explanations.explains(mutant):
            state, by, how = "explained", "", ""
        else:
            state, by, how = judge.judge(mutant, text)
        keep({"file": file, "line": mutant.line, "kind": mutant.kind, "before": mutant.before,
              "after": mutant.after, "state": state, "by": by, "how": how,
              "seconds": round(time.monotonic() - began, 2)})


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PLACE",
                        help=f"a source, a private header or a folder of sources, relative to the tree; default: {', '.join(PLACES)}")
    parser.add_argument("--minutes", type=float, default=30, help="ends behind so many; default: 30")
    parser.add_argument("--seed", type=int, default=1, help="draws the mistakes and the order of the files")
    parser.add_argument("--per-file", type=int, default=20, metavar="N",
                        help="draws so many a file, 0 takes all; default: 20")
    parser.add_argument("--likely", action="store_true",
                        help="runs only the tests named like a source (without any, its room's): quick, but "
                             "another test may find what survives, as --again without this shows")
    parser.add_argument("--list", action="store_true", help="prints the mistakes that would be tried, and ends")
    parser.add_argument("--check", action="store_true",
                        help="checks that explained.txt explains what there is, and ends")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE",
                        help="tries the survivors of these results again")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE", help="prints these results, and ends")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("mutants.jsonl"), metavar="FILE",
                        help="appends a line of JSON for each mistake; default: mutants.jsonl")
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR", help="default: build/release of the tree")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree; default: this script's")
    parser.add_argument("--explained", type=pathlib.Path, default=EXPLAINED, metavar="FILE",
                        help="default: explained.txt beside this script")
    return parser.parse_args(arguments)


def chosen(options):
    """The mistakes to try, file by file."""
    if options.again:
        wanted = {(r["file"], r["before"], r["after"]) for r in read_results(options.again)
                  if r["state"] == "survived"}
        files = sorted({name[0] for name in wanted})
    else:
        wanted, files = None, sources_of(options.root, options.only)
        random.Random(options.seed).shuffle(files)
    for file in files:
        mutants = rewriting.mutants_of(file, (options.root / file).read_text())
        if wanted is None:
            mutants = drawn(mutants, options.seed, options.per_file)
        else:
            mutants = [mutant for mutant in mutants if mutant.name in wanted]
        if mutants:
            yield file, mutants


def run(options, explanations):
    results, refused = [], 0
    with tempfile.TemporaryDirectory(prefix="infeed-mutants-") as scratch, open(options.results, "a") as out:
        build = building.Build(options.build or options.root / "build/release", options.root, scratch)
        judge = judging.Judge(build, lambda line: print(line, flush=True), options.likely)

        def keep(result):
            results.append(result)
            print(json.dumps(result), file=out, flush=True)
            if result["state"] == "survived":
                print(f"  {result['file']}:{result['line']} survives:\n  - {result['before']}\n"
                      f"  + {result['after']}", flush=True)

        for file, mutants in chosen(options):
            if time.monotonic() > options.until:
                break
            try:
                judge_file(judge, explanations, file, mutants, options, keep)
            except building.Refused as refusal:
                print(f"  left out: {refusal}", flush=True)
                refused += 1
    report(results)
    if refused:
        print(f"{refused} files were left out, as said above", file=sys.stderr)
    states = collections.Counter(result["state"] for result in results)
    is_blind = not options.again and states["survived"] > NONE_FOUND_MAX and states["killed"] == 0
    if is_blind:
        print(f"no test finds any of {states['survived']} mistakes: the programs that ran can't hold them; "
              "see how building.py links", file=sys.stderr)
    return 1 if refused or is_blind else 0


def main(arguments):
    options = parsed(arguments)
    options.root = options.root.resolve()
    options.until = time.monotonic() + 60 * options.minutes
    explanations = Explanations(options.explained)
    faults = [*explanations.faults, *explanations.stale(options.root)]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults or options.check:
        return 1 if faults else 0
    try:
        if options.report:
            report(read_results(options.report))
        elif options.list:
            for _, mutants in chosen(options):
                for mutant in mutants:
                    print(f"{mutant.file}:{mutant.line}: {mutant.kind}\n- {mutant.before}\n+ {mutant.after}")
        else:
            return run(options, explanations)
    except building.Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
