#!/usr/bin/env python3
"""Compiles and runs a README's program and compares what it prints with what the README says.

    run.py README.md WORK_FOLDER --infeed-build FOLDER [-- cmake options]

The program is the first block that opens with ```cpp; its output is the next one that opens with
```text. The program is built outside, against infeed installed into WORK_FOLDER.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class ReadmeError(Exception):
    """The README isn't as this test needs it; the text says what to do."""


def extract(readme):
    """The program and the output that a README shows."""
    text = readme.read_text()
    fences = list(re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", text, re.M | re.S))
    programs = [at for at, fence in enumerate(fences) if fence.group(1) == "cpp"]
    if not programs:
        raise ReadmeError(f"{readme} has no block that opens with ```cpp: add the program")
    outputs = [fence for fence in fences[programs[0] + 1:] if fence.group(1) == "text"]
    if not outputs:
        raise ReadmeError(f"{readme} has no ```text block after its program: add what the program prints")
    program = fences[programs[0]].group(2)
    if "int main(" not in program:
        raise ReadmeError(f"{readme}: the first ```cpp block has no main(): the program must be whole")
    return program, outputs[0].group(2)


def compare(expected, printed):
    """What differs, as a text; empty when nothing does."""
    return "".join(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True),
                                        "what the README says", "what the program prints"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("readme", type=pathlib.Path)
    parser.add_argument("work_folder", type=pathlib.Path)
    parser.add_argument("--infeed-build", required=True, help="a built build folder of infeed")
    words = [*sys.argv[1:], "--"]
    end = words.index("--")
    arguments, cmake_options = parser.parse_args(words[:end]), words[end + 1:-1]
    try:
        program, expected = extract(arguments.readme)
    except (ReadmeError, OSError) as error:
        sys.exit(str(error))
    work = arguments.work_folder.resolve()
    work.mkdir(parents=True, exist_ok=True)
    source = work / "readme.cc"
    source.write_text(program)
    subprocess.run([HERE.parent / "install_and_build.sh", arguments.infeed_build, HERE, work / "outside",
                    f"-DREADME_PROGRAM={source}", *cmake_options], check=True)
    printed = subprocess.run([work / "outside/build/consumer_readme"], capture_output=True, text=True, check=True)
    difference = compare(expected, printed.stdout)
    if difference:
        sys.exit(f"the README's program prints something else; put this into the README, or mend it:\n{difference}")


if __name__ == "__main__":
    main()
