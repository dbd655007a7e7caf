#!/usr/bin/env python3
"""Proves that headers.py finds a header that needs an include before it, whatever is precompiled."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import headers  # noqa: E402

COMPILER = sys.argv.pop()
FILES = {
    "size.h": "#pragma once\n#include <cstddef>\ninline std::size_t size() { return 1; }\n",
    "uses_size.h": "#include <infeed/size.h>\ninline std::size_t twice() { return 2 * size(); }\n",
    "forgets_size.h": "#include <cstddef>\ninline std::size_t thrice() { return 3 * size(); }\n",
    "forgets_cstddef.h": "inline std::size_t four() { return 4; }\n",
    "relies_on_forgetful.h": "#include <cstddef>\n#include <infeed/forgets_cstddef.h>\n",
    "circle.h": "#pragma once\n#include <infeed/circle_too.h>\n",
    "circle_too.h": "#pragma once\n#include <infeed/circle.h>\n",
}


class HeadersTest(unittest.TestCase):
    def test_finds_what_a_header_forgets(self):
        with tempfile.TemporaryDirectory(prefix="infeed-headers-") as folder:
            include = pathlib.Path(folder, "include")
            (include / "infeed").mkdir(parents=True)
            for name, text in FILES.items():
                (include / "infeed" / name).write_text(text, encoding="utf-8")
            paths = ";".join(f"{include}/infeed/{name}" for name in FILES)
            public = headers.Headers(f"{include}|{paths}\n")
            self.assertEqual(public.base_of("infeed/uses_size.h", ["cstddef", "infeed/size.h"]),
                             "infeed/size.h")
            self.assertEqual(public.base_of("infeed/forgets_size.h", ["cstddef", "infeed/size.h"]),
                             "cstddef")
            compiler = headers.Compiler([COMPILER], folder)
            found = dict(headers.find_faults(public, compiler, ["cstddef", "infeed/size.h"]))
            self.assertEqual(set(found), {"infeed/forgets_size.h", "infeed/forgets_cstddef.h"}, found)
            self.assertIn("size", found["infeed/forgets_size.h"])


if __name__ == "__main__":
    unittest.main()
