"""How results look: the table, and under it the forms of the peers. rows_of() reads a table again."""

import re


def figure(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def spread(figures):
    """How far the repeats lie below and above the median."""
    if not figures or figures["repeats"] < 2:
        return "-"
    low, high = (figures[key] / figures["median"] - 1 for key in ("least", "most"))
    return f"{100 * low:+.0f}..{100 * high:+.0f}%"


def header():
    return (f"{'':<54} {'infeed':>10} {'spread':>9} {'peer':>10} {'spread':>9} {'':<11} {'ratio':>8}"
            f"  {'against':<17}bar")


def row_lines(result):
    """A line for each thing that the row is compared with; the bars stand in the first one."""
    against = [(name, next(iter(forms.values()))) for name, forms in result["peers"].items()]
    if "other" in result:
        against.append((result["other"]["what"], result["other"]))
    lines = []
    for index, (name, figures) in enumerate(against or [("", {})]):
        ours = result["ours"]
        lines.append(
            f"{result['name']:<54} {figure(ours['median']):>10} {spread(ours):>9}"
            f" {figure(figures.get('median')):>10} {spread(figures):>9} {result['unit']:<11}"
            f" {figure(result['ratios'].get(name)):>8}  {name:<17}"
            f"{result['bar'] if index == 0 else ''}".rstrip())
    lines += [f"{result['name']:<54} {'-':>10} {'-':>9} {'-':>10} {'-':>9} {result['unit']:<11} {'-':>8}"
              f"  {name:<17}not installed" for name in result.get("not_installed", ())]
    if result["disturbed"]:
        lines.append(f"    disturbed machine: {result['disturbed']}")
    return lines


def summary(results):
    bars = [result["bar_met"] for result in results if result["bar"]]
    disturbed = sum(bool(result["disturbed"]) for result in results)
    return (f"{len(results)} rows; {sum(bars)} of {len(bars)} bars met"
            + (f"; {disturbed} rows on a disturbed machine" if disturbed else ""))


def beside(result, side):
    """What was noted with the last measurement: the first batch's time, and memory."""
    notes = result.get("notes", {}).get(side)
    return " (" + ", ".join(f"{what} {value:g}" for what, value in notes.items()) + ")" if notes else ""


def forms_lines(results):
    """Of every row and peer each form, the best one first: that is the one in the table."""
    lines = []
    for result in results:
        for name, forms in result["peers"].items():
            if len(forms) < 2:
                continue
            lines.append(f"{result['name']}, {name}, {result['unit']}")
            lines += [f"    {figure(figures['median']):>10} {spread(figures):>9}  {form}"
                      + beside(result, f"{name}, {form}") for form, figures in forms.items()]
        lines += [f"{result['name']}, {side}{beside(result, side)}"
                  for side in result.get("notes", {}) if side.startswith("infeed")]
    return ["", "Forms of the peers, the best one first:"] + lines if lines else []


def group_text(results):
    """The same that was printed."""
    lines = [header()]
    for result in results:
        lines += row_lines(result)
    return "\n".join(lines + [summary(results)])


ROW = re.compile(r"(?P<name>.+?) +(?P<ours>[\d.,]+) +\S+ +(?P<theirs>[\d.,]+) +\S+ (?P<unit>\S+) +(?P<ratio>[\d.,]+)  "
                 r"(?P<against>.{1,17})")


def number(text):
    return float(text.replace(",", ""))


def rows_of(text):
    """The lines of a table that compare, as printed: name, unit, ours, theirs, ratio, against."""
    found = (ROW.match(line) for line in text.splitlines())
    return [{"name": row["name"], "unit": row["unit"], "ours": number(row["ours"]), "theirs": number(row["theirs"]),
             "ratio": number(row["ratio"]), "against": row["against"].strip()} for row in found if row]
