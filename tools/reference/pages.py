#!/usr/bin/env python3
"""Writes the project's pages as Doxygen takes them, so that the reference has guides and pictures, too.

    pages.py OUT          run in the project's folder

Each *.md of the rooms becomes OUT/ID.md, and README.md OUT/index.md. Links between pages become links between
the pages of the reference, links to public headers go to the page of the header, and links to other files become
the file's name. Pictures are those of benchmarks/pictures.
"""

import os
import pathlib
import re
import sys

ROOMS = ["records", "pipeline", "device", "tools", "benchmarks"]
FENCE = re.compile(r"^ *```")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$")
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
TAG = re.compile(r"</?(details|summary|br|sup|sub)\b[^>]*>")


def page_id(path):
    """Returns the name of the page in the reference: tools/python/recipes.md is tools_python_recipes."""
    return "index" if path == "README.md" else re.sub(r"\W+", "_", path.removesuffix(".md"))


def anchor_of(heading):
    """Returns how GitHub calls a heading in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section_id(path, anchor):
    return f"{page_id(path)}_{re.sub(r'[^a-z0-9]+', '_', anchor)}"


def escaped(text):
    """Returns text in which nothing is a command of Doxygen, an element of HTML or a link that it would guess."""
    return re.sub(r"::|[\\@<>#%&]", lambda found: "\\" + found.group(0), text)


class Page:
    def __init__(self, path, pages, headers):
        self.path, self.pages, self.headers = path, pages, headers

    def link(self, text, target):
        place, _, anchor = target.partition("#")
        if "://" in target:
            return f"[{text}]({target})"
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), place)) if place else self.path
        if os.path.isdir(path):
            path = f"{path}/README.md"
        if path in self.pages:
            return f"[{text}]({page_id(path)}.html{'#' + section_id(path, anchor) if anchor else ''})"
        if path in self.headers:
            return f'@ref {self.headers[path]} "{text.replace("`", "")}"'
        return text if path.endswith(text.strip("`")) else f"{text} (`{path}`)"

    def prose(self, line):
        """Returns a line with its links turned and all else escaped, but for code and elements of HTML."""
        kept = []

        def keep(text):
            kept.append(text)
            return f"\0{len(kept) - 1}\0"

        def restored(text):
            while "\0" in text:
                text = re.sub(r"\0(\d+)\0", lambda found: kept[int(found.group(1))], text)
            return text

        line = CODE.sub(lambda found: keep(found.group(0)), line)
        line = re.sub(r"<img\b([^>]*)>", lambda found: keep(self.picture(found.group(1))), line)
        line = re.sub(r"<source\b[^>]*>|</?picture>|<!--.*?-->", "", line)
        line = LINK.sub(lambda found: keep(self.link(restored(escaped(found.group(1))), found.group(2))), line)
        line = TAG.sub(lambda found: keep(found.group(0)), line)
        return restored(escaped(line))

    def picture(self, attributes):
        name = os.path.basename(re.search(r'src="([^"]+)"', attributes).group(1))
        return "<img" + re.sub(r'src="[^"]+"', f'src="{name}"', attributes) + ">"

    def text(self):
        lines, in_code = [], False
        for line in pathlib.Path(self.path).read_text(encoding="utf-8").splitlines():
            if FENCE.match(line):
                in_code = not in_code
                # Doxygen knows languages by the ends of files' names.
                lines.append(re.sub(r"```(\w+)", r"```{.\1}", line).replace("{.python}", "{.py}"))
            elif in_code:
                lines.append(line)
            elif heading := HEADING.match(line):
                marks, title = heading.groups()
                name = page_id(self.path) if len(marks) == 1 else section_id(self.path, anchor_of(title))
                # Doxygen gives the main page its name itself.
                title = self.prose(title) if len(marks) > 1 else title.replace("`", "")
                lines.append(f"{marks} {title}" + (f" {{#{name}}}" if name != "index" else ""))
            else:
                lines.append(self.prose(line))
        return "\n".join(lines) + "\n"


def public_headers():
    """Returns the headers that have a page: their path, and their name in an #include."""
    found = {}
    for room in ROOMS:
        for path in pathlib.Path(room).rglob("include/**/*.h"):
            if "detail" not in path.parts:
                found[path.as_posix()] = path.as_posix().rsplit("/include/", 1)[1]
    return found


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    pages = [path.as_posix() for room in ROOMS for path in sorted(pathlib.Path(room).rglob("*.md"))]
    pages = ["README.md", "SECURITY.md", "CHANGELOG.md", *pages]
    headers = public_headers()
    for path in pages:
        (out / f"{page_id(path)}.md").write_text(Page(path, pages, headers).text(), encoding="utf-8")


if __name__ == "__main__":
    main()
