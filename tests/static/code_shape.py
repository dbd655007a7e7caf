"""What check.py asks of the code itself: it reads sources by brackets, which is enough for these."""

import re

NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
                      r"|//[^\n]*|/\*.*?\*/", re.S)
TEMPLATE_ARGUMENTS = re.compile(r"(?<=[\w\]])<[^<>;{}]*>")
GOES_ON_BEHIND_BRACE = re.compile(r"\s*[,;{(.]")


def code_of(tree, name):
    """The text of a source without comments, literals and template arguments; its lines stay."""

    def lines_of(found):
        return "\n" * found.group().count("\n")

    code, count = NOT_CODE.sub(lines_of, (tree.root / name).read_text(errors="replace")), 1
    while count:
        code, count = TEMPLATE_ARGUMENTS.subn(lines_of, code)
    return code


def line_of(code, at):
    return code.count("\n", 0, at) + 1


def declarations(code, begin):
    """Those from `begin` to the end of the block, each without what stands in its brackets."""
    depth, text = 0, ""
    for at in range(begin, len(code)):
        character = code[at]
        if character in ")]}":
            if depth == 0:
                return
            depth -= 1
        if depth == 0 and character != ";":
            text += character
        if character in "([{":
            depth += 1
        ends_body = character == "}" and not GOES_ON_BEHIND_BRACE.match(code, at + 1)
        if depth == 0 and (character == ";" or ends_body):
            yield text
            text = ""


def check_returns(tree):
    """A return gives a value, and does nothing else on the way."""
    for name in tree.sources:
        code = code_of(tree, name)
        for found in re.finditer(r"\breturn\b", code):
            if "," in next(declarations(code, found.end()), ""):
                yield (f"{name}:{line_of(code, found.start())}: returns what stands behind a comma; "
                       "make two statements of it")
