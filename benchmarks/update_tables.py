#!/usr/bin/env python3
"""Puts what compare.sh and the quickstart measured into the READMEs, so that a table there is always
one that was printed, and draws the pictures that show it.

    benchmarks/compare.sh main engine records convert image --json results.json
    tools/quickstart.sh --short | tee quickstart.txt
    benchmarks/autotune.sh --json tuner.json
    benchmarks/update_tables.py [results.json] [--quickstart quickstart.txt] [--tuner tuner.json]
                                [--check]

A table stands between two lines, <!-- measured: NAME --> and <!-- measured end -->. NAME is a group
(its table), a group and " forms" (the peers' forms), quickstart, or one of the tuner's three (tuner,
tuner summary, tuner with busy neighbours). Groups that the files don't have stay as they are. The
README's headline and the chart in benchmarks/pictures/ are made from these tables, whether they are new
or not. --check changes nothing, and ends with status 1 if something would change.
"""

import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks" / folder) for folder in ("compare", "autotune", "pictures")]

import dataflow  # noqa: E402
import rates  # noqa: E402
import table  # noqa: E402
import tuner_report  # noqa: E402

READMES = ["README.md", "benchmarks/README.md", "benchmarks/forms.md", "tools/README.md"]
HEADLINE_ROW = "tuned, the peer augments a batch at a time"
MEASURED = re.compile(r"(<!-- measured: ([^>]+?) -->\n).*?(<!-- measured end -->)", re.DOTALL)


def texts_of(results):
    texts = {}
    for group in dict.fromkeys(row["group"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["group"] == group]
        texts[group] = table.group_text(rows)
        texts[group + " forms"] = "\n".join(table.forms_lines(rows)).strip()
    return texts


def comparison_of(quickstart):
    """The second and third part of what the quickstart printed."""
    part = re.search(r"^2  .*?(?=^4  )", quickstart, re.DOTALL | re.MULTILINE)
    if part is None:
        sys.exit("update_tables.py: the quickstart's text has no parts 2 to 4")
    return part.group().rstrip()


def headline_of(main_table):
    """The README's one figure: the main job against the best of tf.data's forms."""
    row = next((row for row in table.rows_of(main_table)
                if row["name"] == HEADLINE_ROW and row["against"] == "tf.data"), None)
    if row is None:
        sys.exit(f"update_tables.py: the table of main has no row '{HEADLINE_ROW}' against tf.data: "
                 "name another one in HEADLINE_ROW")
    return (f"**{row['ratio']:.3g} times tf.data's images a second**: record files of Fashion-MNIST become batches of cropped, mirrored\n"
            f"and normalised images at {row['ours']:,.0f} a second, and at {row['theirs']:,.0f} in the best of tf.data's forms, in\n"
            "the same run on two cores ([all results](benchmarks/README.md)).")


def updated(text, texts):
    def replaced(match):
        begin, name, end = match.groups()
        if name not in texts:
            return match.group()
        # The headline is a sentence, and the tuner's tables are the page's own.
        fence = "" if name == "headline" or name.startswith("tuner") else "```\n"
        return f"{begin}{fence}{texts[name]}\n{fence}{end}"

    return MEASURED.sub(replaced, text)


def tables_of(pages):
    """What stands between the marks, by name."""
    return {match[2]: match.group() for text in pages.values() for match in MEASURED.finditer(text)}


def files_with(texts, pages):
    """The pages with these texts, and what follows from the tables on them: the headline and the pictures."""
    pages = {name: updated(text, texts) for name, text in pages.items()}
    tables = tables_of(pages)
    pages = {name: updated(text, {"headline": headline_of(tables["main"])}) for name, text in pages.items()}
    pictures = {}
    for scheme in ("light", "dark"):
        pictures[f"benchmarks/pictures/dataflow-{scheme}.svg"] = dataflow.dataflow(scheme)
        pictures[f"benchmarks/pictures/rates-{scheme}.svg"] = rates.rates(tables, scheme)
    return pages | pictures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=pathlib.Path, nargs="?")
    parser.add_argument("--quickstart", type=pathlib.Path)
    parser.add_argument("--tuner", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    texts = texts_of(json.loads(options.results.read_text())) if options.results else {}
    if options.tuner:
        rows = json.loads(options.tuner.read_text())
        texts |= {"tuner": tuner_report.table(rows),
                  "tuner summary": tuner_report.after_the_table(rows),
                  "tuner with busy neighbours": tuner_report.neighbours_table(rows)}
    if options.quickstart:
        texts["quickstart"] = comparison_of(options.quickstart.read_text())
    pages = {name: (ROOT / name).read_text() for name in READMES}
    differ = 0
    for name, after in files_with(texts, pages).items():
        path = ROOT / name
        if path.exists() and path.read_text() == after:
            continue
        differ += 1
        print(f"{name}: {'differs from the results' if options.check else 'updated'}")
        if not options.check:
            path.write_text(after)
    return 1 if options.check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
