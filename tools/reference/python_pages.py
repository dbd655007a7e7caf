#!/usr/bin/env python3
"""Writes the reference of the Python package as pages for Doxygen.

    python_pages.py PACKAGE OUT

PACKAGE is the package's folder where it is built or installed: its __init__.pyi says what is public, and has the
methods that are made from the engine's table of stages. Nothing is imported, so no framework is needed. Writes
OUT/python.md (the list), a page for each class, one for the functions, and one for the modules of frameworks.

Exit status 1, with a line for each finding, if something public has no docstring, or isn't there.
"""

import ast
import pathlib
import re
import sys
import textwrap

FRAMEWORKS = ["torch", "jax", "keras", "tf", "ray", "hf"]
PARAMETER = re.compile(r"((?:\*{0,2}[\w.]+)(?:, \*{0,2}\w+)*): ")
# They make no difference to a caller, or are protocols that libraries call.
PASSED_OVER = re.compile(r"_(?!_init__$)")


def first_sentence(doc):
    paragraph = " ".join(doc.split("\n\n")[0].split())
    return re.split(r"(?<=[.:]) ", paragraph)[0].rstrip(":")


def prose(text):
    """Returns text that Doxygen's Markdown leaves as it is, with the code in it. A word that C++ has, too, is no
    link to it."""

    def shown(part):
        if part.startswith("`"):
            return part
        part = re.sub(r"\b(infeed\.)?\w+\(|\binfeed\.\w+", r"%\g<0>", re.sub(r"[\\@<>#&%]", r"\\\g<0>", part))
        return part if part.startswith('"') else re.sub(r"[*_|\[\]$]", r"\\\g<0>", part)  # it keeps what is quoted

    return "".join(shown(part) for part in re.split(r'(`[^`]+`|"[^"]*")', text))


def blocks_of(doc):
    """Yields (kind, lines) of a docstring: text, parameter (a name, a colon, and what is indented below), code."""
    kind, block, was_empty = "text", [], False
    for number, line in enumerate(doc.splitlines()):
        is_first = number == 0
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            was_empty = True
            if kind == "code":
                block.append("")
            continue
        if kind == "code" and (indent >= 4 or line.startswith((">>>", "["))) and block:
            now = "code"
        elif (was_empty and indent >= 4) or line.startswith(">>>"):
            now = "code"
        elif kind == "parameter" and indent > 0:
            now = "parameter"
        else:
            now = "parameter" if not is_first and PARAMETER.match(line) else "text"
        begins = now != kind or (now == "parameter" and indent == 0) or (now == "text" and was_empty)
        if begins and block:
            yield kind, block
            block = []
        kind, was_empty = now, False
        block.append(line)
    if block:
        yield kind, block


def shown_doc(doc):
    lines, before = [], ""
    for kind, block in blocks_of(doc):
        text = " ".join(line.strip() for line in block)
        if kind == "code":
            code = textwrap.dedent("\n".join(block)).rstrip()
            lines += ["", "```{.py}", code, "```", ""]
        elif kind == "parameter":
            names, rest = text.split(": ", 1)
            lines += [""] if before != "parameter" else []
            lines.append(f"- `{names}`: {prose(rest)}")
        else:
            lines += ["", prose(text), ""]
        before = kind
    return lines


def signature_of(node, prefix=""):
    """Returns `name(...) -> type`, over several lines where one is too long."""
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^self(, )?(/, )?", "", arguments).removesuffix(", /")
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    whole = f"{prefix}{node.name}({arguments}){result}"
    if len(whole) <= 110:
        return whole
    return f"{prefix}{node.name}(\n    " + ",\n    ".join(split_arguments(arguments)) + f"){result}"


def split_arguments(text):
    """Splits at the commas that stand in no brackets and no quotes."""
    parts, depth, begin, quote = [], 0, 0, ""
    for at, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]]]


def is_property(node):
    return any(ast.unparse(mark).split(".")[-1] in ("property", "cached_property") for mark in node.decorator_list)


class Package:
    def __init__(self, folder):
        self.folder, self.findings, self.modules = folder, [], {}

    def module(self, name):
        """Returns the tree of a module: of its types, if they are written down, or of its source."""
        if name not in self.modules:
            files = [self.folder / f"{name}.pyi", self.folder / f"{name}.py"]
            file = next((file for file in files if file.is_file()), None)
            if file is None:
                sys.exit(f"{self.folder}: has no {name}.pyi: build the package (-DINFEED_PYTHON=ON), or install it")
            self.modules[name] = ast.parse(file.read_text(encoding="utf-8"))
        return self.modules[name]

    def doc(self, node, place, is_needed=True):
        doc = ast.get_docstring(node) or ""
        if not doc and is_needed:
            self.findings.append(f"{place} has no docstring")
        return doc

    def defined(self, tree):
        return {node.name: node for node in tree.body
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not PASSED_OVER.match(node.name)}

    def public(self):
        """Returns the classes and functions that a user sees as infeed.NAME: name and node."""
        tree = self.module("__init__")
        found = self.defined(tree)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("infeed"):
                others = self.defined(self.module(node.module.split(".")[-1]))
                for name in (alias.name for alias in node.names):
                    if name in others:
                        found[name] = others[name]
                    else:
                        self.findings.append(f"infeed.{name} is not defined in {node.module}")
        # The types may name it without a docstring, which the package's own source then has.
        own = self.defined(ast.parse((self.folder / "__init__.py").read_text(encoding="utf-8")))
        for name, node in found.items():
            if name in own and not ast.get_docstring(node):
                node.body.insert(0, own[name].body[0])
        return dict(sorted(found.items(), key=lambda item: item[0].lower()))

    def function(self, node, name, marks, label):
        shown = signature_of(node, name[:-len(node.name)])
        if is_property(node):
            shown = name + (f": {ast.unparse(node.returns)}" if node.returns else "")
        return [f"{marks} {prose(node.name)} {{#{label}}}", "", "```{.py}", shown, "```",
                *shown_doc(self.doc(node, name)), ""]

    def class_page(self, node, name, label, marks="##"):
        lines = shown_doc(self.doc(node, name))
        fields = [child for child in node.body if isinstance(child, ast.AnnAssign)]
        if fields:
            lines += ["", "```{.py}", f"{name}(" + ", ".join(ast.unparse(child) for child in fields) + ")", "```"]
        seen = set()
        for child in node.body:
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) or PASSED_OVER.match(child.name):
                continue
            if child.name in seen:
                continue
            seen.add(child.name)
            place = f"{name}.{child.name}"
            if child.name == "__init__":
                if ast.get_docstring(child):
                    lines += ["", "```{.py}", signature_of(child).replace("__init__", name, 1).removesuffix(" -> None"),
                              "```", *shown_doc(ast.get_docstring(child)), ""]
            else:
                lines += self.function(child, place, marks, f"{label}_{child.name}")
        return lines


def row(link, doc):
    return f"| {link} | {prose(first_sentence(doc))} |"


def write_pages(package, out):
    public = package.public()
    classes = {name: node for name, node in public.items() if isinstance(node, ast.ClassDef)}
    functions = {name: node for name, node in public.items() if isinstance(node, ast.FunctionDef)}
    source = ast.parse((package.folder / "__init__.py").read_text(encoding="utf-8"))
    index = ["# The reference of the Python package {#python}", *shown_doc(ast.get_docstring(source) or ""),
             "[Recipes](tools_python_recipes.html) has whole programs.", "", "| class | |", "|---|---|"]
    for name, node in classes.items():
        label = f"python_{name}"
        index.append(row(f'@subpage {label} "{name}"', package.doc(node, name)))
        page = [f"# infeed.{name} {{#{label}}}", *package.class_page(node, name, label)]
        (out / f"{label}.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    index += ["", "| @subpage python_functions \"function\" | |", "|---|---|"]
    page = ["# infeed: functions {#python_functions}", ""]
    for name, node in functions.items():
        label = f"python_functions_{name}"
        index.append(row(f"[{prose(name)}](python_functions.html#{label})", package.doc(node, name, False)))
        page += package.function(node, f"infeed.{name}", "##", label)
    (out / "python_functions.md").write_text("\n".join(page), encoding="utf-8")
    index += ["", "| @subpage python_frameworks \"module\" | |", "|---|---|"]
    page = ["# infeed: modules for frameworks {#python_frameworks}", ""]
    for name in FRAMEWORKS:
        tree, label = package.module(name), f"python_frameworks_{name}"
        doc = package.doc(tree, f"infeed.{name}")
        index.append(row(f"[infeed.{name}](python_frameworks.html#{label})", doc))
        page += [f"## infeed.{name} {{#{label}}}", *shown_doc(doc), ""]
        for own, node in package.defined(tree).items():
            if isinstance(node, ast.FunctionDef):
                page += package.function(node, f"infeed.{name}.{own}", "###", f"{label}_{own}")
            else:
                page += [f"### infeed.{name}.{own} {{#{label}_{own}}}", *shown_doc(package.doc(node, own)), ""]
    (out / "python_frameworks.md").write_text("\n".join(page), encoding="utf-8")
    (out / "python.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def main():
    package, out = Package(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    write_pages(package, out)
    for finding in dict.fromkeys(package.findings):
        print(f"the Python package: infeed.{finding.removeprefix('infeed.')}")
    return 1 if package.findings else 0


if __name__ == "__main__":
    sys.exit(main())
