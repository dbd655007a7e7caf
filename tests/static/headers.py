#!/usr/bin/env python3
"""Compiles each public header alone, in less than half of the time that this takes one by one.

    headers.py --modules FILE --compiler PROGRAM [--launcher PROGRAM] [--folder FOLDER]

FILE has a line per library: its include folders and its public headers, two lists with ; between which
stands |. CMake writes it: see CMakeLists.txt.

A compilation of one header reads the standard library for a second. So some headers that many others
include are precompiled, and a header begins with the largest of these that brings it nothing but what
it includes itself, by itself or by others. What it forgets is therefore still missing: it can't come
out of what was precompiled.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# From small to large.
BASES = ("string", "string vector", "functional string", "infeed/error.h",
         "functional infeed/error.h memory vector", "infeed/records/record.h",
         "infeed/pipeline/options.h", "infeed/pipeline/node.h", "infeed/pipeline/dataset.h",
         "infeed/pipeline/detail/elementwise.h", "infeed/device/tape.h")
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", re.M)


class Headers:
    """The public headers of all libraries, by the name with which they are included."""

    def __init__(self, text):
        self.folders = {}
        self.includes = {}
        for line in text.splitlines():
            folders, headers = (part.split(";") for part in line.split("|"))
            for path in headers:
                name = re.sub(".*/include/", "", path)
                self.folders[name] = [folder for folder in folders if folder]
                self.includes[name] = INCLUDE.findall(pathlib.Path(path).read_text(encoding="utf-8"))
        self.reached = {}

    def reaches(self, name):
        """The header itself and all that it includes, down to the names of the standard library's."""
        if name not in self.reached:
            self.reached[name] = {name}  # a circle ends here
            self.reached[name] = {name}.union(*map(self.reaches, self.includes.get(name, ())))
        return self.reached[name]

    def base_of(self, name, bases):
        """The last base that brings nothing else than the header does; None: each would."""
        fitting = [base for base in bases
                   if set().union(*map(self.reaches, base.split())) <= self.reaches(name)]
        return fitting[-1] if fitting else None


class Compiler:
    def __init__(self, words, folder):
        self.words = [*words, "-std=c++20", "-O0", "-g0", "-MD"]  # -MD: ccache's depend mode
        self.folder = pathlib.Path(folder)

    def run(self, headers, ending, folders, *options):
        """Compiles a file that includes these; returns its name and what the compiler complained of."""
        source = self.folder / (re.sub(r"\W", "_", headers) + ending)
        source.write_text("".join(f"#include <{header}>\n" for header in headers.split()),
                          encoding="utf-8")
        done = subprocess.run(
            [*self.words, *(f"-I{folder}" for folder in folders), *options, str(source)],
            capture_output=True, text=True, check=False)
        return source, done.stderr if done.returncode else ""

    def precompile(self, base, folders):
        output = self.folder / (re.sub(r"\W", "_", base) + ".h.gch")
        return self.run(base, ".h", folders, "-x", "c++-header", "-o", str(output))

    def compile(self, header, folders, base):
        options = ["-c", "-o", str(self.folder / (re.sub(r"\W", "_", header) + ".o"))]
        return self.run(header, ".cc", folders, *options, *(["-include", str(base)] if base else []))[1]


def find_faults(headers, compiler, bases):
    """Yields each header that doesn't compile alone, and what the compiler said."""
    used = {name: headers.base_of(name, bases) for name in headers.folders}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        # Any header that begins with a base has the folders that the base needs.
        folders = {base: headers.folders[name] for name, base in used.items() if base}
        made = dict(zip(folders, threads.map(compiler.precompile, folders, folders.values())))
        # What isn't there is left out: the header's own error is the clearer one.
        paths = {base: path for base, (path, said) in made.items() if not said}
        names = sorted(used)
        said = threads.map(compiler.compile, names, (headers.folders[name] for name in names),
                           (paths.get(used[name]) for name in names))
        yield from ((name, text) for name, text in zip(names, said) if text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", required=True, type=pathlib.Path)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--launcher", default="", help="such as ccache")
    parser.add_argument("--folder", help="for what is compiled; without it one that is removed")
    arguments = parser.parse_args()
    headers = Headers(arguments.modules.read_text(encoding="utf-8"))
    for base in BASES:
        if unknown := [name for name in base.split()
                       if name.startswith("infeed/") and name not in headers.folders]:
            print(f"{__file__}: BASES has {unknown[0]}, which is no public header (any more)")
            return 1
    words = [*arguments.launcher.split(";"), arguments.compiler]
    with tempfile.TemporaryDirectory(prefix="infeed-headers-") as folder:
        if arguments.folder:
            folder = arguments.folder
            os.makedirs(folder, exist_ok=True)
        compiler = Compiler([word for word in words if word], folder)
        count = 0
        for name, said in find_faults(headers, compiler, BASES):
            count += 1
            print(f"<{name}> doesn't compile alone:\n{said}")
    print(f"{len(headers.folders)} public headers, {count} of which don't compile alone")
    return 1 if count or not headers.folders else 0


if __name__ == "__main__":
    sys.exit(main())
