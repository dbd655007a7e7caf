"""Runs the blocks of the package's pages: those under one heading follow each other, in a folder with the files of
data.py. A block whose frameworks aren't installed is left out with the rest of its recipe, and named."""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import tempfile
import unittest

import data

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"README.md": "## Python", "tools/python/README.md": "", "tools/python/recipes.md": ""}
FRAMEWORKS = ["tensorflow", "torch", "grain", "jax", "keras", "pyarrow"]
# PyPI's PyTorch brings gigabytes of CUDA, so even the long form may be without it.
MAY_BE_MISSING = ["torch"] if os.environ.get("INFEED_PYTHON_LONG") else FRAMEWORKS


def recipes():
    """Yields (name, blocks) of each heading that has blocks."""
    for page, wanted in PAGES.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        for section in re.split(r"(?m)^(?=## )", text):
            blocks = re.findall(r"(?ms)^```python\n(.*?)^```", section)
            if blocks and section.startswith(wanted):
                yield f"{page}: {section.splitlines()[0]}", blocks


class Recipes(unittest.TestCase):
    def test_every_block(self):
        left_out, ran = [], 0
        for name, blocks in recipes():
            code = "\n".join(blocks)
            missing = [framework for framework in FRAMEWORKS if re.search(rf"(?m)^(import|from) {framework}\b", code)
                       and importlib.util.find_spec(framework) is None]
            if missing:
                self.assertLessEqual(set(missing), set(MAY_BE_MISSING), name)
                left_out.append(f"{name} ({', '.join(missing)})")
                continue
            with self.subTest(recipe=name), tempfile.TemporaryDirectory() as folder:
                data.make(folder)
                here = os.getcwd()
                os.chdir(folder)
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(code, name, "exec"), {})  # pylint: disable=exec-used
                finally:
                    os.chdir(here)
                ran += 1
        print(f"{ran} recipes ran" + (f"; without its framework: {'; '.join(left_out)}" if left_out else ""))
        self.assertGreaterEqual(ran, 6)


if __name__ == "__main__":
    unittest.main()
