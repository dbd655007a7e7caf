#!/usr/bin/env python3
"""Compiles the examples of the public headers, so that none names what isn't there.

    tests/examples/extract.py OUT [--root DIR] [--prelude FILE] [-- COMPILER ARGUMENTS...]

An example is what a `///` comment indents by four spaces more than its text; it is always C++. What
is no C++ (output, files, formulas) stands between ```text and ```. Stages behind each other in a
sentence would be compiled by nobody, so they are refused there unless they stand in backticks. The
blocks of one comment are one example: the second may use what the first declares. In an example
- functions, classes and templates go to namespace scope and everything else into a function,
- an expression may lack its semicolon, and `...` at the end of a line stands for any statement,
- names that nothing declares come from the prelude.

This writes two sources to OUT, in which #line names the header, and compiles them where a compiler
is given.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# Those of a line are compiled together: half of the time goes into reading the headers.
SOURCES = {
    "pipeline": ["pipeline"],
    "other": ["records", "device", "tools"],
}
COMMENT = re.compile(r"\s*///(?!/)<?( ?)(.*)$")
INDENT = 4

# Stages behind each other, but in a table.
STAGES = re.compile(r"(?!\|).*\)\s*\|\s*[\w:]+\(")
BACKTICKS = re.compile(r"`[^`]*`")

# What is no code: strings, characters (not the ' of 10'000) and comments.
NO_CODE = re.compile(r'"(?:\\.|[^"\\])*"|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\])\'|//.*')
GOES_ON = re.compile(r"[|.,:?=&{})]|<<|(else|catch)\b")
AT_NAMESPACE = re.compile(r"(template|struct|class|enum|union|inline|namespace)\b")
SPECIALIZATION = re.compile(r"template <>")
CONTROL = re.compile(r"(for|while|if|switch|try|do|return|throw)\b")
FUNCTION = re.compile(r"[\w:<>&*, ]+[ &*]\w+\([^{}=]*\)( const)? \{")
# Each parameter is a type and a name; the arguments of an object's constructor never look so.
DECLARATION = re.compile(r"[\w:<>]+ \w+\((?:(?:const )?[\w:<>]+[&*]? \w+(?:, )?)+\);")


class BadExample(Exception):
    pass


def code_of(line):
    """The line without comments; of strings only the quotes stay."""
    return NO_CODE.sub(lambda found: "" if found.group(0).startswith("//") else '""', line).rstrip()


def comment_at(line):
    """Where the line's comment begins; its length without one."""
    return next((found.start() for found in NO_CODE.finditer(line)
                 if found.group(0).startswith("//")), len(line))


def comments_of(text):
    """The blocks of consecutive /// lines: lists of (line number, text behind the `/// `)."""
    block = []
    for number, line in enumerate(text.splitlines(), 1):
        found = COMMENT.match(line)
        if found:
            block.append((number, found.group(2) if found.group(2).strip() else ""))
        elif block:
            yield block
            block = []
    if block:
        yield block


def code_blocks_of(comment, header):
    """The indented blocks of a comment: lists of (line number, code). An empty line between two
    indented ones belongs to the block."""
    block, empty, fence = [], [], None
    for number, text in comment:
        if text.startswith("```"):
            if fence is None and text != "```text":
                raise BadExample(f"{header}:{number}: '{text}': C++ is indented by {INDENT} spaces; "
                                 "what is no C++ stands between ```text and ```")
            fence = None if fence else number
        elif fence:
            continue
        elif text.startswith(" " * INDENT):
            block += empty + [(number, text[INDENT:])]
            empty = []
        elif not text and block:
            empty.append((number, ""))
        else:
            if STAGES.match(BACKTICKS.sub("", text)):
                raise BadExample(f"{header}:{number}: stages in a sentence are compiled by nobody: "
                                 f"indent them by {INDENT} spaces, or put what is no C++ into "
                                 "backticks")
            if block:
                yield block
            block, empty = [], []
    if fence:
        raise BadExample(f"{header}:{fence}: nothing ends this ```text")
    if block:
        yield block


def items_of(block):
    """The statements and definitions of a block, each a list of (line number, code)."""
    item, depth = [], 0
    for index, (number, line) in enumerate(block):
        code = code_of(line)
        if not item and not code.strip():
            continue
        item.append((number, line))
        depth += sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
        following = next((text for _, text in block[index + 1:] if code_of(text).strip()), None)
        ended = following is None or (
            not following.startswith(" ") and not GOES_ON.match(following)
            and not re.fullmatch(r"template <.*>", code))
        if ended and depth == 0:
            yield item
            item = []
    if item:
        yield item  # the compiler says which bracket is open


def with_semicolon(item):
    """A semicolon behind the last code, and an empty block for each `...` at the end of a line."""
    lines = []
    for number, line in item:
        at = comment_at(line)
        code, comment = line[:at].rstrip(), line[at:]
        if code.endswith("..."):
            code = code[:-len("...")] + "{}"
        lines.append((number, code, comment))
    last = max(index for index, (_, code, _) in enumerate(lines) if code)
    number, code, comment = lines[last]
    lines[last] = (number, code if code.endswith(";") else code + ";", comment)
    return [(number, f"{code}  {comment}".rstrip()) for number, code, comment in lines]


class Example:
    """What one comment shows: items at global scope, at namespace scope and in a function."""

    def __init__(self, header, comment):
        self.header = header
        self.specializations, self.definitions, self.statements = [], [], []
        for block in code_blocks_of(comment, header):
            for item in items_of(block):
                self._place(item).append(with_semicolon(item))
        places = self.specializations + self.definitions + self.statements
        self.line = min((item[0][0] for item in places), default=None)

    def _place(self, item):
        text = " ".join(code_of(line).strip() for _, line in item)
        if SPECIALIZATION.match(text):
            return self.specializations
        if CONTROL.match(text):
            return self.statements
        if AT_NAMESPACE.match(text) or FUNCTION.match(text) or DECLARATION.fullmatch(text):
            return self.definitions
        return self.statements

    def source_of(self, items):
        lines = []
        for item in items:
            lines.append(f'#line {item[0][0]} "{self.header}"')
            lines += [line for _, line in item]
        return lines


def examples_of(root, header):
    for comment in comments_of((root / header).read_text()):
        example = Example(header, comment)
        if example.line is not None:
            yield example


def public_headers(root, module):
    found = [path.relative_to(root).as_posix() for path in (root / module).rglob("*.h")]
    return sorted(name for name in found if "/include/infeed/" in name)


def source_of(headers, examples, prelude):
    """A specialization stands before all that may use it, outside of its example's namespace."""
    lines = [f"#include <{header.split('/include/', 1)[1]}>" for header in headers]
    lines += [f'#include "{prelude}"', "using namespace examples;"]
    for example in examples:
        lines += example.source_of(example.specializations)
    for example in examples:
        name = re.sub(r"\W", "_", example.header.split("/include/infeed/", 1)[1])
        lines += [f"namespace examples::{name}_{example.line} {{"]
        lines += example.source_of(example.definitions)
        lines += ["void example() {"] + example.source_of(example.statements) + ["}", "}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].strip())
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--prelude", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent / "prelude.h")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    compiler = words[at + 1:]
    arguments = parser.parse_args(words[:at])
    arguments.out.mkdir(parents=True, exist_ok=True)

    sources, count, documented = [], 0, set()
    try:
        for name, modules in SOURCES.items():
            headers = [header for module in modules
                       for header in public_headers(arguments.root, module)]
            examples = [example for header in headers
                        for example in examples_of(arguments.root, header)]
            if not examples:
                continue
            count += len(examples)
            documented |= {example.header for example in examples}
            sources.append(arguments.out / f"{name}_examples.cc")
            sources[-1].write_text(source_of(headers, examples, arguments.prelude))
    except BadExample as error:
        print(error)
        return 1

    def compile_source(source):
        return subprocess.run([*compiler, source], cwd=arguments.root, capture_output=True, text=True)

    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(compile_source, sources if compiler else []):
            failed = failed or done.returncode != 0
            print(done.stderr, end="")
    what = "were extracted" if not compiler else "don't all compile" if failed else "compile"
    print(f"{count} examples of {len(documented)} headers {what}")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
