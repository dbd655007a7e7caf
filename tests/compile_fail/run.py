#!/usr/bin/env python3
"""What must not compile says in one sentence why not, and what to do.

    tests/compile_fail/run.py OUT FILE... -- COMPILER ARGUMENTS...

A file begins with what all of its cases share. A case is one line of comment and the lines behind
it, which stand in a function:

    // case: a mutable lambda
    // error: infeed::map: the function changes itself
    // shows: Element = long int
    auto counted = numbers | map([n = 0](std::int64_t x) mutable { return x + n++; });

The compiler must refuse it with that text in its first error, and that must be the only one. What
`shows` gives (there may be several) stands in that error or in the lines before it, which name the
types. A case that says `// compiles` instead must compile.

All cases of a file are compiled together, and each error belongs to the case that it names. A case
with a complaint is compiled once more alone, since a template of two cases fails only once.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

HEADER = "infeed/infeed.h"
LINES_BEFORE_ERROR_MAX = 12


class Case:
    def __init__(self, file, line, name):
        self.file, self.line, self.name = file, line, name
        self.error, self.shows, self.compiles, self.code = "", [], False, []

    def __str__(self):
        return f"{self.file}:{self.line}: {self.name}"

    def take(self, line):
        found = re.match(r"// (error|shows): (.+)$", line)
        if found and found.group(1) == "error":
            self.error = found.group(2)
        elif found:
            self.shows.append(found.group(2))
        elif line == "// compiles":
            self.compiles = True
        self.code.append(line)

    def has_line(self, line):
        return self.line <= line < self.line + len(self.code)


def source_of(cases, prelude):
    lines = [f'#include <{HEADER}>', f'#line 1 "{cases[0].file}"', *prelude]
    for case in cases:
        lines += [f"void examples_{case.line}() {{", f'#line {case.line} "{case.file}"', *case.code, "}"]
    return "\n".join(lines) + "\n"


def cases_of(file):
    """What the cases share, and the cases."""
    prelude, cases = [], []
    for number, line in enumerate(pathlib.Path(file).read_text().splitlines(), 1):
        found = re.match(r"// case: (.+)$", line)
        if found:
            cases.append(Case(file, number, found.group(1)))
        if cases:
            cases[-1].take(line)
        else:
            prelude.append(line)
    return prelude, cases


def outputs_of(cases, output):
    """What the compiler said of each case: its errors, each behind the lines that led to it. None if an error
    belongs to no case."""
    outputs = [[] for _ in cases]
    begin, owner, place = 0, None, re.compile(re.escape(cases[0].file) + r":(\d+):")
    lines = output.splitlines()
    for number, line in enumerate(lines):
        # Behind an error come lines of source and notes.
        if re.match(r" *\d* \| ", line) or re.search(r"\bnote: ", line):
            begin = number + 1
        elif re.search(r"\berror: ", line):
            # The last place named is where the user's line stands; none is named where it is that of the error before.
            named = [int(found) for text in lines[begin:number + 1] for found in place.findall(text)]
            if named:
                owner = next((index for index, case in enumerate(cases) if case.has_line(named[-1])), None)
            if owner is None:
                return None
            outputs[owner] += lines[begin:number + 1]
            begin = number + 1
    return ["".join(f"{line}\n" for line in lines) for lines in outputs]


def complaint_about(case, status, output):
    """What is wrong with what the compiler said; nothing when it is right."""
    lines = output.splitlines()
    errors = [number for number, line in enumerate(lines) if re.search(r"\berror: ", line)]
    if case.compiles:
        return f"does not compile: {lines[errors[0]]}" if errors or status else ""
    if not case.error:
        return "has no `// error:` and no `// compiles`"
    if not status or not errors:
        return "compiles"
    first, before = lines[errors[0]], "\n".join(lines[:errors[0] + 1])
    if case.error not in first:
        return f"expected '{case.error}' in the first error, which is\n    {first}"
    if len(errors) > 1:
        return f"says more than that:\n    {lines[errors[1]]}"
    if errors[0] > LINES_BEFORE_ERROR_MAX:
        return f"has its error behind {errors[0]} other lines:\n{before}"
    for text in case.shows:
        if text not in before:
            return f"does not show '{text}' before its error:\n{before}"
    return ""


def main():
    at = sys.argv.index("--")
    out, files, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:at], sys.argv[at + 1:]
    # What all cases include is compiled once: a second each otherwise.
    header = out / f"{HEADER}.gch"
    header.parent.mkdir(parents=True, exist_ok=True)
    source = out / "prelude.h"
    source.write_text(f"#include <{HEADER}>\n")
    subprocess.run([*(argument for argument in compiler if argument != "-fsyntax-only"), "-x",
                    "c++-header", str(source), "-o", str(header)], check=True)

    def say(prelude, cases):
        return subprocess.run([compiler[0], f"-I{out}", *compiler[1:], "-x", "c++", "-"], capture_output=True,
                              input=source_of(cases, prelude), text=True,
                              env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})

    def alone(prelude, case):
        done = say(prelude, [case])
        return complaint_about(case, done.returncode, done.stderr)

    def run(prelude, cases):
        outputs = outputs_of(cases, say(prelude, cases).stderr) or [None] * len(cases)
        together = [text is None or complaint_about(case, 1 if text else 0, text) for case, text in zip(cases, outputs)]
        return [bad and alone(prelude, case) for case, bad in zip(cases, together)]

    work = [(prelude, cases) for prelude, cases in map(cases_of, files) if cases]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = [text for texts in pool.map(lambda both: run(*both), work) for text in texts]
    cases = [case for _, cases in work for case in cases]
    wrong = [f"{case}: {text}" for case, text in zip(cases, complaints) if text]
    print("\n".join(wrong + [f"{len(cases)} cases, {len(wrong)} wrong"]))
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
