#!/usr/bin/env python3
"""Proves that extract.py compiles what is an example, leaves out what is none, and fails where an
example names what isn't there. The compiler is $CXX or c++."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HEADER = "records/io/include/infeed/records/thing.h"
PRELUDE = "#pragma once\nnamespace examples { struct Image {}; extern int number; void use(int); }\n"
LIBRARY = """
#include <vector>
namespace infeed {
struct ThingOptions { int size = 0; };
inline int thing(int count, ThingOptions options = {}) { return count + options.size; }
template <class T> struct Codec;
class Stage { public: virtual ~Stage() = default; };
}
"""


class ExtractTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="infeed-examples-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / HEADER).parent.mkdir(parents=True)
        (self.root / "prelude.h").write_text(PRELUDE)

    def extract(self, comment):
        """The header begins with the comment, so its lines are those of the comment."""
        lines = [f"/// {line}".rstrip() for line in comment.splitlines()]
        (self.root / HEADER).write_text("\n".join(lines) + LIBRARY)
        folder = self.root / "records/io/include"
        done = subprocess.run(
            [sys.executable, HERE / "extract.py", self.root / "out", "--root", self.root,
             "--prelude", self.root / "prelude.h", "--", os.environ.get("CXX", "c++"), "-std=c++20",
             "-fsyntax-only", f"-I{folder}"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def expect_compiles(self, comment):
        status, output = self.extract(comment)
        self.assertEqual((status, output), (0, "1 examples of 1 headers compile\n"))

    def expect_error(self, line, pattern, comment):
        status, output = self.extract(comment)
        self.assertEqual(status, 1, output)
        self.assertRegex(output, rf"{HEADER}:{line}:\d+: error: .*{pattern}")
        self.assertIn("1 examples of 1 headers don't all compile", output)

    def test_statements_and_expressions(self):
        self.expect_compiles("""Why: text.

    const int count = infeed::thing(1);   // a comment with "quotes" and ...
    infeed::thing(10'000)                 // 10000
    infeed::thing(count,
                  {.size = 16})
    infeed::thing(number)
    while (infeed::thing(1)) ...          // forever
    for (int i = 0; i < count; ++i) {
      use(i);
      ...
    }
text""")

    def test_definitions(self):
        self.expect_compiles("""Text.

    template <>
    struct infeed::Codec<Image> {
      static int size() { return 1; }
    };

and

    class Mine final : public infeed::Stage {
     public:
      Mine() = default;

      int size() const { return infeed::Codec<Image>::size(); }
    };
    int size_of(const Mine& mine);
    inline auto doubled(const Mine& mine) { return 2 * size_of(mine); }
    int main(int argc, char** argv) {
      return doubled(Mine());
    }
    template <class T>
    int any(T value) { return value; }""")

    def test_the_second_block_uses_what_the_first_declares(self):
        self.expect_compiles("Text:\n\n    int count = 1;\n\nand then\n\n    infeed::thing(count)")

    def test_a_wrong_name_is_found_where_it_stands(self):
        self.expect_error(3, "thign", "Why: text.\n\n    infeed::thign(1)\n")

    def test_a_wrong_option_is_found(self):
        self.expect_error(4, "could not convert|sise", "Why.\n\n    infeed::thing(1);\n    infeed::thing(1, {.sise = 2})")

    def test_a_wrong_name_in_a_class_is_found(self):
        self.expect_error(2, "class-name|Stages", "Why.\n    class Mine : public infeed::Stages {};")

    def test_a_wrong_name_in_a_lambda_is_found(self):
        self.expect_error(3, "thign", "Why.\n    auto f = [](int x) {\n      return infeed::thign(x);\n    };")

    def test_prose_that_is_indented_like_code_fails(self):
        self.expect_error(2, "", "Why.\n    gives 1 2 3\n")

    def test_text_between_fences_is_no_example(self):
        self.expect_compiles("    infeed::thing(1)\n\n```text\n    gives 1 2 3\nmore\n```\nText.")

    def test_another_fence_or_an_open_one_is_refused(self):
        status, output = self.extract("Why.\n```cpp\nint a;\n```")
        self.assertEqual(status, 1)
        self.assertIn(f"{HEADER}:2: '```cpp': C++ is indented by 4 spaces", output)
        status, output = self.extract("Why.\n```text\nint a;")
        self.assertEqual(status, 1)
        self.assertIn(f"{HEADER}:2: nothing ends this ```text", output)

    def test_stages_in_a_sentence_are_refused(self):
        status, output = self.extract("Why: this reads several:\nfiles(...) | interleave(tar).\n")
        self.assertEqual(status, 1)
        self.assertIn(f"{HEADER}:2: stages in a sentence are compiled by nobody", output)
        self.expect_compiles("Text `parse(schema) | batch(n)` as\n| a (b) | c(d) |\n\n    infeed::thing(1)")

    def test_a_tree_without_examples_fails(self):
        self.assertEqual(self.extract("Why: text."), (1, "0 examples of 0 headers compile\n"))


if __name__ == "__main__":
    unittest.main()
