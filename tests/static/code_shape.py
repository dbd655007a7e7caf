"""What check.py asks of the code itself: it reads sources by brackets, which is enough for these."""

import re

MEMBERS_MAX = 20
METHODS_MAX = 25
# The classes that exceed a limit, with their data members and methods: none of them may grow.
LARGE_CLASSES = {
    "pipeline/engine/include/infeed/pipeline/chunk.h Chunk": (7, 32),
    "pipeline/engine/include/infeed/pipeline/detail/iterator_core.h IteratorCore": (21, 36),
    "pipeline/engine/include/infeed/pipeline/iterator.h Iterator": (2, 27),
    "records/columns/include/infeed/records/column.h Column": (4, 29),
    "records/columns/include/infeed/records/tensor.h Tensor": (5, 30),
}

NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
                      r"|//[^\n]*|/\*.*?\*/", re.S)
TEMPLATE_ARGUMENTS = re.compile(r"(?<=[\w\]])<[^<>;{}]*>")
GOES_ON_BEHIND_BRACE = re.compile(r"\s*[,;{(.]")
CLASS = re.compile(r"(?<!enum )\b(?:class|struct)\s+([\w:]+)\s*(?:final\s*)?(?::[^{};()]*)?\{")
BESIDE_MEMBER = re.compile(r"\b(public|private|protected)\s*:(?!:)|\[\]|\b(alignas|decltype)\(\)")
NO_MEMBER = re.compile(r"(template\s*<[^<>]*>\s*)?(__extension__\s+)?"
                       r"(using|typedef|friend|static_assert|enum|class|struct|union)\b")
CONSTANT = re.compile(r"(inline\s+)?(static|constexpr)\b")


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


def size_of_class(code, begin):
    """The numbers of data members (constants are none) and of methods (deleted ones are none)."""
    members = methods = 0
    for declaration in declarations(code, begin):
        declaration = BESIDE_MEMBER.sub("", declaration).strip()
        if not declaration or NO_MEMBER.match(declaration):
            continue
        head = declaration.split("=")[0]
        # A member that points to a function is "Type ()()" here.
        if "operator" in declaration or ("(" in head and ")(" not in head):
            methods += not declaration.endswith("delete")
        elif not CONSTANT.match(declaration):
            members += 1 + declaration.count(",")
    return members, methods


def check_classes(tree):
    """A class is small enough to be kept in mind; what is nested in it counts for itself."""
    for name in tree.sources:
        if name.startswith(("tests/", "benchmarks/")):
            continue
        code = code_of(tree, name)
        for found in CLASS.finditer(code):
            size = size_of_class(code, found.end())
            known = LARGE_CLASSES.get(f"{name} {found.group(1)}", (0, 0))
            most = max(MEMBERS_MAX, known[0]), max(METHODS_MAX, known[1])
            if size[0] > most[0] or size[1] > most[1]:
                yield (f"{name}:{line_of(code, found.start())}: {found.group(1)} has {size[0]} data "
                       f"members and {size[1]} methods; at most {most[0]} and {most[1]} are possible: "
                       "split it by what it does")


def check_returns(tree):
    """A return gives a value, and does nothing else on the way."""
    for name in tree.sources:
        code = code_of(tree, name)
        for found in re.finditer(r"\breturn\b", code):
            if "," in next(declarations(code, found.end()), ""):
                yield (f"{name}:{line_of(code, found.start())}: returns what stands behind a comma; "
                       "make two statements of it")
