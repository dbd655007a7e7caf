"""Finds the small mistakes that could stand in a C++ source: what mutate.py tries one by one.

A tokenizer knows comments, literals and preprocessor lines. Which `<` compares and which opens
template arguments follows from the spaces that clang-format puts around binary operators alone.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|(?P<text>(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"'
    r"|(?<![\w])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')"
    r"|(?P<line>(?m:^)[ \t]*#(?:\\\n|[^\n])*)"
    r"|(?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><=>|<<=|>>=|\.\.\.|->\*|->|::|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|[^\s\w])",
    re.S)

OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "^": "|", "<<": ">>",
    ">>": "<<", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "^=": "|=",
    "<<=": ">>=", ">>=": "<<=",
}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!=", "&&", "||"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
CLOSES = {"(": ")", "[": "]", "{": "}"}
CONTROL = {"if", "for", "while", "switch"}
# No expression statement begins with these.
NO_EXPRESSION = CONTROL | {
    "return", "throw", "delete", "goto", "break", "continue", "using", "case", "default", "else", "do",
    "try", "catch", "auto", "const", "constexpr", "static", "thread_local", "inline", "typedef", "struct",
    "class", "union", "enum", "namespace", "template", "static_assert", "static_cast", "public",
    "private", "protected", "virtual", "friend", "explicit", "operator", "void", "bool", "char", "int",
    "long", "short", "unsigned", "signed", "float", "double", "extern", "requires", "concept", "asm",
    "co_return", "co_await", "co_yield", "__asm__", "__attribute__", "alignas", "mutable", "volatile",
}
# Calls that change the time and the memory that code takes, and nothing that it does.
ONLY_FASTER = {"reserve", "shrink_to_fit", "__builtin_prefetch", "_mm_prefetch", "prefetch", "pause"}
# What the compiler computes for itself: a mistake in it hardly compiles.
AT_COMPILE_TIME = {"static_assert", "alignas", "requires", "concept", "decltype", "noexcept",
                   "__attribute__", "sizeof"}
KIBIBYTES = {"10", "20", "30"}  # 64 << 10: a size chosen by measuring


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    begin: int

    @property
    def end(self):
        return self.begin + len(self.text)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One mistake: `edits` are (begin, end, text) in the source of `file`."""

    file: str
    kind: str
    edits: tuple
    line: int
    before: str  # the lines that it changes, without what indents and breaks them
    after: str

    def applied_to(self, source):
        for begin, end, text in sorted(self.edits, reverse=True):
            source = source[:begin] + text + source[end:]
        return source

    @property
    def name(self):
        return self.file, self.before, self.after


class Code:
    """The tokens of a source that are code, and the bracket that closes each one that opens."""

    def __init__(self, source):
        self.source = source
        self.tokens = [Token(found.lastgroup if found.lastgroup != "mark" else "text", found.group(),
                             found.start())
                       for found in TOKEN.finditer(source)
                       if found.lastgroup not in ("comment", "line")]
        self.closing, self.around = {}, {}
        open_ones = []
        for at, token in enumerate(self.tokens):
            self.around[at] = open_ones[-1] if open_ones else None
            if token.text in CLOSES and token.kind == "sign":
                open_ones.append(at)
            elif token.text in CLOSES.values() and token.kind == "sign" and open_ones:
                self.closing[open_ones.pop()] = at

    def text(self, at):
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def is_spaced(self, at):
        token = self.tokens[at]
        return (self.source[token.begin - 1:token.begin].isspace()
                and self.source[token.end:token.end + 1].isspace())

    def end_of_statement(self, at):
        """The token of the `;` that ends what begins at `at`; None if a bracket ends it."""
        while at < len(self.tokens):
            text = self.text(at)
            if text == ";":
                return at
            if text in CLOSES.values():
                return None
            at = self.closing.get(at, at) + 1
        return None

    def top_level(self, begin, end):
        """The tokens of [begin, end) that stand in no bracket inside it."""
        at = begin
        while at < end:
            yield at
            at = self.closing.get(at, at) + 1

    def is_in_function(self, at):
        """True if the innermost bracket around a token is the brace of a function or a block."""
        brace = self.around[at]
        if brace is None or self.text(brace) != "{":
            return False
        before = brace - 1
        while before >= 0 and self.text(before) not in (";", "{", "}"):
            if self.text(before) in ("class", "struct", "union", "namespace", "enum"):
                return False
            before -= 1
        return True

    def skipped(self):
        """The tokens that only the compiler sees."""
        for at, token in enumerate(self.tokens):
            if token.text in AT_COMPILE_TIME and self.text(at + 1) == "(":
                yield from range(at, self.closing.get(at + 1, at) + 1)
            elif token.text in ("concept", "requires"):
                yield from range(at, self.end_of_statement(at) or at)
            elif token.text == "constexpr" and self.text(at - 1) == "if":
                yield from range(at, self.closing.get(at + 1, at) + 1)
            elif token.text == "template" and self.text(at + 1) == "<":
                end = at + 1
                while self.text(end) not in ("{", ";", "(", "") and end < at + 60:
                    end += 1
                yield from range(at, end)
            elif token.text == "operator":
                yield from (at, at + 1, at + 2)


def changed_operators(code):
    for at, token in enumerate(code.tokens):
        other = OPERATORS.get(token.text)
        if token.kind != "sign" or other is None or not code.is_spaced(at):
            continue
        sides = code.tokens[at - 1:at] + code.tokens[at + 1:at + 2]
        if any(side.kind == "text" for side in sides) and token.text not in COMPARISONS:
            continue  # a text that becomes longer
        if token.text == "<<" and code.text(at + 1) in KIBIBYTES:
            continue
        kind = "comparison" if token.text in COMPARISONS else "operator"
        yield kind, at, [(token.begin, token.end, other)]


def changed_numbers(code):
    for at, token in enumerate(code.tokens):
        if token.kind != "number":
            continue
        before, behind = code.text(at - 1), code.text(at + 1)
        shift = at + 2 if behind == "}" else at + 1  # as in std::size_t{64} << 10
        if code.text(shift) == "<<" and code.text(shift + 1) in KIBIBYTES:
            continue
        if before == "<<" and token.text in KIBIBYTES:
            continue
        if "<" == before and not code.is_spaced(at - 1) or ">" == behind and not code.is_spaced(at + 1):
            continue  # an argument of a template
        if before == "=" and code.text(at - 2) in (")", "const", "override", "noexcept"):
            continue  # a virtual function without a body
        more = str(int(token.text) + 1) if token.text.isdecimal() else f"({token.text} + 1)"
        yield "constant", at, [(token.begin, token.end, more)]


def changed_conditions(code):
    for at, token in enumerate(code.tokens):
        if token.text == "?" and token.kind == "sign":
            yield "condition", at, [(token.begin, token.begin, "&& false ")]
            yield "condition", at, [(token.begin, token.begin, "|| true ")]
        if token.text not in ("if", "while", "for") or code.text(at + 1) != "(":
            continue
        begin, end = at + 2, code.closing.get(at + 1)
        if end is None:
            continue
        marks = [i for i in code.top_level(begin, end) if code.text(i) == ";"]
        if token.text == "for":
            if len(marks) != 2:
                continue
            begin, end = marks[0] + 1, marks[1]
        elif marks:
            begin = marks[-1] + 1
        inside = list(code.top_level(begin, end))
        if not inside or any(code.text(i) == "=" for i in inside):
            continue
        first, last = code.tokens[begin].begin, code.tokens[end - 1].end
        wholes = ["&& false", "|| true"] if token.text == "if" else ["&& false"]
        for whole in wholes:
            yield "condition", at, [(first, first, "("), (last, last, f") {whole}")]


def changed_returns(code):
    for at, token in enumerate(code.tokens):
        if token.text != "return":
            continue
        end = code.end_of_statement(at)
        if end is None or end == at + 1:
            continue
        first, last = code.tokens[at + 1], code.tokens[end - 1]
        only = first.text if end == at + 2 else ""
        if only in ("true", "false"):
            yield "return", at, [(first.begin, first.end, "false" if only == "true" else "true")]
            continue
        inside = [code.text(i) for i in code.top_level(at + 1, end)]
        if first.text == "{" and code.text(at + 2) == "}" or only in ("nullptr", "this") \
                or first.kind == "number" and only or inside[:2] == ["*", "this"] \
                or inside == ["std", "::", "nullopt"]:
            continue
        compares = [text for text in inside if text in COMPARISONS]
        if compares in (["=="], ["!="]):
            continue  # what turns its operator does the same
        if (compares or first.text == "!") and "?" not in inside:
            yield "return", at, [(first.begin, first.begin, "!("), (last.end, last.end, ")")]
        else:
            yield "return", at, [(first.begin, last.end, "{}")]


def is_declaration(code, at):
    """True if a type and a name begin at `at`."""
    behind_name = False
    while True:
        token = code.tokens[at]
        if token.text == "<" and not code.is_spaced(at):  # arguments of a template
            depth = 0
            while at < len(code.tokens):
                depth += {"<": 1, ">": -1, ">>": -2}.get(code.text(at), 0)
                at += 1
                if depth <= 0 or code.text(at) == ";":
                    break
            behind_name = True
            continue
        if behind_name:
            if token.kind == "name":
                return True
            if token.text in ("&", "*", "&&") and not code.is_spaced(at):
                return True
            if token.text != "::":
                return False
            behind_name = False
        elif token.kind == "name":
            behind_name = True
        elif token.text != "::":
            return False
        at += 1


def removed_statements(code):
    for at, token in enumerate(code.tokens):
        before = code.text(at - 1)
        closes_control = False
        if before == ")":
            opening = next((i for i, end in code.closing.items() if end == at - 1), 0)
            closes_control = code.text(opening - 1) in CONTROL
        if before not in (";", "{", "}", "else", ":") and not closes_control:
            continue
        if token.text in NO_EXPRESSION or not code.is_in_function(at):
            continue
        if token.kind != "name" and token.text not in ("++", "--", "*", "::"):
            continue
        end = code.end_of_statement(at)
        if end is None or token.kind == "name" and is_declaration(code, at):
            continue
        inside = list(code.top_level(at, end))
        if before == ":" and "?" in [code.text(i) for i in range(max(0, at - 40), at)]:
            continue
        calls = [i for i in inside if code.text(i) == "("]
        if any(code.text(i - 1) in ONLY_FASTER for i in calls):
            continue
        assigns = any(code.text(i) in ASSIGNMENTS for i in inside) or token.text in ("++", "--")
        if assigns or calls:
            yield "removed", at, [(token.begin, code.tokens[end].end, "{}")]


def mutants_of(file, source):
    """All mistakes, in the order of the source."""
    code = Code(source)
    skipped = set(code.skipped())
    found = {}
    for find in (changed_operators, changed_numbers, changed_conditions, changed_returns,
                 removed_statements):
        for kind, at, edits in find(code):
            if at not in skipped:
                mutant = described(file, source, kind, tuple(edits))
                found.setdefault((mutant.line, mutant.after), mutant)
    return sorted(found.values(), key=lambda mutant: (mutant.edits[0][0], mutant.kind, mutant.after))


def described(file, source, kind, edits):
    begin = source.rfind("\n", 0, edits[0][0]) + 1
    end = source.find("\n", max(edit[1] for edit in edits))
    end = len(source) if end < 0 else end
    local = tuple((b - begin, e - begin, text) for b, e, text in edits)
    before = source[begin:end]
    after = Mutant(file, kind, local, 0, "", "").applied_to(before)
    return Mutant(file, kind, edits, source.count("\n", 0, edits[0][0]) + 1,
                  " ".join(before.split()), " ".join(after.split()))
