"""The chart of infeed beside its peers, made from the tables that compare.sh printed."""

import table
from drawing import Drawing
from rows import DALI, GRAIN, MLX, TFDATA

# Group, row of its table, what the chart calls it.
PANELS = [
    ("main", "read, parse, batch: Fashion-MNIST shards", "Images of 784 bytes: record files to batches"),
    ("main", "tuned, the peer augments a batch at a time", "The same, each image cropped, mirrored and normalised"),
    ("records", "parse, 2 KB images", "Images of 2 KB: record files to batches"),
    ("image", "decode, random resized crop, flip, normalise: batches of 128",
     "Photographs: decode a random crop, resize, normalise"),
    ("engine", "range | map | shuffle(10000) | batch(128) | prefetch",
     "Integers: map, shuffle, batch, prefetch"),
]
PEERS = [TFDATA, DALI, MLX, GRAIN]
WIDTH, LABEL_WIDTH, VALUE_WIDTH, BAR_HEIGHT, TITLE_HEIGHT = 860, 110, 230, 15, 34


def rate_text(rate):
    return f"{rate / 1e6:.3g} million/s" if rate >= 1e6 else f"{rate:,.0f}/s"


def panel_of(tables, group, name):
    """Who is how quick: (name, items a second, times that infeed is quicker); infeed first."""
    found = [row for row in table.rows_of(tables.get(group, "")) if row["name"] == name and row["against"] in PEERS]
    if not found:
        raise ValueError(f"the table of {group} has no row '{name}' against one of {', '.join(PEERS)}: "
                         "name another one in PANELS")

    def rate(row, side):
        return 1e9 / row[side] if row["unit"] == "ns/element" else row[side]

    peers = sorted(((row["against"], rate(row, "theirs"), row["ratio"]) for row in found),
                   key=lambda bar: -bar[1])
    return [("infeed", rate(found[0], "ours"), None), *peers]


def rates(tables, scheme):
    """The SVG text; `tables` are compare.sh's by group."""
    panels = [(title, panel_of(tables, group, name)) for group, name, title in PANELS]
    height = 46 + sum(TITLE_HEIGHT + (BAR_HEIGHT + 5) * len(bars) for _, bars in panels) + 14
    drawing = Drawing(WIDTH, height, scheme, "infeed beside tf.data, DALI, mlx-data and Grain")
    drawing.write(20, 28, "Items a second on two cores; each peer in the best of its forms, in the same run", "dim", 13)
    drawing.write(WIDTH - 20, 28, "infeed is", "dim", 13, anchor="end")
    y = 46
    longest = WIDTH - 40 - LABEL_WIDTH - VALUE_WIDTH
    for title, bars in panels:
        y += TITLE_HEIGHT
        drawing.write(20, y - 10, title, bold=True)
        for name, rate, ratio in bars:
            length = max(2, longest * rate / max(bar[1] for bar in bars))
            drawing.write(20, y + 12, name, "text" if ratio is None else "dim")
            drawing.box(20 + LABEL_WIDTH, y, length, BAR_HEIGHT, "ours" if ratio is None else "theirs")
            drawing.write(28 + LABEL_WIDTH + length, y + 12, rate_text(rate), "text" if ratio is None else "dim")
            if ratio is not None:
                drawing.write(WIDTH - 20, y + 12, f"{ratio:,.3g} times as quick", "note", anchor="end")
            y += BAR_HEIGHT + 5
    return drawing.text()
