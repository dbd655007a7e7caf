"""The check of comments for check.py: each begins with what a thing is or does."""

import re

from code_shape import NOT_CODE, line_of

FOLDERS = ("records/", "pipeline/", "device/", "tools/", "tests/", "benchmarks/")
COMMENT = re.compile(r"//[/!]*<? ?(.*)")
FRAGMENT = re.compile(r"(Of|What)\b")
ENDS_SENTENCE = re.compile(r"[.!?:][\"'`)]*$")
EXAMPLE = "    "


def blocks_of(text):
    """Gives each comment as a list of lines (number, text): lines below each other that begin in one
    column, the first of which may stand behind code. Blank lines and examples divide comments."""
    block, next_line, column = [], 0, 0
    for found in NOT_CODE.finditer(text):
        if not found.group().startswith("//"):
            continue
        number, begin = line_of(text, found.start()), text.rfind("\n", 0, found.start()) + 1
        at = found.start() - begin
        line = COMMENT.match(found.group()).group(1)
        goes_on = number == next_line and at == column and not text[begin:found.start()].strip()
        divides = not line.strip() or line.startswith(EXAMPLE)
        if block and (divides or not goes_on):
            yield block
            block = []
        if not divides:
            block.append((number, line.strip()))
        next_line, column = number + 1, at
    if block:
        yield block


def is_question(lines):
    ends = re.search(r"[.!?](?= |$)", " ".join(lines))
    return ends is not None and ends.group() == "?"


def check_comments(tree):
    """No comment begins with "Of" or a bare "What", nor does a sentence at the beginning of a line: such
    fragments have to be read twice. A question may, and a line in the middle of a sentence."""
    for name in tree.sources:
        if not name.startswith(FOLDERS):
            continue
        for block in blocks_of((tree.root / name).read_text(errors="replace")):
            before = "."
            for at, (number, line) in enumerate(block):
                word = FRAGMENT.match(line if at else line.capitalize())
                if word and ENDS_SENTENCE.search(before) and not is_question(
                        [text for _, text in block[at:]]):
                    yield (f"{name}:{number}: a comment begins with '{word.group()}': begin with a noun "
                           "or a verb (Returns, The bytes that), and say it in a whole sentence")
                before = line
