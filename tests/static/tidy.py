#!/usr/bin/env python3
"""clang-tidy over every source of ours that a build folder compiles, with the checks of .clang-tidy.

    tests/static/tidy.py BUILD_FOLDER [--deep] [FILE...]

Needs a configured build folder (its compile_commands.json); of what is built only generated headers.
A file that passed is not checked again until it, a header that it includes, its compile command or
the settings change. --deep adds the static analyzer, which takes several times as long.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Options of the compile command that clang doesn't know (g++'s names of warnings), and the compilers'
# own warnings, which are errors in the build already.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]
DEEP = ["--checks=clang-analyzer-*"]


def digest_of(*parts):
    value = hashlib.sha256()
    for part in parts:
        value.update(part if isinstance(part, bytes) else str(part).encode())
        value.update(b"\0")
    return value.hexdigest()


class Unit:
    """One source and the way it is compiled."""

    def __init__(self, entry, cache, options, settings):
        self.folder = entry["directory"]
        self.source = pathlib.Path(entry["file"])
        self.name = str(self.source.relative_to(ROOT))
        self.command = entry.get("command") or shlex.join(entry["arguments"])
        # Remembers the files that were read and the digest of all that a verdict depends on.
        self.stamp = cache / (digest_of(self.name)[:24] + ".json")
        self.options = options
        self.settings = settings

    def headers(self):
        """What the source includes, itself among it (system headers are left out)."""
        words = [word for word in shlex.split(self.command) if word != "-c"]
        if os.path.basename(words[0]) == "ccache":
            words = words[1:]
        if "-o" in words:
            at = words.index("-o")
            del words[at:at + 2]
        listing = subprocess.run([*words, "-MM", "-MT", "x"], cwd=self.folder, capture_output=True, text=True)
        names = listing.stdout.replace("\\\n", " ").split()[1:]
        return [str((pathlib.Path(self.folder) / name).resolve()) for name in names]

    def digest(self, files):
        return digest_of(self.command, self.settings, *[pathlib.Path(file).read_bytes() for file in files])

    def passed_before(self):
        try:
            stamp = json.loads(self.stamp.read_text())
            return stamp["digest"] == self.digest(stamp["files"])
        except (OSError, ValueError, KeyError):
            return False

    def check(self, build_folder):
        """What clang-tidy finds in the source, as text; empty when it passed."""
        files = self.headers()
        digest = self.digest(files)
        done = subprocess.run(["clang-tidy", "--quiet", "-p", str(build_folder), *self.options, str(self.source)],
                              cwd=ROOT, capture_output=True, text=True)
        found = done.stdout.strip()
        if done.returncode and not found:
            found = f"{self.name}: clang-tidy failed: {done.stderr.strip()[-2000:]}"
        if not done.returncode and not found and files:
            self.stamp.write_text(json.dumps({"digest": digest, "files": files}))
        return found.replace(str(ROOT) + "/", "")


class Progress:
    """One line that counts up on a terminal; in a log a line every ten seconds."""

    def __init__(self, total):
        self.total, self.done, self.printed = total, 0, time.monotonic()
        self.lock = threading.Lock()

    def step(self, name, found):
        with self.lock:
            self.done += 1
            terminal = sys.stdout.isatty()
            if found:
                print(("\r\x1b[K" if terminal else "") + found, flush=True)
            if terminal:
                print(f"\r\x1b[K    {self.done} of {self.total}  {name[:60]}", end="", flush=True)
            elif time.monotonic() - self.printed >= 10:
                print(f"    {self.done} of {self.total}", flush=True)
                self.printed = time.monotonic()

    def finish(self):
        if sys.stdout.isatty() and self.total:
            print("\r\x1b[K", end="")


def load_units(build_folder, options, wanted):
    cache = build_folder / "tidy"
    cache.mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
    rules = [file.read_bytes() for file in (ROOT / ".clang-tidy", ROOT / "tests/.clang-tidy")]
    settings = digest_of(version, *rules, *options)
    units = {}
    for entry in json.loads((build_folder / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"]).resolve()
        if ROOT not in source.parents or build_folder in source.parents:
            continue  # generated sources, such as those that verify the headers
        entry["file"] = str(source)
        unit = Unit(entry, cache, options, settings)
        if not wanted or unit.name in wanted:
            units.setdefault(unit.name, unit)
    return list(units.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build_folder", type=pathlib.Path)
    parser.add_argument("--deep", action="store_true", help="with the static analyzer")
    parser.add_argument("files", nargs="*", help="only these sources (default: all)")
    arguments = parser.parse_args()
    build_folder = arguments.build_folder.resolve()
    if not (build_folder / "compile_commands.json").is_file():
        parser.error(f"{build_folder} has no compile_commands.json: configure it first (cmake --preset release)")
    wanted = {os.path.relpath(pathlib.Path(file).resolve(), ROOT) for file in arguments.files}
    units = load_units(build_folder, EXTRA + (DEEP if arguments.deep else []), wanted)
    if wanted - {unit.name for unit in units}:
        parser.error("the build folder doesn't compile " + ", ".join(sorted(wanted - {u.name for u in units})))

    waiting = [unit for unit in units if not unit.passed_before()]
    # The longest first, so that no core is left with a big one in the end.
    waiting.sort(key=lambda unit: -unit.source.stat().st_size)
    progress = Progress(len(waiting))

    def run(unit):
        found = unit.check(build_folder)
        progress.step(unit.name, found)
        return bool(found)

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failed = sum(pool.map(run, waiting))
    progress.finish()
    print(f"clang-tidy: {len(units)} sources, {len(waiting)} checked now, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
