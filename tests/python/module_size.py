#!/usr/bin/env python3
"""Compresses the module of the Python package as a wheel does, so that CI sees what would make a wheel too large.

A wheel of 4,000,000 bytes, install.sh's bar, has 80,000 that aren't the module's."""

import pathlib
import subprocess
import sys
import tempfile
import zlib

BYTES_MAX = 3_920_000

with tempfile.TemporaryDirectory() as folder:
    stripped = pathlib.Path(folder, "stripped")
    subprocess.run(["strip", "--strip-all", "-o", stripped, sys.argv[1]], check=True)
    size = len(zlib.compress(stripped.read_bytes()))
print(f"the module takes {size:,} bytes in a wheel")
if size >= BYTES_MAX:
    sys.exit(f"it must take less than {BYTES_MAX:,}: look for what grew in tools/python, pipeline/describe and tools, "
             "by `nm --size-sort -C` of the module")
