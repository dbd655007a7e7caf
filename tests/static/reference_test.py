#!/usr/bin/env python3
"""Tests of tools/reference: what is shown of a small Python package and of a small page, and that each check can fail."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools/reference"
sys.path.insert(0, str(FOLDER))
import pages  # noqa: E402
import python_pages  # noqa: E402

STUB = '''
from infeed._writer import Writer as Writer
class Dataset:
    """What to do."""
    @property
    def length(self) -> int:
        """Its length."""
    def batch(self, size: int, *, kind: Literal['a', 'b'] = 'a') -> Dataset:
        """Makes batches; "a_b" and x_y, of infeed.Writer.

        size: Rows
            of a batch.

            dataset.batch(8)"""
    def _hidden(self): ...
def read(files: str) -> Dataset: ...
'''
WRITER = '''
class Writer:
    """Writes."""
    def write(self, row):
        """Writes a row."""
'''


class PythonPages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package, self.out = pathlib.Path(folder.name) / "infeed", pathlib.Path(folder.name) / "out"
        self.package.mkdir()
        self.write("__init__.pyi", STUB)
        self.write("__init__.py", '"""A package."""\ndef read(files):\n    """Reads files."""\n')
        self.write("_writer.py", WRITER)
        for module in python_pages.FRAMEWORKS:
            self.write(f"{module}.py", '"""A framework."""\n')

    def write(self, name, text):
        (self.package / name).write_text(text)

    def run_pages(self):
        done = subprocess.run([sys.executable, FOLDER / "python_pages.py", self.package, self.out],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_all_that_is_public_is_shown(self):
        self.assertEqual(self.run_pages(), (0, ""))
        self.assertIn('| @subpage python_Writer "Writer" | Writes. |', (self.out / "python.md").read_text())
        self.assertIn("infeed.read(files: str) -> Dataset\n```\n\nReads files.",
                      (self.out / "python_functions.md").read_text())
        page = (self.out / "python_Dataset.md").read_text()
        self.assertIn("\n```{.py}\nDataset.length: int\n```\n\nIts length.\n", page)
        self.assertIn("\nDataset.batch(size: int, *, kind: Literal['a', 'b']='a') -> Dataset\n", page)
        self.assertIn('\nMakes batches; "a_b" and x\\_y, of %infeed.Writer.\n', page)
        self.assertIn("\n- `size`: Rows of a batch.\n\n```{.py}\ndataset.batch(8)\n```\n", page)
        self.assertNotIn("hidden", page)

    def test_public_without_a_docstring(self):
        for name, text, gone, place in (("__init__.pyi", STUB, '"""Its length."""', "infeed.Dataset.length"),
                                        ("_writer.py", WRITER, '"""Writes."""', "infeed.Writer"),
                                        ("_writer.py", WRITER, '"""Writes a row."""', "infeed.Writer.write"),
                                        ("ray.py", '"""A framework."""', '"""A framework."""', "infeed.ray")):
            with self.subTest(gone=gone):
                self.write(name, text.replace(gone, "..."))
                self.assertEqual(self.run_pages(), (1, f"the Python package: {place} has no docstring\n"))
                self.write(name, text)

    def test_public_that_is_not_there(self):
        self.write("_writer.py", "")
        status, said = self.run_pages()
        self.assertEqual((status, said), (1, "the Python package: infeed.Writer is not defined in infeed._writer\n"))

    def test_a_long_signature_has_a_line_for_each_argument(self):
        self.write("__init__.pyi", STUB.replace("size: int", ", ".join(f"size{i}: Mapping[str, int]" for i in range(6))))
        self.assertEqual(self.run_pages()[0], 0)
        self.assertIn("Dataset.batch(\n    size0: Mapping[str, int],\n    size1: Mapping[str, int],\n",
                      (self.out / "python_Dataset.md").read_text())


class Pages(unittest.TestCase):
    def shown(self, line):
        headers = {"records/include/infeed/records/record.h": "infeed/records/record.h"}
        return pages.Page("records/README.md", ["README.md", "records/README.md"], headers).prose(line)

    def test_links(self):
        self.assertEqual(self.shown("[a `b`](../README.md#use-it-now)"), "[a `b`](index.html#index_use_it_now)")
        self.assertEqual(self.shown("[up](#how)"), "[up](records_README.html#records_README_how)")
        self.assertEqual(self.shown("[`record.h`](include/infeed/records/record.h)"),
                         '@ref infeed/records/record.h "record.h"')
        self.assertEqual(self.shown("[the code](io/read.cc)"), "the code (`records/io/read.cc`)")
        self.assertEqual(self.shown("`[](x)` and `[a](b.md)`"), "`[](x)` and `[a](b.md)`")
        self.assertEqual(self.shown("[there](https://example.org/a_b)"), "[there](https://example.org/a_b)")

    def test_what_doxygen_would_take_for_a_command(self):
        self.assertEqual(self.shown("a\\b @c <d> `@e`"), "a\\\\b \\@c \\<d\\> `@e`")
        self.assertEqual(self.shown('<picture><source srcset="x.png"><img alt="A" src="pictures/a.png"></picture>'),
                         '<img alt="A" src="a.png">')


if __name__ == "__main__":
    unittest.main()
