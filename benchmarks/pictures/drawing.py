"""Shapes for pictures of fixed size, in two schemes of colours, as SVG text."""

import html

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
# The colours of the profiler's report (tools/profile/page/report.css).
SCHEMES = {
    "light": {"page": "#ffffff", "card": "#f6f7f9", "line": "#c5ccd5", "text": "#1c2430", "dim": "#5d6b7c",
              "ours": "#3b7de0", "theirs": "#a9b4c0", "note": "#15803d"},
    "dark": {"page": "#0d1117", "card": "#1a2029", "line": "#3d4857", "text": "#e5e9ef", "dim": "#9aa7b6",
             "ours": "#5b97f2", "theirs": "#667384", "note": "#4ec77d"},
}


class Drawing:
    """Collects shapes; text() gives the file. Lengths are pixels, colours are names of SCHEMES."""

    def __init__(self, width, height, scheme, title):
        self.width, self.height, self.title = width, height, title
        self.colours = SCHEMES[scheme]
        self.shapes = []
        self.box(0, 0, width, height, "page", radius=8)

    def box(self, x, y, width, height, colour, line=None, radius=3):
        stroke = f' stroke="{self.colours[line]}"' if line else ""
        self.shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{width:.6g}" height="{height:g}" rx="{radius}"'
                           f' fill="{self.colours[colour]}"{stroke}/>')

    def write(self, x, y, text, colour="text", size=13, bold=False, anchor="start"):
        weight = ' font-weight="650"' if bold else ""
        self.shapes.append(f'<text x="{x:.6g}" y="{y:g}" fill="{self.colours[colour]}" font-size="{size:g}"{weight}'
                           f' text-anchor="{anchor}">{html.escape(text)}</text>')

    def arrow(self, x, y, to_x, to_y):
        """A line along one axis, with its head at the end."""
        across = to_y == y
        sign = 1 if (to_x - x if across else to_y - y) > 0 else -1
        head = (f"M{to_x - 5 * sign:g} {to_y - 4:g}L{to_x:g} {to_y:g}L{to_x - 5 * sign:g} {to_y + 4:g}" if across else
                f"M{to_x - 4:g} {to_y - 5 * sign:g}L{to_x:g} {to_y:g}L{to_x + 4:g} {to_y - 5 * sign:g}")
        self.shapes.append(f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}{head}" fill="none" stroke="{self.colours["dim"]}"'
                           ' stroke-width="1.5"/>')

    def text(self):
        title = html.escape(self.title)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}" font-family="{FONT}" role="img">',
            f"<title>{title}</title>", *self.shapes, "</svg>", ""])
