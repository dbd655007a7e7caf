"""The way of the data, from files to the device."""

from drawing import Drawing

WIDTH, HEIGHT, TOP, BOX_WIDTH, BOX_HEIGHT, GAP = 860, 236, 24, 148, 84, 20
# What each box is called, and what it says.
BOXES = [
    ("Files", ["record shards, tables,", "photographs, arrays,", "local or by URL"]),
    ("records", ["read in blocks,", "decompressed,", "CRC-32C verified"]),
    ("stages", ["parse, map, shuffle,", "cache, batch,", "on all cores"]),
    ("queues", ["one for each replica,", "with the batch's", "share of rows"]),
    ("device", ["simulated TPU:", "stalls measured,", "training real"]),
]
# Below which boxes (from, to), what it is called, and what it says.
NOTES = [
    (0, 0, "infeed convert", ["makes shards,", "resumes after a kill"]),
    (1, 1, "errors", ["with file, offset", "and record"]),
    (2, 2, "run", ["checkpoint, tuner,", "limits, watchdog"]),
    (3, 4, "infeed profile", ["names stage, file and record", "of each late step, and tries its advice"]),
]


def left(index):
    return 20 + index * (BOX_WIDTH + GAP)


def dataflow(scheme):
    """The SVG text."""
    drawing = Drawing(WIDTH, HEIGHT, scheme, "Files, records, stages, queues, device")
    for index, (name, lines) in enumerate(BOXES):
        drawing.box(left(index), TOP, BOX_WIDTH, BOX_HEIGHT, "card", "ours", radius=8)
        drawing.write(left(index) + 12, TOP + 23, name, size=15, bold=True)
        for number, line in enumerate(lines):
            drawing.write(left(index) + 12, TOP + 41 + 16 * number, line, "dim", 12)
        if index:
            drawing.arrow(left(index) - GAP + 2, TOP + BOX_HEIGHT / 2, left(index) - 2, TOP + BOX_HEIGHT / 2)
    below = TOP + BOX_HEIGHT + 34
    for first, last, name, lines in NOTES:
        width = left(last) + BOX_WIDTH - left(first)
        middle = left(first) + width / 2
        drawing.box(left(first), below, width, 68, "page", "line", radius=8)
        drawing.write(left(first) + 12, below + 22, name, "note", 13, bold=True)
        for number, line in enumerate(lines):
            drawing.write(left(first) + 12, below + 40 + 16 * number, line, "dim", 12)
        up = first == 0
        ends = (below - 2, TOP + BOX_HEIGHT + 2)
        drawing.arrow(middle, ends[0] if up else ends[1], middle, ends[1] if up else ends[0])
    return drawing.text()
