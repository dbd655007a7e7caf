#!/usr/bin/env python3
"""Does what the README tells a newcomer to do, and compares what the program prints with what it says.

    run.py README.md WORK_FOLDER [--infeed-build FOLDER]

In the order of the README: the first block that opens with ```cpp is a program, the ```text behind it
what it prints, the ```cmake block a project for it. The ```sh blocks behind <!-- commands: install -->
and <!-- commands: own project --> are run line by line as they stand: the former in a copy of the
README's folder, the latter in the program's, both with WORK_FOLDER/home for HOME.

Behind <!-- program: images --> stands a second program with what it prints, for a project of the same
form that asks for the component image; the commands behind <!-- commands: images --> make its data of
a folder photos, which this test fills with small images.

With --infeed-build, a folder where infeed is built already, the command that installs gets --built with
that folder: that is all that isn't as it stands. The compiler is $CXX, if it is set.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
INSTALL = "tools/install.sh "


class ReadmeError(Exception):
    """The README isn't as this test needs it; the text says what to do."""


def fences_of(text):
    """The blocks of code: (language, content, where it begins)."""
    return [(fence.group(1), fence.group(2), fence.start())
            for fence in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", text, re.M | re.S)]


def extract(readme):
    """The program and the output that a README shows."""
    fences = fences_of(readme.read_text())
    programs = [at for at, (language, _, _) in enumerate(fences) if language == "cpp"]
    if not programs:
        raise ReadmeError(f"{readme} has no block that opens with ```cpp: add the program")
    outputs = [content for language, content, _ in fences[programs[0] + 1:] if language == "text"]
    if not outputs:
        raise ReadmeError(f"{readme} has no ```text block after its program: add what the program prints")
    program = fences[programs[0]][1]
    if "int main(" not in program:
        raise ReadmeError(f"{readme}: the first ```cpp block has no main(): the program must be whole")
    return program, outputs[0]


def extract_images_program(readme):
    """The program behind <!-- program: images -->, and its output."""
    text = readme.read_text()
    marker = "<!-- program: images -->"
    at = text.find(marker)
    following = [(language, content) for language, content, start in fences_of(text) if start > at]
    if at < 0 or [language for language, _ in following[:2]] != ["cpp", "text"]:
        raise ReadmeError(f"{readme} has no {marker} with a ```cpp block and the ```text that it prints behind it")
    return following[0][1], following[1][1]


def make_photos(folder):
    """Six JPEGs of two classes: the fuzz target's, without what it takes for itself."""
    jpeg = (HERE.parents[1] / "fuzz/corpus/image/jpeg").read_bytes()[5:]
    for i in range(6):
        place = folder / "photos" / ("cat" if i % 2 else "dog") / f"{i}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(jpeg)


def for_images(project):
    """The README's project with the component that the images' program needs."""
    changed = project.replace("COMPONENTS pipeline", "COMPONENTS image").replace("infeed::pipeline", "infeed::image")
    if changed.count("image") < 2:
        raise ReadmeError("the README's project doesn't ask for the component pipeline and link infeed::pipeline")
    return changed


def extract_project(readme):
    """The CMakeLists.txt that a README shows."""
    projects = [content for language, content, _ in fences_of(readme.read_text()) if language == "cmake"]
    if not projects:
        raise ReadmeError(f"{readme} has no block that opens with ```cmake: add a project that finds infeed")
    return projects[0]


def extract_commands(readme, name):
    """The lines of the ```sh block behind <!-- commands: name -->."""
    text = readme.read_text()
    marker = f"<!-- commands: {name} -->"
    at = text.find(marker)
    if at < 0:
        raise ReadmeError(f"{readme} has no {marker}: put it before the ```sh block with these commands")
    following = [(language, content) for language, content, start in fences_of(text) if start > at]
    if not following or following[0][0] != "sh":
        raise ReadmeError(f"{readme}: behind {marker} comes no ```sh block")
    return [line for line in following[0][1].splitlines() if line.strip()]


def reuse_build(commands, infeed_build):
    """The commands with the one that installs told to take a folder where infeed is built."""
    if not any(command.startswith(INSTALL) for command in commands):
        raise ReadmeError(f"the README's commands don't install with '{INSTALL}...': this test adds --built to that line")
    return [command.replace(INSTALL, f"{INSTALL}--built {infeed_build} ", 1) if command.startswith(INSTALL) else command
            for command in commands]


def compare(expected, printed):
    """What differs, as a text; empty when nothing does."""
    return "".join(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True),
                                        "what the README says", "what the program prints"))


def copy_tree(source, target):
    """The README's folder without what was built there."""
    ignored = shutil.ignore_patterns("build", ".git", ".cache", "__pycache__")
    shutil.copytree(source, target, ignore=ignored, symlinks=True)


def run_lines(commands, folder, environment, **options):
    """As typed into a shell one after another; the first that fails ends it."""
    return subprocess.run(["bash", "-exc", "\n".join(commands)], cwd=folder, env=environment, check=True, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("readme", type=pathlib.Path)
    parser.add_argument("work_folder", type=pathlib.Path)
    parser.add_argument("--infeed-build", type=pathlib.Path, help="a folder where infeed is built already")
    arguments = parser.parse_args()
    readme = arguments.readme.resolve()
    try:
        program, expected = extract(readme)
        project = extract_project(readme)
        install = extract_commands(readme, "install")
        *build, run_program = extract_commands(readme, "own project")
        images_program, images_expected = extract_images_program(readme)
        images_project, images_data = for_images(project), extract_commands(readme, "images")
        if arguments.infeed_build:
            install = reuse_build(install, arguments.infeed_build.resolve())
    except (ReadmeError, OSError) as error:
        sys.exit(str(error))

    work = arguments.work_folder.resolve()
    shutil.rmtree(work, ignore_errors=True)
    home, tree, own = work / "home", work / "infeed", work / "my_training"
    home.mkdir(parents=True)
    own.mkdir()
    copy_tree(readme.parent, tree)
    (own / "main.cc").write_text(program)
    (own / "CMakeLists.txt").write_text(project)
    images = work / "my_images"
    images.mkdir()
    (images / "main.cc").write_text(images_program)
    (images / "CMakeLists.txt").write_text(images_project)
    environment = {**os.environ, "HOME": str(home)}
    try:
        run_lines(install, tree, environment)
        run_lines(build, own, environment)
        printed = run_lines([run_program], own, environment, stdout=subprocess.PIPE, text=True).stdout
        make_photos(images)
        run_lines(images_data + build, images, environment)
        printed_of_images = run_lines([run_program], images, environment, stdout=subprocess.PIPE, text=True).stdout
    except subprocess.CalledProcessError as error:
        sys.exit(f"a command of the README ended with status {error.returncode}: the last line with a + above")
    difference = compare(expected + images_expected, printed + printed_of_images)
    if difference:
        sys.exit(f"the README's program prints something else; put this into the README, or mend it:\n{difference}")


if __name__ == "__main__":
    main()
