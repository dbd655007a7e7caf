"""Builds a module's test program with another text of one source or private header.

What holds the text is compiled alone, and linked in front of the module's library, whose own objects
(which may hold several sources) give the rest.
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

LEADING_INCLUDES = re.compile(r"(?:[ \t]*(?:#[ \t]*include[^\n]*|//[^\n]*)?\n)*")
INCLUDED = re.compile(r'^#include ["<]([^">]+)[">]', re.M)
# Reading behind the end of a container is a crash.
FLAGS = ["-g0", "-D_GLIBCXX_ASSERTIONS", "-Wno-parentheses"]
# What more sources include changes too much to compile it for each mistake.
USERS_MAX = 30


class Refused(Exception):
    """Says why what was asked for can't be done, and what to do."""


class Build:
    """A build folder of the preset release, made with Ninja, with its test programs."""

    def __init__(self, folder, root, scratch):
        self.folder, self.root = pathlib.Path(folder).resolve(), pathlib.Path(root).resolve()
        self.scratch = pathlib.Path(scratch)
        database = self.folder / "compile_commands.json"
        if not database.exists():
            raise Refused(f"{database} is missing: configure with `cmake --preset release`")
        self.entries = json.loads(database.read_text())
        self.links, self.parts, self.groups = {}, {}, {}
        self.preamble = (None, "")
        self.complaint = ""

    def entry_of(self, source):
        path = str(self.root / source)
        for entry in self.entries:
            name = entry["file"]
            if name == path or "/Unity/unity_" in name and path in self.parts_of(name):
                return entry
        return None

    def compile_command(self, source):
        """The command for one source, which may be a part of a unity source."""
        entry = self.entry_of(source)
        if entry is None:
            raise Refused(f"{source} is not compiled in {self.folder}: its option may be off")
        command, skip = [], 0
        for word in shlex.split(entry["command"]):
            if skip:
                skip -= 1
            elif word in ("-o", "-c", "-MF", "-MT", "-MQ", "-include"):
                skip = 1
            elif word not in ("-MD", "-MMD", "-Winvalid-pch") and not word.endswith(("ccache", ".cxx", ".cc")):
                command.append(word)
        return command + FLAGS, entry["directory"]

    def parts_of(self, unity):
        if unity not in self.parts:
            place = pathlib.Path(unity)
            self.parts[unity] = set(INCLUDED.findall(place.read_text())) if place.exists() else set()
        return self.parts[unity]

    def compile(self, source, text):
        """The objects of `source` with another text; None if the compiler refuses it."""
        if source.endswith(".h"):
            return self.compile_users(source, text)
        command, folder = self.compile_command(source)
        place = self.root / source
        head, end = self.scratch / "head.h", LEADING_INCLUDES.match(text).end()
        if self.preamble != (source, text[:end]):  # what it includes is compiled once
            head.write_text(text[:end])
            if not self.compiled(command, folder, "-iquote", place.parent, "-x", "c++-header", head, "-o",
                                 f"{head}.gch"):
                raise Refused(f"what {source} includes doesn't compile: {self.complaint}")
            self.preamble = (source, text[:end])
        mutated, made = self.scratch / place.name, self.scratch / "mutant.o"
        mutated.write_text(text)
        return [made] if self.compiled(command, folder, "-iquote", place.parent, "-include", head, "-c",
                                       mutated, "-o", made) else None

    def compiled(self, command, folder, *more):
        done = subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True)
        self.complaint = done.stderr
        return done.returncode == 0

    def include_name(self, header, command):
        """How sources include a header: relative to the deepest folder of the command that holds it."""
        place = self.root / header
        folders = [word[2:] for word in command if word.startswith("-I")]
        holds = [folder for folder in folders if folder and place.is_relative_to(folder)]
        return str(place.relative_to(max(holds, key=len))) if holds else None

    def users_of(self, header):
        """The sources of its module that include a header, by way of others, too."""
        module = self.root / pathlib.Path(header).parts[0]
        files = [path for path in sorted(module.rglob("*")) if path.suffix in (".cc", ".h")]
        included = {path: set(INCLUDED.findall(path.read_text())) for path in files}
        command = next(shlex.split(entry["command"]) for entry in self.entries
                       if f"-I{module}" in entry["command"].split())
        names, users, more = {self.include_name(header, command)}, set(), True
        while more:
            more = [path for path in files if path not in users and included[path] & names]
            users.update(more)
            names |= {self.include_name(path.relative_to(self.root), command)
                      for path in more if path.suffix == ".h"}
        found = [str(path.relative_to(self.root)) for path in sorted(users) if path.suffix == ".cc"]
        return [source for source in found if self.entry_of(source)]

    def compile_users(self, header, text):
        if header not in self.groups:
            users = self.users_of(header)
            if not 0 < len(users) <= USERS_MAX:
                raise Refused(f"{len(users)} sources include {header}; from 1 to {USERS_MAX} can be compiled")
            self.groups[header] = self.split(header, users)
        made = [self.compile_group(header, text, number, group)
                for number, group in enumerate(self.groups[header])]
        return made if all(made) else None

    def split(self, header, users):
        """Groups of sources that compile as one."""
        if self.compile_group(header, (self.root / header).read_text(), 0, users):
            return [users]
        if len(users) == 1:
            raise Refused(f"{users[0]} doesn't compile alone: {self.complaint}")
        half = len(users) // 2
        return self.split(header, users[:half]) + self.split(header, users[half:])

    def compile_group(self, header, text, number, group):
        command, folder = self.compile_command(group[0])
        over = self.scratch / "over"
        shutil.rmtree(over, ignore_errors=True)
        place = over / self.include_name(header, command)
        place.parent.mkdir(parents=True)
        place.write_text(text)
        unity, made = self.scratch / f"users_{number}.cc", self.scratch / f"users_{number}.o"
        unity.write_text("".join(f'#include "{self.root / source}"\n' for source in group))
        # Behind the compiler's name, so that its folder is searched first.
        command = [command[0], f"-I{over}", *command[1:]]
        return made if self.compiled(command, folder, "-c", unity, "-o", made) else None

    def program_of(self, module):
        return self.folder / "tests" / f"infeed_{module}_tests"

    def link(self, module, made):
        """The module's test program with objects in front of all others."""
        program = self.program_of(module)
        if not program.exists():
            raise Refused(f"{program} is missing: build it with `ninja -C {self.folder} {program.name}`")
        if module not in self.links:
            target = str(program.relative_to(self.folder))
            said = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", "-s", target],
                                  check=True, capture_output=True, text=True).stdout
            words = shlex.split(next(part for part in said.split("&&") if f"-o {target}" in part))
            words[words.index("-o") + 1] = str(self.scratch / "mutant")
            if shutil.which("ld.lld"):
                words.insert(1, "-fuse-ld=lld")
            words[1:1] = ["-Wl,-z,muldefs", "-Wl,--strip-debug"]
            first = next(at for at, word in enumerate(words) if word.endswith((".o", "--whole-archive")))
            self.links[module] = words[:first], words[first:]
        front, behind = self.links[module]
        if not self.compiled([*front, *made, *behind], self.folder):
            raise Refused(f"{program.name} doesn't link, so build it first: {self.complaint}")
        return self.scratch / "mutant"
