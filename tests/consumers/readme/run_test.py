#!/usr/bin/env python3
"""The README test itself: what it takes out of a README, and that it can fail."""

import pathlib
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

    def test_comparison(self):
        self.assertEqual(run.compare("a\nb\n", "a\nb\n"), "")
        self.assertIn("-b\n+c\n", run.compare("a\nb\n", "a\nc\n"))
        self.assertNotEqual(run.compare("a\n", "a\na\n"), "")
        self.assertNotEqual(run.compare("a\n", ""), "")


if __name__ == "__main__":
    unittest.main()
