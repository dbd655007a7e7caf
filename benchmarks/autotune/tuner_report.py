"""What the tuner's benchmark prints: the table, what stands below it, and the chart. benchmarks/
update_tables.py makes the tables of the README from the same."""

import statistics

NEIGHBOURS = "busy neighbours: "
BASELINES = {"all 1": "#999", "all cores": "#b8a", "fixed choice": "#48c", "hill climbing": "#e93",
             "tf.data": "#c33"}
_COLUMNS = [
    ("workload", lambda row: row["name"]),
    ("tuner/s", lambda row: _number(row.get("ours"))),
    ("best fixed/s", lambda row: _number(row.get("oracle"))),
    ("ratio", lambda row: _number(row.get("ratio"), ".2f")),
    ("seconds to 5 %", lambda row: _number(row.get("seconds_to_5_percent"), ".1f")),
    ("changes", lambda row: _number(row.get("changes"), "d")),
    ("regret", lambda row: _number(row.get("regret"), ".2f")),
    ("memory", lambda row: _number(row.get("memory_ratio"), ".2f")),
    ("threads", lambda row: _number(row.get("threads_ratio"), ".2f")),
    ("worst prediction", lambda row: _number(max(row.get("prediction_errors") or [0]), ".0%")),
    ("fixed choice", lambda row: _over(row, "fixed choice")),
    ("hill climbing", lambda row: _over(row, "hill climbing")),
    ("tf.data", lambda row: _over(row, "tf.data")),
    ("bars met", lambda row: _verdict(row)),
]
_WIDTH, _LEFT, _ONE = 760, 210, 400  # of the chart; where bars begin, and end with a ratio of 1


def _number(value, form=",.0f"):
    return "" if value is None else format(value, form)


def _over(row, baseline):
    """What it reaches of the best fixed setting's rate."""
    value = (row.get("baselines") or {}).get(baseline)
    return "" if value is None or not row.get("oracle") else f"{value / row['oracle']:.2f}"


def _verdict(row):
    if row["bar_met"] is None:
        return row.get("why", "not measured")
    return "yes" if row["bar_met"] else "NO" + "".join(f", {bar}" for bar in row.get("missed", []))


HEAD = ("| " + " | ".join(name for name, _ in _COLUMNS) + " |\n" + "|---" * len(_COLUMNS) + "|")


def line(row):
    return "| " + " | ".join(text(row) for _, text in _COLUMNS) + " |"


def table(rows):
    return "\n".join([HEAD] + [line(row) for row in rows
                               if not row["name"].startswith(NEIGHBOURS)])


def neighbours_table(rows):
    lines = ["| workload | tuner/s | serial/s | ratio |", "|---|---|---|---|"]
    for row in rows:
        if row["name"].startswith(NEIGHBOURS):
            lines.append(f"| {row['name'].removeprefix(NEIGHBOURS)} | {row['ours']:,.0f} | "
                         f"{row['oracle']:,.0f} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def after_the_table(rows):
    """Over all rows: the predictions, the regret, and tf.data's memory."""
    said = []
    errors = sorted(error for row in rows for error in row.get("prediction_errors") or [])
    if errors:
        said.append(f"{len(errors)} predictions: median off by {statistics.median(errors):.0%}, 95th "
                    f"percentile by {errors[int(0.95 * (len(errors) - 1))]:.0%}.")
    regrets = [row for row in rows if row.get("regret_seconds")]
    if regrets:
        worst = max(regrets, key=lambda row: row["regret"])
        said.append(f"Regret after {worst['regret_seconds']:g} s: median "
                    f"{statistics.median(row['regret'] for row in regrets):.1%}, at worst "
                    f"{worst['regret']:.1%} ({worst['name']}).")
    over = [row["memory_over_budget_mib"] for row in regrets]
    if over:
        said.append(f"Most memory over the budget: {max(over):.0f} MiB.")
    peers = [row for row in rows if row.get("tfdata")]
    if peers:
        most = max(peers, key=lambda row: row["tfdata"]["resident_mib"])
        said.append(f"tf.data's own growth of resident memory: at most "
                    f"{most['tfdata']['resident_mib']:.0f} MiB ({most['name']}; the tuner's "
                    f"{most['memory_mib']:.0f}).")
    again = [row["name"] for row in rows if row.get("measured_again")]
    if again:
        said.append(f"Measured more than once, as the best setting's two runs differed by more than "
                    f"5 %, or the cores had a cache in common in some runs only: {', '.join(again)}.")
    unlike = [row["name"] for row in rows if row.get("is_comparable") is False]
    if unlike:
        said.append(f"So to the last: {', '.join(unlike)}.")
    return "\n".join(said)


def chart(rows):
    """Bars of the tuner over the best fixed setting, and dots for what it is compared with."""
    rows = [row for row in rows if row.get("ratio")]
    height = 24 * len(rows) + 66
    at_one = _LEFT + _ONE
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
             'font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             '<text x="10" y="20" font-size="14">Elements a second over those of the best fixed '
             'setting; bars: the tuner</text>']
    for index, (name, colour) in enumerate(BASELINES.items()):
        parts.append(f'<circle cx="{16 + 120 * index}" cy="38" r="5" fill="{colour}"/>'
                     f'<text x="{26 + 120 * index}" y="42">{name}</text>')
    for index, row in enumerate(rows):
        top = 56 + 24 * index
        width = min(1.3, row["ratio"]) * _ONE
        colour = "#8cb" if row["bar_met"] else "#ebb"
        parts.append(f'<text x="10" y="{top + 13}">{row["name"]}</text>'
                     f'<rect x="{_LEFT}" y="{top}" width="{width:.0f}" height="18" fill="{colour}"/>'
                     f'<text x="{_LEFT + width + 6:.0f}" y="{top + 13}">{row["ratio"]:.2f}</text>')
        for name, value in (row.get("baselines") or {}).items():
            x = _LEFT + min(1.3, value / row["oracle"]) * _ONE
            parts.append(f'<circle cx="{x:.0f}" cy="{top + 9}" r="4" fill="{BASELINES[name]}"/>')
    parts.append(f'<line x1="{at_one}" x2="{at_one}" y1="50" y2="{height - 6}" stroke="black" '
                 'stroke-dasharray="3 3"/></svg>')
    return "\n".join(parts)
