#!/usr/bin/env python3
"""Makes a wheel for other distributions of one that this machine built: the libraries that its module needs go into
it, but for glibc's and the compiler's, which every Linux of the same age has.

    tools/python/portable_wheel.py WHEEL [FOLDER]

Writes the new wheel into FOLDER (the wheel's own by default) and prints its name: manylinux_2_36 for one that was built
with glibc 2.36, as on Debian 12. The module finds the libraries by its RPATH, $ORIGIN/lib.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

# What every Linux has.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-.*|linux-vdso\..*)")


def needed_libraries(module):
    """Returns the files of the libraries that a module needs, by the names that it asks for."""
    found = {}
    for line in subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout.splitlines():
        match = re.match(r"\s*(\S+) => (.*?)( \(0x\w+\))?$", line)
        if match is None or SYSTEM.fullmatch(match[1]):
            continue
        if not os.path.exists(match[2]):
            sys.exit(f"portable_wheel.py: {os.path.basename(module)} needs {match[1]}, which isn't found here")
        found[match[1]] = os.path.realpath(match[2])
    return found


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    wheel = sys.argv[1]
    tag = "manylinux_" + platform.libc_ver()[1].replace(".", "_")
    name = re.sub(r"-linux_(\w+)\.whl$", rf"-{tag}_\1.whl", os.path.basename(wheel))
    result = os.path.join(sys.argv[2] if len(sys.argv) == 3 else os.path.dirname(wheel), name)
    with zipfile.ZipFile(wheel) as whole, tempfile.TemporaryDirectory() as folder:
        contents = {entry: whole.read(entry) for entry in whole.namelist() if not entry.endswith("/")}
        modes = {entry.filename: entry.external_attr for entry in whole.infolist()}
        module = next(entry for entry in contents if re.fullmatch(r"infeed/_core\..*so", entry))
        libraries = needed_libraries(whole.extract(module, folder))
    for soname, file in libraries.items():
        with open(file, "rb") as content:
            contents[f"infeed/lib/{soname}"] = content.read()
    for entry, content in contents.items():
        if entry.endswith(".dist-info/WHEEL"):
            contents[entry] = re.sub(rb"(?m)^(Tag: .*-)linux_", rb"\g<1>" + tag.encode() + b"_", content)
    record = next(entry for entry in contents if entry.endswith(".dist-info/RECORD"))
    contents[record] = "".join(record_line(entry, content) for entry, content in contents.items()
                               if entry != record).encode() + f"{record},,\n".encode()
    with zipfile.ZipFile(result + ".new", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as whole:
        for entry, content in contents.items():
            info = zipfile.ZipInfo(entry)
            info.external_attr = modes.get(entry, 0o100644 << 16)
            info.compress_type = zipfile.ZIP_DEFLATED
            whole.writestr(info, content)
    os.replace(result + ".new", result)
    print(result)


if __name__ == "__main__":
    main()
