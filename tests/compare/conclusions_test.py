#!/usr/bin/env python3
"""What benchmarks/compare concludes from figures: best forms, ratios, bars, spreads, the READMEs."""

import os
import pathlib
import subprocess
import sys
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "compare"), str(ROOT / "benchmarks")]

import compare  # noqa: E402
import machine  # noqa: E402
import update_tables  # noqa: E402  (adds the pictures' folder)
import rates  # noqa: E402
import rows  # noqa: E402
import sides  # noqa: E402
import table  # noqa: E402


class FakePeer:
    """values: the answers of each form, in turn; an exception is raised."""

    process = None
    notes = {}

    def __init__(self, values):
        self.values = values

    def forms(self, _):
        return list(self.values)

    def measure(self, _, form, __):
        value = self.values[form].pop(0)
        if isinstance(value, Exception):
            raise value
        return value


def measured(row, ours, forms):
    answers = [dict(zip(("ours", "other"), one)) for one in ours]
    original, sides.measure_ours = sides.measure_ours, lambda *_: answers.pop(0)
    try:
        return compare.measure_row(row, {rows.TFDATA: FakePeer(forms)},
                                   types.SimpleNamespace(repetitions=len(ours)))
    finally:
        sides.measure_ours = original


class Conclusions(unittest.TestCase):
    def test_the_best_form_counts(self):
        row = rows.Row("r", "g", "records/s", ratio_min=10, higher_is_better=True)
        result = measured(row, [(900,), (1000,), (1100,)],
                          {"slow": [10, 10, 10], "quick": [190, 200, 300]})
        self.assertEqual(result["ratios"], {"tf.data": 5})
        self.assertEqual(list(result["peers"]["tf.data"]), ["quick", "slow"])
        self.assertEqual(result["bar"], "MISSED  >= 10 x")
        self.assertIn("1,000 -10..+10%        200  -5..+50%", table.row_lines(result)[0])
        self.assertIn("       200  -5..+50%  quick", table.forms_lines([result])[3])

    def test_less_is_better_of_times(self):
        row = rows.Row("r", "g", "ns", ratio_min=10)
        result = measured(row, [(2,)], {"slow": [50], "quick": [20]})
        self.assertEqual(result["ratios"], {"tf.data": 10})
        self.assertTrue(result["bar_met"])

    def test_a_limit_is_held_besides_a_ceiling_instead(self):
        limit = rows.Row("r", "g", "ns", other="a loop", ratio_min=10, limit_share_min=0.5)
        for of_loop, met in ((2, True), (0.9, False)):
            self.assertEqual(measured(limit, [(2, of_loop)], {"a": [40]})["bar_met"], met)
        ceiling = rows.Row("r", "g", "1/s", other="memcpy", ratio_min=10, ceiling_share_min=0.8,
                           higher_is_better=True)
        for of_memcpy, met in ((100, True), (200, False)):
            self.assertEqual(measured(ceiling, [(90, of_memcpy)], {"a": [40]})["bar_met"], met)

    def test_the_best_peer_may_be_any(self):
        for best_peer, met in ((True, False), (False, True)):
            row = rows.Row("r", "g", "1/s", ("a", "b"), ratio_min=2, best_peer=best_peer,
                           higher_is_better=True)
            peers = {name: {"as written": {"median": rate}} for name, rate in (("a", 40), ("b", 60))}
            self.assertEqual(row.judge({"ours": {"median": 100}, "peers": peers})["bar_met"], met)

    def test_a_form_that_fails_costs_itself_only(self):
        row = rows.Row("r", "g", "ns")
        result = measured(row, [(1,), (1,)], {"hangs": [sides.MeasureError("took over 60 s")],
                                              "works": [5, 7]})
        self.assertEqual(list(result["peers"]["tf.data"]), ["works"])
        self.assertEqual(result["failed_forms"], {"tf.data, hangs": "took over 60 s"})
        with self.assertRaisesRegex(sides.MeasureError, "no form of tf.data"):
            measured(row, [(1,)], {"hangs": [sides.MeasureError("took over 60 s")]})

    def test_a_busy_machine_is_said(self):
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
                for _ in range(os.cpu_count() or 1)]
        try:
            # They are no children that we wait for, so their time counts as that of others.
            watch = machine.Watch([])
            time.sleep(0.5)
            text = watch.report([])
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertRegex(text, r"^other processes took \d+% of the cores \(load ")
        self.assertIn("disturbed machine: other",
                      "\n".join(table.row_lines({"name": "r", "unit": "ns", "peers": {},
                                                 "ours": compare.figures([1]), "ratios": {},
                                                 "bar": "", "disturbed": text})))

    def test_what_we_use_ourselves_is_not_taken_for_others(self):
        used = machine.Watch([])._before["ours"]
        before = time.process_time()
        while time.process_time() < before + 0.3:
            pass
        self.assertAlmostEqual(machine.Watch([])._before["ours"] - used, 0.3, delta=0.05)

    def test_tables_go_between_their_marks(self):
        text = "a\n<!-- measured: main -->\nold\n<!-- measured end -->\nb\n<!-- measured: x -->\nkept\n<!-- measured end -->\n"
        self.assertEqual(update_tables.updated(text, {"main": "new"}),
                         text.replace("old", "```\nnew\n```"))
        self.assertEqual(update_tables.comparison_of("1  a\n\n2  b\n  c\n\n3  d\n\n4  e\n"),
                         "2  b\n  c\n\n3  d")

    def test_every_row_has_its_group_and_readmes_have_marks(self):
        for group, members in rows.ROWS.items():
            self.assertTrue(all(row.group == group for row in members))
        marks = "".join((ROOT / name).read_text() for name in update_tables.READMES)
        for name in ("main", "engine", "records", "convert", "main forms", "engine forms",
                     "records forms", "quickstart"):
            self.assertIn(f"<!-- measured: {name} -->", marks)

    def printed(self, name, ours, theirs, peer, unit="images/s"):
        figures = [{"median": value, "least": value, "most": value, "repeats": 3} for value in (ours, theirs)]
        return "\n".join(table.row_lines({"name": name, "unit": unit, "ours": figures[0], "peers": {peer: {"best": figures[1]}},
                                          "ratios": {peer: ours / theirs}, "bar": "met     >= 5 x", "disturbed": ""}))

    def test_a_table_is_read_again(self):
        long_name = "a row whose name is longer than its column, with batches of 128"
        text = "\n".join([table.header(), self.printed("map | batch", 1234567, 1000, "tf.data"),
                          self.printed(long_name, 7.04, 0.88, "mlx-data", "ms"), "2 rows; 2 of 2 bars met"])
        self.assertEqual(table.rows_of(text), [
            {"name": "map | batch", "unit": "images/s", "ours": 1234567, "theirs": 1000, "ratio": 1235, "against": "tf.data"},
            {"name": long_name, "unit": "ms", "ours": 7.04, "theirs": 0.88, "ratio": 8, "against": "mlx-data"}])

    def test_the_headline_is_a_row_of_the_table(self):
        text = self.printed(update_tables.HEADLINE_ROW, 5e6, 250e3, "tf.data")
        headline = update_tables.headline_of(text)
        for figure in ("**20 times", "5,000,000 a second", "250,000 in the best"):
            self.assertIn(figure, headline)
        with self.assertRaisesRegex(SystemExit, "no row 'tuned.*name another one"):
            update_tables.headline_of(self.printed("another row", 5e6, 250e3, "tf.data"))

    def test_the_chart_shows_the_tables(self):
        tables = {group: "\n".join(self.printed(name, 2e6, 1e6, peer) for of, name, _ in rates.PANELS if of == group
                                   for peer in ("tf.data", "DALI")) for group in rows.ROWS}
        chart = rates.rates(tables, "light")
        self.assertEqual(chart.count(">2 million/s<"), len(rates.PANELS))
        self.assertEqual(chart.count(">2 times as quick<"), 2 * len(rates.PANELS))
        with self.assertRaisesRegex(ValueError, "the table of image has no row 'decode.*name another one"):
            rates.rates(tables | {"image": ""}, "light")
        in_ns = rates.panel_of({"g": self.printed("r", 2, 8, "Grain", "ns/element")}, "g", "r")
        self.assertEqual([rate for _, rate, _ in in_ns], [5e8, 1.25e8])

    def test_headline_and_pictures_are_those_of_the_tables(self):
        done = subprocess.run([sys.executable, ROOT / "benchmarks/update_tables.py", "--check"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), "run benchmarks/update_tables.py")
        for picture in (ROOT / "benchmarks/pictures").glob("*.[sp][vn]g"):
            self.assertLess(picture.stat().st_size, 200_000, picture)


if __name__ == "__main__":
    unittest.main()
