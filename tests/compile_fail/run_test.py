#!/usr/bin/env python3
"""Proves that run.py complains of each thing that can be wrong with what a compiler says."""

import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("run", HERE / "run.py")
RUN = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(RUN)

FILE = """using namespace infeed;
// case: good
// compiles
numbers | map(next);

// case: bad
// error: the function can't be called
// shows: Element = long int
numbers | map(length);
"""
REFUSED = """map.h: In instantiation of 'operator() [with Element = long int]':
cases.cc:9:11:   required from here
map.h:7:3: error: static assertion failed: the function can't be called with it
map.h:7:3: note: evaluates to false
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as file:
            file.write(FILE)
            file.flush()
            self.prelude, (self.good, self.bad) = RUN.cases_of(file.name)

    def assert_complains(self, case, status, output, text):
        self.assertIn(text, RUN.complaint_about(case, status, output))

    def test_a_file_is_what_is_shared_and_its_cases(self):
        self.assertEqual(self.prelude, ["using namespace infeed;"])
        self.assertEqual((self.good.line, self.good.compiles, self.good.error), (2, True, ""))
        self.assertEqual((self.bad.error, self.bad.shows),
                         ("the function can't be called", ["Element = long int"]))
        source = RUN.source_of([self.bad], self.prelude).splitlines()
        self.assertIn("using namespace infeed;", source)
        self.assertIn("numbers | map(length);", source)
        self.assertNotIn("numbers | map(next);", source)

    def test_errors_belong_to_the_cases_that_they_name(self):
        file = self.good.file
        bad = REFUSED.replace("cases.cc:9", f"{file}:9")
        self.assertEqual(RUN.outputs_of([self.good, self.bad], bad), ["", "".join(bad.splitlines(True)[:3])])
        good = f"{file}:4:3: error: no match\n    4 | numbers\nmap.h:1:1: note: tried\n"
        more = "stl.h:1:1: error: of the same line\n"
        self.assertEqual(RUN.outputs_of([self.good, self.bad], good + more + bad)[0], good.splitlines(True)[0] + more)
        self.assertIsNone(RUN.outputs_of([self.good, self.bad], f"{file}:1:1: error: of what all share\n"))
        self.assertIsNone(RUN.outputs_of([self.good, self.bad], more))

    def test_what_is_as_it_should_be_is_no_complaint(self):
        self.assertEqual(RUN.complaint_about(self.good, 0, ""), "")
        self.assertEqual(RUN.complaint_about(self.bad, 1, REFUSED), "")

    def test_what_should_compile_and_does_not(self):
        self.assert_complains(self.good, 1, REFUSED, "does not compile")

    def test_what_should_not_compile_and_does(self):
        self.assert_complains(self.bad, 0, "", "compiles")

    def test_another_text_comes_first(self):
        self.assert_complains(self.bad, 1, "stl.h:1:1: error: no match\n" + REFUSED, "no match")

    def test_more_errors_follow(self):
        self.assert_complains(self.bad, 1, REFUSED + "stl.h:1:1: error: no match\n", "says more")

    def test_the_type_is_not_shown(self):
        self.assert_complains(self.bad, 1, REFUSED.replace("long int", "T"), "does not show")

    def test_the_type_is_shown_too_late(self):
        lines = REFUSED.splitlines()
        self.assert_complains(self.bad, 1, "\n".join(lines[1:] + lines[:1]), "does not show")

    def test_the_error_stands_far_below(self):
        self.assert_complains(self.bad, 1, 20 * "stl.h:1:1:   required from\n" + REFUSED, "behind")

    def test_a_case_that_expects_nothing(self):
        self.bad.error = ""
        self.assert_complains(self.bad, 1, REFUSED, "has no")


if __name__ == "__main__":
    unittest.main()
