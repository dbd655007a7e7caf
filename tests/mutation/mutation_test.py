#!/usr/bin/env python3
"""Proves that mutate.py makes the mistakes it speaks of, and tells those that tests find from those
that none does: in a tiny tree of its own, whose tests have gaps on purpose."""

import contextlib
import io
import json
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import building  # noqa: E402
import judging  # noqa: E402
import mutate  # noqa: E402
import rewriting  # noqa: E402

TINY = """#include "tiny.h"

int clamp(int value, int low, int high) {
  if (value < low) return low;
  if (value > high) return high;
  return value;
}

unsigned halvings(unsigned value) {
  unsigned count = 0;
  while (value != 0) {
    value /= 2;
    ++count;
  }
  return count;
}

void record(int value) { sums()[0] += value; }

void record_both(int value) {
  record(value);
  // Nothing looks at this, so its test has a gap: if (a < b) record(0);
  sums()[1] = value;
}
"""
# It reads what mutate.py gives to GoogleTest, and speaks like it.
TESTS = """#include <cstdio>
#include <cstring>

#include "tiny.h"

int* sums() {
  static int both[2];
  return both;
}

#define TEST(suite, name) static bool suite##_##name()
TEST(Tiny, Clamps) { return clamp(0, 1, 5) == 1 && clamp(9, 1, 5) == 5 && clamp(3, 1, 5) == 3; }
TEST(Tiny, Halves) { return halvings(5) == 3 && halvings(0) == 0; }
TEST(Tiny, Records) { record_both(2); return sums()[0] == 2; }

int main(int, char** arguments) {
  const char* without = std::strchr(arguments[1], '-');
  without = std::strstr(without, "-Tiny.") == nullptr ? "" : without;
  struct { const char* name; bool (*run)(); } tests[] = {
      {"Tiny.Clamps", Tiny_Clamps}, {"Tiny.Halves", Tiny_Halves}, {"Tiny.Records", Tiny_Records}};
  for (auto& test : tests) {
    const bool is_asked = std::strstr(arguments[1], "Tiny.*") != nullptr ||
                          std::strstr(arguments[1], test.name) != nullptr;
    if (!is_asked || *without != 0) continue;
    std::printf("[ RUN      ] %s\\n", test.name);
    std::fflush(stdout);
    if (test.run()) continue;
    std::printf("[  FAILED  ] %s (0 ms)\\n", test.name);
    return 1;
  }
}
"""
HEADER = """#pragma once
int clamp(int value, int low, int high);
unsigned halvings(unsigned value);
void record(int value);
void record_both(int value);
int* sums();
"""
BUILD = """rule cc
  command = c++ -std=c++20 -Wall -Wextra -Werror -I. -Irecords -o $out -c $in
rule pack
  command = ar qc $out $in
rule link
  command = : && c++ -Wl,--whole-archive libtiny.a -Wl,--no-whole-archive $in -o $out && :
build tiny.o: cc unity_0.cxx
build libtiny.a: pack tiny.o
build tests.o: cc tests/records/tiny/tiny_test.cc
build tests/infeed_records_tests: link tests.o libtiny.a
"""
AS_IT_IS = {
    "a template": "std::vector<int> a; f<B>(x);",
    "a comment": "// a < b && c + 1\n/* d == 2 */",
    "a text": 'const char* a = "b < c + 1";',
    "a raw text": 'auto a = R"(if (b < 1) c();)";',
    "the preprocessor": "#if A < 2 && \\\n    B > 3\n#endif",
    "a sign": "return;",
    "references": "void f(A&& a, const B& b, C* c);",
    "a virtual function": "struct A { virtual void f() const = 0; };",
    "what the compiler checks": "static_assert(1 < 2); template <typename A> concept C = A::b && A::c;",
    "room for more": "void f() { a.reserve(b); }",
    "a size": "constexpr auto kA = B{64} << 10;",
    "a declaration": "void f() { A b(c); const D& e = g; std::unique_ptr<A> h; }",
}
CHANGED = {
    "a < b": {"a <= b"},
    "a && b": {"a || b"},
    "x = a + 1;": {"x = a - 1;", "x = a + 2;"},
    "x = 0x10;": {"x = (0x10 + 1);"},
    "if (a) b;": {"if ((a) && false) b;", "if ((a) || true) b;"},
    "if (auto a = b; c) d;": {"if (auto a = b; (c) && false) d;", "if (auto a = b; (c) || true) d;"},
    "while (a) b;": {"while ((a) && false) b;"},
    "x = a ? b : c;": {"x = a && false ? b : c;", "x = a || true ? b : c;"},
    "return true;": {"return false;"},
    "return a;": {"return {};"},
    "return a == b;": {"return a != b;"},
    "return !a;": {"return !(!a);"},
    "void f() { a.b(c); }": {"void f() { {} }"},
    "void f() { a->b = c; }": {"void f() { {} }"},
    "void f() { if (a) ++b; }": {"void f() { if (a) {} }", "void f() { if ((a) && false) ++b; }",
                                 "void f() { if ((a) || true) ++b; }"},
}


class MutationTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="infeed-mutation-"))
        self.addCleanup(shutil.rmtree, self.root)

    def tree(self, built=True):
        for name, text in {"records/tiny/tiny.cc": TINY, "tests/records/tiny/tiny_test.cc": TESTS,
                           "tiny.h": HEADER, "build.ninja": BUILD,
                           "unity_0.cxx": f'#include "{self.root}/records/tiny/tiny.cc"\n',
                           "Unity/unity_0_cxx.cxx": f'#include "{self.root}/records/tiny/tiny.cc"\n'}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = f"c++ -std=c++20 -Wall -Wextra -Werror -I. -I{self.root}/records -o tiny.o -c"
        unity = str(self.root / "Unity/unity_0_cxx.cxx")
        (self.root / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(self.root), "file": unity, "command": f"{command} {unity}"}]))
        if built:
            judging.subprocess.run(["ninja", "-C", self.root], check=True, capture_output=True)

    def mutate(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = mutate.main(["--root", str(self.root), "--build", str(self.root),
                                  "--results", str(self.root / "results.jsonl"),
                                  "--explained", str(self.root / "explained.txt"), *arguments])
        return status, out.getvalue(), err.getvalue()

    def test_what_it_leaves_alone(self):
        for name, code in AS_IT_IS.items():
            found = [mutant.after for mutant in rewriting.mutants_of("a.cc", code)]
            self.assertEqual(found, [], name)

    def test_what_it_changes(self):
        for code, expected in CHANGED.items():
            found = [mutant.applied_to(code) for mutant in rewriting.mutants_of("a.cc", code)]
            self.assertEqual(sorted(found), sorted(expected), code)

    def test_what_survives_a_test_with_gaps(self):
        self.tree()
        judging.CPU_SECONDS_MIN = 0
        (self.root / "explained.txt").write_text(
            "# Of a value at the bound both give the bound.\n"
            "file: records/tiny/tiny.cc\nline: if (value < low) return low;\n"
            "becomes: if (value <= low) return low;\nline: record(value);\nreason: value is low then\n")
        status, out, err = self.mutate("--per-file", "0", "--only", "records/tiny")
        self.assertEqual((status, err), (0, ""), out)
        results = mutate.read_results(self.root / "results.jsonl")
        survivors = {result["after"] for result in results if result["state"] == "survived"}
        self.assertEqual(survivors, {
            "if (value >= high) return high;", "sums()[2] = value;", "{}"}, out)
        self.assertEqual([r["after"] for r in results if r["state"] == "explained"],
                         ["if (value <= low) return low;", "{}"])
        how = {(result["before"], result["after"]): result["how"] for result in results}
        self.assertEqual(how["while (value != 0) {", "while (value == 0) {"], "failed")
        self.assertEqual(how["value /= 2;", "{}"], "slow")
        self.assertRegex(out, r"survive, +2 explained, +\d+ don't compile  records/tiny\n")
        self.assertIn("\n- sums()[1] = value;\n+ {}\n", out)

    def test_private_header(self):
        self.tree(built=False)
        (self.root / "records/tiny/tiny.cc").write_text(
            '#include "tiny/half.h"\n' + TINY.replace("value /= 2;", "value = half(value);"))
        (self.root / "records/tiny/half.h").write_text(
            "#pragma once\ninline unsigned half(unsigned value) { return value / 2; }\n")
        judging.subprocess.run(["ninja", "-C", self.root], check=True, capture_output=True)
        status, out, err = self.mutate("--only", "records/tiny/half.h")
        self.assertEqual((status, err), (0, ""), out)
        self.assertRegex(out, r"100.0 % +2 found, +0 survive.* records/tiny/half.h\n")

    def test_again_and_only_likely_tests(self):
        self.tree()
        other = self.root / "tests/records/tiny/other_test.cc"
        other.write_text("TEST(Other, tests) {}\n")
        build = building.Build(self.root, self.root, self.root)
        self.assertEqual(judging.Judge(build, print, True).steps("records/tiny/tiny.cc"),
                         [judging.filter_of({"Tiny"})])
        self.assertEqual(judging.Judge(build, print).steps("records/tiny/tiny.cc"),
                         [judging.filter_of({"Tiny"}), judging.filter_of({"Other"}),
                          judging.filter_of((), {"Tiny", "Other"})])
        earlier = self.root / "earlier.jsonl"
        survivor = {"file": "records/tiny/tiny.cc", "line": 23, "before": "sums()[1] = value;", "after": "{}"}
        earlier.write_text(json.dumps({**survivor, "state": "survived"}) + "\n" + json.dumps(
            {**survivor, "before": "record(value);", "state": "killed"}) + "\n")
        out = self.mutate("--again", str(earlier), "--likely")[1]
        self.assertRegex(out, r"0.0 % +0 found, +1 survive.* in all\n")

    def test_stale_explanation(self):
        self.tree(built=False)
        self.assertEqual(self.mutate("--check"), (0, "", ""))
        explained = self.root / "explained.txt"
        explained.write_text("line: no file\nbecomes: b\nreason: none\n\n"
                             "file: records/tiny/tiny.cc\nline: if (value < low) return low;\n"
                             "becomes: if (value <= low) return low;\n"
                             "becomes: if (value == low) return low;\nreason: none\n\n"
                             "line: if (value < lower) return low;\nline: return value;\nreason: none\n\n"
                             "file: records/tiny/gone.cc\nline: a\nbecomes: b\nreason: none\n\n"
                             "file: records/tiny/tiny.cc\nline: a\n")
        status, _, err = self.mutate("--check")
        self.assertEqual(status, 1)
        self.assertRegex(err, "records/tiny/tiny.cc: .*explains what can't be changed there any more")
        self.assertIn("becomes: if (value == low) return low;", err)
        self.assertNotIn("becomes: if (value <= low) return low;", err)
        self.assertIn("line: if (value < lower) return low;", err)
        self.assertNotIn("line: return value;", err)
        self.assertIn("records/tiny/gone.cc", err)
        for fault in ("line: no file", "file: records/tiny/tiny.cc\nline: a\n"):
            self.assertIn(f"needs the lines file, line, becomes, reason, but has:\n{fault}", err)

    def test_one_seed_draws_alike(self):
        self.tree(built=False)
        first = self.mutate("--list", "--per-file", "5", "--seed", "3", "--only", "records/tiny")
        self.assertEqual(first, self.mutate("--list", "--per-file", "5", "--seed", "3", "--only", "records/tiny"))
        self.assertNotEqual(first, self.mutate("--list", "--per-file", "5", "--seed", "4", "--only", "records/tiny"))
        self.assertEqual(first[1].count("\n+ "), 5)

    def test_threads_that_wait_for_each_other(self):
        judging.IDLE_SECONDS_MAX = 0.6
        program = self.root / "hangs"
        program.write_text("#!/bin/sh\necho '[ RUN      ] A.Hangs'\nexec sleep 100\n")
        program.chmod(0o755)
        began = time.monotonic()
        run = judging.run_tests(program, "*", 10, self.root)
        self.assertEqual((run.how, run.by), ("hung", "A.Hangs"))
        self.assertLess(time.monotonic() - began, 50)

    def test_place_that_is_not_there(self):
        self.tree(built=False)
        status, _, err = self.mutate("--only", "records/none")
        self.assertEqual(status, 2)
        self.assertIn("records/none isn't in", err)


if __name__ == "__main__":
    unittest.main()
