#!/usr/bin/env python3
"""The README test itself: what it takes out of a README, and that it can fail."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402

PROGRAM = "```cpp\nint main() {\n  return 0;\n}\n```\n"


class ReadmeTest(unittest.TestCase):
    def extract(self, text):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text(text)
            return run.extract(readme)

    def expect_error(self, text, pattern):
        with self.assertRaisesRegex(run.ReadmeError, pattern):
            self.extract(text)

    def test_first_program_and_the_output_that_follows(self):
        program, output = self.extract(
            "# x\n```text\nnot this\n```\n```sh\nls\n```\n" + PROGRAM + "It prints:\n\n```text\na\n\nb\n```\n"
            "```cpp\nint other();\n```\n```text\nc\n```\n")
        self.assertEqual(program, "int main() {\n  return 0;\n}\n")
        self.assertEqual(output, "a\n\nb\n")

    def test_missing_blocks(self):
        self.expect_error("# x\n", "no block that opens with ```cpp: add the program")
        self.expect_error("```text\nx\n```\n" + PROGRAM, "no ```text block after its program")
        self.expect_error("```cpp\nauto x = 1;\n```\n```text\n1\n```\n", r"has no main\(\)")

    def images(self, text):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text(text)
            return run.extract_images_program(readme)

    def test_program_of_images_behind_its_marker(self):
        marker = "<!-- program: images -->\n"
        self.assertEqual(self.images(PROGRAM + marker + "```cpp\nint x;\n```\nprints\n```text\ny\n```\n"),
                         ("int x;\n", "y\n"))
        for text in (PROGRAM, marker + PROGRAM, marker + "```text\ny\n```\n" + PROGRAM):
            with self.assertRaisesRegex(run.ReadmeError, "has no <!-- program: images --> with a ```cpp block"):
                self.images(text)
        self.assertEqual(run.for_images("COMPONENTS pipeline) PRIVATE infeed::pipeline"),
                         "COMPONENTS image) PRIVATE infeed::image")
        with self.assertRaisesRegex(run.ReadmeError, "doesn't ask for the component pipeline"):
            run.for_images("COMPONENTS records")

    def commands(self, text, name="install"):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text(text)
            return run.extract_commands(readme, name)

    def test_commands_behind_their_marker(self):
        text = "```sh\nno\n```\n<!-- commands: install -->\n```sh\na  # why\n\nb\n```\n```sh\nc\n```\n"
        self.assertEqual(self.commands(text), ["a  # why", "b"])
        with self.assertRaisesRegex(run.ReadmeError, "has no <!-- commands: own project -->: put it before"):
            self.commands(text, "own project")
        with self.assertRaisesRegex(run.ReadmeError, "comes no ```sh block"):
            self.commands("<!-- commands: install -->\n```text\na\n```\n")

    def test_what_is_built_is_installed(self):
        self.assertEqual(run.reuse_build(["first", "tools/install.sh ~/x  # minutes"], "/b"),
                         ["first", "tools/install.sh --built /b ~/x  # minutes"])
        with self.assertRaisesRegex(run.ReadmeError, "don't install with 'tools/install.sh ...'"):
            run.reuse_build(["first", "tools/install_packages.sh"], "/b")

    def test_a_command_that_fails_ends_the_rest(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(subprocess.CalledProcessError):
                run.run_lines(["false", "touch made"], folder, {"PATH": os.environ["PATH"]},
                              stderr=subprocess.DEVNULL)
            self.assertEqual(os.listdir(folder), [])

    def test_comparison(self):
        self.assertEqual(run.compare("a\nb\n", "a\nb\n"), "")
        self.assertIn("-b\n+c\n", run.compare("a\nb\n", "a\nc\n"))
        self.assertNotEqual(run.compare("a\n", "a\na\n"), "")
        self.assertNotEqual(run.compare("a\n", ""), "")


if __name__ == "__main__":
    unittest.main()
