"""The check of the promise table for check.py: each test and script that it names is there."""

import os
import re

PAGE, HEADING = "README.md", "## What is promised, and how it is tested"
SCRIPT = re.compile(r"[\w./]+/[\w.]+\.(sh|py)$")
GTEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)")
CTEST = re.compile(r"add_test\(NAME ([\w.]+)")


def rows_of(tree):
    """Yields the number and the cells of each row of the table."""
    in_section = False
    for number, line in tree.lines(PAGE) if PAGE in tree.files else []:
        if line.startswith("## "):
            in_section = line == HEADING
        elif in_section and line.startswith("|") and not re.match(r"\|( promise|-)", line):
            yield number, [cell.strip() for cell in line.strip("|").split("|")]


def tests_of(tree):
    """Returns the names of tests: Suite.Test of GoogleTest, and those that CMake adds."""
    names = set()
    for name in tree.files:
        if name.startswith(("tests/", "benchmarks/")) and name.endswith((".cc", "CMakeLists.txt")):
            text = (tree.root / name).read_text(errors="replace")
            if name.endswith(".cc"):
                names |= {".".join(found) for found in GTEST.findall(text)}
            else:
                names |= set(CTEST.findall(text))
    return names


def check_promises(tree):
    """The README's table of promises names tests and scripts that are there, and has a figure for each promise."""
    rows = list(rows_of(tree))
    tests = tests_of(tree) if rows else set()
    for number, cells in rows:
        place = f"{PAGE}:{number}"
        if len(cells) != 3 or not all(cells):
            yield f"{place}: a promise has three cells: what is promised, the tests in `code`, and the last figure"
            continue
        named = re.findall(r"`([^`]+)`", cells[1])
        if not named:
            yield f"{place}: no test is named: put the names of its tests or scripts in `code`"
        for code in named:
            first, *others = code.split()
            scripts = [first, *(os.path.join(os.path.dirname(first), word) for word in others if word.endswith(".py"))]
            if SCRIPT.match(first):
                for script in scripts:
                    if script not in tree.files:
                        yield f"{place}: the script {script} is not there"
            elif not any(name == first or (first.endswith("*") and name.startswith(first[:-1])) for name in tests):
                yield f"{place}: no test is called {first}"
