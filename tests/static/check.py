#!/usr/bin/env python3
"""The checks that need no build and take a second or two.

    tests/static/check.py [--root DIR] [CHECK...]

Prints a line for every finding (file:line: what, and what to do) and ends with status 1 if there is
any. check_test.py proves that every check can fail, in a small tree of its own (--root).
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from code_shape import check_classes, check_returns  # noqa: F401
from comments import check_comments  # noqa: F401
from promises import check_promises  # noqa: F401

# From lowest to highest; each may include itself and what stands before it. Folders that are not
# named here (tests, benchmarks) may include everything.
MODULES = ["records", "pipeline", "device", "tools"]
LIBRARIES = MODULES[:-1]
LINES_WARN = 400
LINES_MAX = 450
FILE_BYTES_MAX = 1_000_000
FOLDER_FILES_MAX = 30
HEADER_LINES_MAX = 250
CONTRACT_LINES_MIN = 40  # a header that is shorter is seen at a glance

PLUMBING = re.compile(r"namespace (\w+::)*detail \{")
ERROR = re.compile(r"\bError\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

BLOCK_MARKERS = [f"<!-- {kind}: " for kind in ("code", "program", "project", "json")]

# Written with brackets so that this file doesn't find itself.
MARKS = re.compile(
    r"\b([T]ODO|[F]IXME|[X]XX|[H]ACK)\b|\b[n]ot (yet )?implemented\b|\b[G]TEST_SKIP\b"
    r"|TEST(_F|_P)?\([^,]*,\s*[D]ISABLED_"
    r"|^([<]{7}|[>]{7})( |$)",  # what a merge leaves where it doesn't know
)
PLACES = re.compile(
    r"(?<![\w.$}*])/([w]ork|[r]oot|[h]ome/(?!user\b|you\b)\w+|tmp/(b|venv)-)(/|\b)"
    r"|\b([p]ypi|[p]ythonhosted|[n]pmjs|[c]rates|[c]onda|[d]eb\.debian|[s]ecurity\.debian|[p]kg\.dev|[q]uay)\."
    r"(org|io|com|dev)\b|[-]-(extra-)?index-url",
)
# Explanations of fields and rules that legitimately name such things would go here: none so far.


class Tree:
    """The tracked files; without git (an unpacked archive) every file outside the build folder."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        names = self._tracked() or self._found()
        self.files = sorted(name for name in names if (self.root / name).is_file())
        self.sources = [name for name in self.files if name.endswith((".cc", ".h"))]

    def _tracked(self):
        if not (self.root / ".git").exists():
            return []
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=self.root, capture_output=True, check=True)
        return [name for name in listing.stdout.decode().split("\0") if name]

    def _found(self):
        names = []
        for folder, folders, files in os.walk(self.root):
            if pathlib.Path(folder) == self.root:
                folders[:] = [name for name in folders if name not in (".git", "build", ".cache")]
            folders[:] = [name for name in folders if name != "__pycache__"]
            names += [str((pathlib.Path(folder) / name).relative_to(self.root)) for name in files]
        return names

    def lines(self, name):
        """The numbered lines of a text file; none for a binary one."""
        data = (self.root / name).read_bytes()
        if b"\0" in data[:8192]:
            return []
        return list(enumerate(data.decode(errors="replace").splitlines(), 1))


def found_by(run, names):
    """What run finds in the files, some at a time on each core."""
    groups = [names[i:i + 8] for i in range(0, len(names), 8)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(run, groups):
            yield from found


def check_format(tree):
    """Sources look as .clang-format says."""

    def run(names):
        done = subprocess.run(["clang-format", "--dry-run", "-Werror", *names],
                              cwd=tree.root, capture_output=True, text=True)
        bad = sorted(set(re.findall(r"^(.+?):\d+:\d+: error:", done.stderr, re.M)))
        if done.returncode and not bad:
            return [f"clang-format failed: {done.stderr.strip()[:300]}"]
        return [f"{name}: is not formatted; run clang-format -i {name}" for name in bad]

    yield from found_by(run, tree.sources)


def module_of(name):
    top = name.split("/", 1)[0]
    return top if top in MODULES else None


def public_headers(tree):
    """By the way they are included: the module's include/ and those of its rooms look alike."""
    return {name.split("/include/", 1)[1]: name
            for name in tree.sources if module_of(name) and "/include/" in name}


def check_layering(tree):
    """A lower module doesn't include a higher one, nor another one's private headers.

    The build sees to the first already, as a higher module is not on the include path; this finds
    ways round it, and says more clearly what is wrong.
    """
    files = set(tree.files)
    public = public_headers(tree)
    for name in tree.sources:
        module = module_of(name)
        for number, line in tree.lines(name):
            found = INCLUDE.match(line)
            if not found:
                continue
            included = found.group(2)
            if module and ".." in included.split("/"):
                yield (f"{name}:{number}: includes {included}; a path with .. goes round the include "
                       "path: name the header as its module offers it")
            if module is None:
                continue
            owner = module_of(public.get(included, ""))
            if owner and MODULES.index(owner) > MODULES.index(module):
                yield (f"{name}:{number}: includes {included} of the higher module {owner}; "
                       f"the order is {' <- '.join(MODULES)}")
            owner = module_of(included) if included in files else None
            if owner and owner != module:
                yield f"{name}:{number}: includes {included}, a private header of {owner}"


def check_rooms(tree):
    """In pipeline/ the engine knows no stage, and a stage includes the engine and public headers,
    never another room's private one."""
    files = set(tree.files)
    public = public_headers(tree)
    for name in tree.sources:
        module, *rooms = name.split("/")[:-1]
        if module != "pipeline" or not rooms or rooms[0] == "include":
            continue
        for number, line in tree.lines(name):
            found = INCLUDE.match(line)
            included = found.group(2) if found else ""
            private = f"pipeline/{included}" in files
            target = f"pipeline/{included}" if private else public.get(included, "")
            if not target.startswith("pipeline/"):
                continue
            room = target.split("/")[1]
            if room == rooms[0]:
                continue
            if room == "tune":
                continue  # it decides, and knows nobody
            if rooms[0] == "engine":
                yield (f"{name}:{number}: the engine includes {included} of {room}; what both need "
                       "belongs into the engine")
            elif private and room != "engine":
                yield (f"{name}:{number}: includes {included}, a private header of the room {room}; "
                       "what both need belongs into the engine or a public header")


def check_folders(tree):
    """One sees at a glance what a folder of the two lower libraries holds."""
    counts = {}
    for name in tree.files:
        folder = os.path.dirname(name)
        if folder.split("/")[0] in ("records", "pipeline"):
            counts[folder] = counts.get(folder, 0) + 1
    for folder, count in sorted(counts.items()):
        if count > FOLDER_FILES_MAX:
            yield f"{folder}: holds {count} files, more than {FOLDER_FILES_MAX}: give what belongs together a room"


def check_public_headers(tree):
    """Public headers include the C++ standard library and infeed only, so that whoever includes them
    needs neither fmt nor TBB nor zlib. They are short and begin with what a user reads."""
    for name in tree.sources:
        if not re.match(rf"({'|'.join(LIBRARIES)})/(.*/)?include/.*\.h$", name):
            continue
        lines = tree.lines(name)
        if len(lines) > HEADER_LINES_MAX:
            yield (f"{name}: has {len(lines)} lines, more than {HEADER_LINES_MAX} for a public header: "
                   "move what no user reads to detail/")
        plumbing = next((number for number, line in lines if PLUMBING.match(line)), len(lines) + 1)
        contract = next((number for number, line in lines if line.startswith("/// Why")), 0)
        if len(lines) > CONTRACT_LINES_MIN and contract > plumbing and "/detail/" not in name:
            yield (f"{name}:{contract}: the first contract (/// Why) stands behind a namespace detail: "
                   "declare what it describes first, and define it below the plumbing")
        if not any(line.strip() == "#pragma once" for _, line in lines):
            yield f"{name}:1: has no #pragma once"
        for number, line in lines:
            found = INCLUDE.match(line)
            if not found or found.group(2).startswith("infeed/"):
                continue
            if found.group(1) == '"' or re.search(r"[./]", found.group(2)):
                yield (f"{name}:{number}: includes {found.group(2)}; a public header includes only "
                       "the C++ standard library and infeed: move it to the .cc")


def public_includes(tree, name):
    """The public headers that it includes, and what those include."""
    by_include = {header.rsplit("/include/", 1)[1]: header for header in tree.sources
                  if "/include/" in header}
    found, left = set(), [name]
    while left:
        for _, line in tree.lines(left.pop()):
            include = INCLUDE.match(line)
            header = by_include.get(include.group(2)) if include else None
            if header and header not in found:
                found.add(header)
                left.append(header)
    return found


def check_errors(tree):
    """A public header that speaks of Error declares it: whoever includes nothing else can catch one."""
    for name in tree.sources:
        if "/include/" not in name or "/detail/" in name or name.startswith("tests/"):
            continue
        if name.endswith("include/infeed/error.h"):
            continue
        number = next((number for number, line in tree.lines(name) if ERROR.search(line)), 0)
        if number and not any(header.endswith("include/infeed/error.h")
                              for header in public_includes(tree, name)):
            yield (f"{name}:{number}: speaks of Error, which it doesn't declare: "
                   "include infeed/error.h")


def anchors_of(tree, name):
    """What the headings of a page are called in a link, as GitHub does it."""
    text = "\n".join(line for _, line in tree.lines(name))
    headings = re.findall(r"^#{1,6} +(.+?) *$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(tree):
    """What a README points at is there, and so is the heading."""
    files = set(tree.files)
    folders = {os.path.dirname(name) for name in tree.files}
    for name in tree.files:
        if not name.endswith(".md"):
            continue
        for number, line in tree.lines(name):
            for target in re.findall(r"(?:\]\(|\bsrc(?:set)?=\")([^)\s\"]+)[)\"]", line):
                if "://" in target:
                    continue
                place, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), place)) if place else name
                there = path in files or any(f"{folder}/".startswith(f"{path}/") for folder in folders)
                if there and anchor and path.endswith(".md"):
                    there = anchor in anchors_of(tree, path)
                if not there:
                    yield f"{name}:{number}: points at {target}, which is not there"


def check_blocks(tree):
    """A test compiles, runs or reads each block of code that a page shows: it is found by its marker."""
    for name in tree.files:
        if not name.endswith(".md"):
            continue
        before = ""
        for number, line in tree.lines(name):
            if re.match(r"```(cpp|json|cmake)\b", line) and not before.startswith(tuple(BLOCK_MARKERS)):
                yield (f"{name}:{number}: no test knows this block: put <!-- code: NAME --> before it, and run it as "
                       "infeed_shown_code() in tests/CMakeLists.txt does")
            before = line


def check_length(tree):
    """A source file is short enough to be read in one sitting."""
    for name in tree.files:
        size_bytes = (tree.root / name).stat().st_size
        if size_bytes > FILE_BYTES_MAX:
            yield f"{name}: has {size_bytes} bytes, more than {FILE_BYTES_MAX}: make it when it is needed"
        if not name.endswith((".cc", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt")):
            continue
        count = len(tree.lines(name))
        if count > LINES_MAX:
            yield f"{name}: has {count} lines, more than {LINES_MAX}: split it by what it does"
        elif count > LINES_WARN:
            print(f"{name}: warning: has {count} lines; over {LINES_MAX} the check fails")


def find_pattern(tree, pattern, advice):
    for name in tree.files:
        for number, line in tree.lines(name):
            found = pattern.search(line)
            if found:
                yield f"{name}:{number}: '{found.group(0)}': {advice}"


def check_marks(tree):
    """Nothing is left for later, and no test is switched off."""
    return find_pattern(tree, MARKS, "finish it, or open an issue; no marks and no skipped tests in the tree")


def check_places(tree):
    """Nothing names a place that only one machine has, nor a package registry."""
    return find_pattern(tree, PLACES, "a place of one machine or one network; take it from the environment")


def check_shell(tree):
    """Scripts pass shellcheck, and what starts with #! can be started."""
    scripts = []
    for name in tree.files:
        first = next(iter(tree.lines(name)), (1, ""))[1]
        if first.startswith("#!") and not os.access(tree.root / name, os.X_OK):
            yield f"{name}: starts with #! but is not executable; run chmod +x {name}"
        if name.endswith(".sh") or re.match(r"#!.*\b(ba)?sh\b", first):
            scripts.append(name)

    def run(names):
        done = subprocess.run(["shellcheck", "-x", "-f", "gcc", *names], cwd=tree.root, capture_output=True, text=True)
        return done.stdout.splitlines() + done.stderr.splitlines()

    yield from found_by(run, scripts)


CHECKS = {name[len("check_"):]: function
          for name, function in list(globals().items()) if name.startswith("check_")}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS) + " (default: all)")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2],
                        help="the tree to check (default: this one)")
    arguments = parser.parse_args(words)
    unknown = set(arguments.checks) - set(CHECKS)
    if unknown:
        parser.error(f"unknown check {', '.join(sorted(unknown))}: there are {', '.join(CHECKS)}")
    tree = Tree(arguments.root)
    count = 0
    for name in arguments.checks or CHECKS:
        for finding in CHECKS[name](tree):
            print(f"{finding} [{name}]")
            count += 1
    print(f"{len(tree.files)} files checked, {count} finding{'' if count == 1 else 's'}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
