#!/usr/bin/env python3
"""Proves that every check of check.py passes a clean tree and fails a tree with one fault."""

import contextlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import code_shape  # noqa: E402
import promises  # noqa: E402

HEADER = "#pragma once\n\n#include <vector>\n\nnamespace infeed {}\n"
CLEAN = {
    "records/include/infeed/records/record.h": HEADER,
    "records/private.h": HEADER,
    "records/record.cc": '#include "infeed/records/record.h"\n\n#include "private.h"\n',
    "pipeline/include/infeed/pipeline/dataset.h": "#pragma once\n\n#include <infeed/records/record.h>\n",
    "pipeline/engine/queue.h": HEADER,
    "pipeline/map/kernel.h": "#pragma once\n\n#include \"engine/queue.h\"\n",
    "pipeline/map/include/infeed/pipeline/map.h": "#pragma once\n\n#include <infeed/pipeline/dataset.h>\n",
    "pipeline/cache/cache.cc": '#include <infeed/pipeline/map.h>\n\n#include "engine/queue.h"\n',
    "device/include/infeed/device/slice.h": "#pragma once\n\n#include <infeed/pipeline/dataset.h>\n",
    "tools/main.cc": "#include <infeed/device/slice.h>\n",
    "tests/records/record_test.cc": "#include <gtest/gtest.h>\n",
    "README.md": "[records](records/include/infeed/records/record.h), [device](device), [web](https://a.example)\n",
    "tools/hello.sh": "#!/usr/bin/env bash\necho hello\n",
}


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="infeed-check-"))
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copy(HERE.parents[1] / ".clang-format", self.root)
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)

    def run_check(self, *checks):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = check.main(["--root", str(self.root), *checks])
        return status, said.getvalue()

    def expect_finding(self, name_of_check, pattern):
        status, output = self.run_check()
        self.assertEqual(status, 1, output)
        self.assertRegex(output, pattern)
        found = re.findall(r"\[(\w+)\]$", output, re.M)
        self.assertEqual(set(found), {name_of_check}, output)

    def test_clean_tree_passes(self):
        status, output = self.run_check()
        self.assertEqual((status, output), (0, f"{len(CLEAN) + 1} files checked, 0 findings\n"))

    def test_errors_are_declared(self):
        self.write("records/include/infeed/records/reader.h", HEADER + "/// Throws Error.\n")
        self.expect_finding("errors", r"reader.h:6: speaks of Error, which it doesn't declare: include "
                            r"infeed/error.h")
        self.write("records/include/infeed/error.h", HEADER + "/// An Error.\n")
        self.write("records/include/infeed/records/record.h",
                   "#pragma once\n\n#include <infeed/error.h>\n")
        self.write("records/include/infeed/records/reader.h",
                   "#pragma once\n\n#include <infeed/records/record.h>\n/// Throws Error.\n")
        self.assertEqual(self.run_check()[0], 0)

    def test_block_that_no_test_runs(self):
        self.write("pipeline/README.md", "<!-- code: one -->\n```cpp\nf();\n```\n\n```cpp\ng();\n```\n")
        self.expect_finding("blocks", "pipeline/README.md:6: no test knows this block: put <!-- code: NAME -->")

    def test_format(self):
        self.write("records/ugly.cc", "int  main( ){ }\n")
        self.expect_finding("format", r"records/ugly.cc: is not formatted; run clang-format -i")

    def test_layering_of_public_headers(self):
        self.write("records/record.cc", "#include <infeed/pipeline/dataset.h>\n")
        self.expect_finding("layering", r"records/record.cc:1: includes infeed/pipeline/dataset.h of the "
                            r"higher module pipeline; the order is records <- pipeline <- device <- tools")

    def test_layering_in_each_direction(self):
        headers = {module: f"infeed/{module}/x.h" for module in check.LIBRARIES}
        for module, header in headers.items():
            self.write(f"{module}/include/{header}", "#pragma once\n")
        for lower in check.MODULES:
            for higher, header in headers.items():
                with self.subTest(source=lower, header=higher):
                    self.write(f"{lower}/probe.cc", f"#include <{header}>\n")
                    wrong = check.MODULES.index(higher) > check.MODULES.index(lower)
                    self.assertEqual(self.run_check("layering")[0], int(wrong))
                    (self.root / lower / "probe.cc").unlink()

    def test_layering_of_private_headers(self):
        self.write("device/slice.cc", '#include "records/private.h"\n')
        self.expect_finding("layering", r"device/slice.cc:1: includes records/private.h, a private header of records")

    def test_layering_through_a_path_with_dots(self):
        self.write("device/slice.cc", '#include "../records/private.h"\n')
        self.expect_finding("layering", r"device/slice.cc:1: .* goes round the include path")

    def test_public_header_with_a_third_party_header(self):
        for header in ("fmt/format.h", "zlib.h", "sys/mman.h", "tbb/task_arena.h"):
            with self.subTest(header=header):
                self.write("records/include/infeed/records/record.h", f"#pragma once\n\n#include <{header}>\n")
                self.expect_finding("public_headers", rf"record.h:3: includes {header}; a public header")

    def test_public_header_without_a_guard(self):
        self.write("records/include/infeed/records/record.h", "namespace infeed {}\n")
        self.expect_finding("public_headers", r"record.h:1: has no #pragma once")

    def test_public_header_in_a_room(self):
        self.write("pipeline/map/include/infeed/pipeline/map.h", "#pragma once\n\n#include <fmt/format.h>\n")
        self.expect_finding("public_headers", r"map.h:3: includes fmt/format.h; a public header")
        self.write("records/record.cc", "#include <infeed/pipeline/map.h>\n")
        self.assertRegex(self.run_check("layering")[1], "map.h of the higher module pipeline")

    def test_public_header_that_is_too_long(self):
        for name in ("map.h", "detail/map_kernel.h"):
            with self.subTest(header=name):
                header = f"pipeline/map/include/infeed/pipeline/{name}"
                self.write(header, "#pragma once\n" + "int a;\n" * (check.HEADER_LINES_MAX - 1))
                self.assertEqual(self.run_check("public_headers")[0], 0)
                self.write(header, "#pragma once\n" + "int a;\n" * check.HEADER_LINES_MAX)
                self.expect_finding("public_headers", rf"{name}: has 251 lines, more than 250 for a public header: "
                                    "move what no user reads to detail/")
                (self.root / header).unlink()

    def test_public_header_that_begins_with_plumbing(self):
        header = "pipeline/map/include/infeed/pipeline/map.h"
        plumbing = "namespace detail {\n" + "int a;\n" * 40 + "}  // namespace detail\n"
        contract = "/// Why: maps.\nint map();\n"
        self.write(header, "#pragma once\n\n" + contract + plumbing)
        self.assertEqual(self.run_check("public_headers")[0], 0)
        self.write(header, "#pragma once\n\n" + plumbing + contract)
        self.expect_finding("public_headers", r"map.h:45: the first contract \(/// Why\) stands behind a namespace detail")

    def test_engine_that_includes_a_stage(self):
        for header in ("<infeed/pipeline/map.h>", '"map/kernel.h"'):
            with self.subTest(header=header):
                self.write("pipeline/engine/queue.h", f"#pragma once\n\n#include {header}\n")
                self.expect_finding("rooms", r"queue.h:3: the engine includes .* of map; what both need")

    def test_stage_that_includes_another_rooms_private_header(self):
        self.write("pipeline/cache/cache.cc", '#include "map/kernel.h"\n')
        self.expect_finding("rooms", r"cache.cc:1: includes map/kernel.h, a private header of the room map")

    def test_folder_with_too_many_files(self):
        for number in range(check.FOLDER_FILES_MAX + 1):
            self.write(f"records/io/file{number}.cc", "int a;\n")
        self.expect_finding("folders", r"records/io: holds 31 files, more than 30")

    def test_dead_link(self):
        self.write("README.md", "text\n[gone](records/gone.h#part)\n")
        self.expect_finding("links", r"README.md:2: points at records/gone.h#part, which is not there")
        self.write("README.md", '<img src="records/gone.png" alt="">\n')
        self.expect_finding("links", r"README.md:1: points at records/gone.png, which is not there")
        self.write("README.md", "# A `part`, or two\n[there](#a-part-or-two)\n```\n# gone\n```\n[gone](README.md#gone)\n")
        self.expect_finding("links", r"README.md:6: points at README.md#gone, which is not there")

    def test_promise_without_its_test(self):
        self.write("tests/CMakeLists.txt", "add_test(NAME fuzz.${NAME} COMMAND x)\n")
        self.write("tests/records/record_test.cc", "TEST(Record, IsRead) {}\n")
        self.write("tests/run.sh", CLEAN["tools/hello.sh"])
        table = f"{promises.HEADING}\n\n| promise | tested by | last figure |\n|---|---|---|\n"
        row = "| it reads | `Record.*`, `Record.IsRead`, `fuzz.*`, `tests/run.sh` | 3 records |\n"
        self.write("README.md", table + row)
        self.assertEqual(self.run_check("promises")[0], 0)
        for old, new, said in (("Record.*", "Records.*", "no test is called Records.*"),
                               ("IsRead", "IsWritten", "no test is called Record.IsWritten"),
                               ("run.sh", "gone.sh", "the script tests/gone.sh is not there"),
                               ("run.sh", "run.sh test_x.py", "the script tests/test_x.py is not there"),
                               ("3 records ", "", "a promise has three cells"),
                               ("`", "", "no test is named")):
            with self.subTest(new=new):
                self.write("README.md", table + row + row.replace(old, new))
                self.expect_finding("promises", f"README.md:6: {re.escape(said)}")

    def test_promises_are_there(self):
        self.assertGreater(len(list(promises.rows_of(check.Tree(HERE.parents[1])))), 10)

    def test_length(self):
        self.write("records/long.cc", "int a;\n" * check.LINES_MAX)
        status, output = self.run_check("length")
        self.assertEqual(status, 0)
        self.assertIn(f"records/long.cc: warning: has {check.LINES_MAX} lines", output)
        self.write("records/long.cc", "int a;\n" * (check.LINES_MAX + 1))
        self.expect_finding("length", r"records/long.cc: has 451 lines, more than 450")

    def test_size(self):
        self.write("tests/data.bin", "\0" * (check.FILE_BYTES_MAX + 1))
        self.expect_finding("length", r"tests/data.bin: has 1000001 bytes")

    def write_class(self, body, name="Large"):
        self.write("pipeline/engine/large.h",
                   f"#pragma once\n\nnamespace infeed {{\nclass {name} {{\n{body}}};\n}}  // namespace infeed\n")

    def test_class_with_too_many_members(self):
        members = "".join(f"  int m{i}_ = f(1, 2);\n" for i in range(18))
        # Neither constants, types nor what a nested type has; of methods it has only two.
        others = ("  static constexpr int kA = 1;\n  using T = int;\n  friend class B;\n"
                  "  enum class E { a, b };\n  struct Inner {\n    int a;\n    int b;\n  };\n"
                  "  Large() : m0_{0}, m1_{1} {}\n  bool operator()(int a) const { return a == 1; }\n"
                  "  Large(const Large&) = delete;\n  // int a;\n")
        self.write_class(others + members + "  std::map<int, int> a_;\n  int (*b_)(int);\n")
        self.assertEqual(self.run_check("classes")[0], 0)
        self.write_class(others + members + "  std::map<int, int> a_;\n  int b_{0}, c_{0};\n")
        self.assertRegex(self.run_check("classes")[1],
                         r"large.h:4: Large has 21 data members and 2 methods; at most 20 and 25 are")

    def test_class_with_too_many_methods(self):
        methods = "".join(f"  std::function<void(int)> f{i}(int a, int b) {{ a = {{b}}; }}\n"
                          for i in range(12))
        declared = "".join(f"  int g{i}(int a = 1) const;\n" for i in range(13))
        self.write_class(methods + declared)
        self.assertEqual(self.run_check("classes")[0], 0)
        self.write_class(methods + declared + "  template <class T>\n  T h(T a) noexcept(true);\n")
        self.assertRegex(self.run_check("classes")[1], r"large.h:4: Large has 0 data members and 26 ")

    def test_large_class_that_grows(self):
        name = "records/columns/include/infeed/records/column.h"
        members, methods = code_shape.LARGE_CLASSES[f"{name} Column"]
        for more in (0, 1):
            self.write(name, "class Column {\n" + "  int a;\n" * members +
                       "  void f();\n" * (methods + more) + "};\n")
            self.assertEqual(self.run_check("classes")[0], more)

    def test_large_classes_are_there(self):
        for name in code_shape.LARGE_CLASSES:
            file, name = name.split()
            self.assertRegex((HERE.parents[1] / file).read_text(), rf"\b(class|struct) {name}\b")

    def test_return_behind_a_comma(self):
        self.write("records/record.cc", "bool f() { return g(1, 2) < std::pair<int, int>{1, 2} ? a : b; }\n"
                   "auto h = [] { return [](int a, int b) { return a; }(1, 2); };\n"
                   'const char* k() { return "a, b"; }  // return a, b;\n')
        self.assertEqual(self.run_check("returns")[0], 0)
        self.write("tests/records/record_test.cc", "bool f() {\n  return g(), false;\n}\n")
        self.assertRegex(self.run_check("returns")[1], r"record_test.cc:2: returns what stands behind")

    def test_comment_that_begins_with_a_fragment(self):
        for line, word, text in ((1, "Of", "/// Of a record.\nint a;\n"),
                                 (1, "What", "// What is left of it.\nint a;\n"),
                                 (1, "What", "/// What it holds: a record. Is it whole?\nint a;\n"),
                                 (1, "Of", "int a;  ///< of a record\n"),
                                 (2, "What", "int a;  ///< bytes\nint b;  // what they hold\n"),
                                 (2, "Of", "/// A record.\n/// Of two kinds.\nint a;\n"),
                                 (3, "Of", "/// A record\n///\n/// Of two kinds\nint a;\n"),
                                 (2, "What", "int a;  ///< bytes\n/// What they hold.\nint b;\n")):
            with self.subTest(text=text):
                self.write("records/record.cc", text)
                self.expect_finding("comments", f"record.cc:{line}: a comment begins with '{word}': begin")

    def test_comments_that_only_seem_to_begin_with_a_fragment(self):
        for text in ("/// The bytes\n/// of a record, and\n/// What Is Left.\nint a;\n",
                     "int a;  ///< bytes\n        ///< of a record\n",
                     "// What is left?\nint a;\n// What is\n// left? A record.\nint b;\n",
                     "/// Opens:\n///\n///     Of of;\n///     What what;\nint a;\n",
                     "// Office hours, whatever.\nint a;\n",
                     "const char* a = \"// Of\";\n"):
            with self.subTest(text=text):
                self.write("records/record.cc", text)
                self.assertEqual(self.run_check("comments"), (0, f"{len(CLEAN) + 1} files checked, 0 findings\n"))

    def test_marks(self):
        for mark in ("TO" + "DO: later", "FIX" + "ME", "not imple" + "mented", "GTEST_" + "SKIP() << 1;",
                     "TEST(A, DIS" + "ABLED_B)"):
            with self.subTest(mark=mark):
                self.write("records/record.cc", f"// {mark}\n")
                self.expect_finding("marks", r"records/record.cc:1: '.*': finish it")
        self.write("records/record.cc", "\n")
        self.write("README.md", "<<<<<" + "<< HEAD\n")
        self.expect_finding("marks", r"README.md:1: '.*': finish it")

    def test_places(self):
        for place in ("/wo" + "rk/main", "/ro" + "ot/x", "/ho" + "me/anna/x", "https://py" + "pi.org/simple",
                      "--ind" + "ex-url x"):
            with self.subTest(place=place):
                self.write("README.md", f"See {place}.\n")
                self.expect_finding("places", r"README.md:1: '.*': a place of one machine")
        self.write("README.md", "See $HOME/work/x, /home/user/data, build/work/y and /usr/share/z.\n")
        self.assertEqual(self.run_check("places")[0], 0)

    def test_shell(self):
        self.write("tools/hello.sh", "#!/usr/bin/env bash\ncd $1\n")
        self.expect_finding("shell", r"tools/hello.sh:2:.*SC2164")
        self.write("tools/hello.sh", CLEAN["tools/hello.sh"])
        (self.root / "tools/hello.sh").chmod(0o644)
        self.expect_finding("shell", r"tools/hello.sh: starts with #! but is not executable")

    def test_only_tracked_files_in_a_checkout(self):
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        subprocess.run(["git", "add", "."], cwd=self.root, check=True)
        self.write("records/ugly.cc", "int  main( ){ }\n")
        self.assertEqual(self.run_check()[0], 0)
        subprocess.run(["git", "add", "."], cwd=self.root, check=True)
        self.assertEqual(self.run_check()[0], 1)

    def test_unknown_check(self):
        done = subprocess.run([sys.executable, HERE / "check.py", "lenght"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "unknown check lenght: there are .*format, layering")


if __name__ == "__main__":
    unittest.main()
