"use strict";
// Names come from files and programs of anybody's, so nothing here makes HTML of text.
const {report, timeline, windows} = JSON.parse(document.getElementById("profile").textContent);

const PARTS = [["infeed_wait", "wait for input"], ["transfer", "transfer"], ["compute", "compute"],
  ["all_reduce", "all-reduce"], ["idle", "idle"]];
const OWN_CAUSES = ["recompilation", "slow_step", "paused_consumer", "unknown"];
const LATE_ROWS = 200;

function node(name, options = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "style") Object.assign(element.style, value);
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}
const count = (value) => Number(value).toLocaleString("en-US");
const waiting = report.input_bound_percent === null ? "–" : `${report.input_bound_percent.toFixed(1)} %`;
const rate = (value) => value === null || value <= 0 ? "–" : count(value < 100 ? Number(value.toPrecision(3)) : Math.round(value));
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
const megabytes = (bytes) => `${count(Number((bytes / 1e6).toPrecision(3)))} MB`;
function duration(ns) {
  if (ns === null) return "–";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= 0.9995 * size) return `${count(Number((ns / size).toPrecision(3)))} ${unit}`;
  }
  return `${ns} ns`;
}
const words = (cause) => cause.replaceAll("_", " ");
const labelOf = (stage) => stage === null ? "" : report.stages.find((one) => one.id === stage)?.label ?? "";
const shortened = (name) => name.length > 26 ? `${name.slice(0, 25)}…` : name;
const stageColor = (stage) => `s${stage % 8}`;
function placeText(late) {
  if (late.place === null) return late.untraceable === null ? "" : `no record can be named: ${late.untraceable}`;
  const {file, record, records, offset_bytes: offset} = late.place;
  return `${file}, ${records > 1 ? `records ${count(record)} to ${count(record + records - 1)}` : `record ${count(record)}`}` +
    (offset === null ? "" : ` at byte ${count(offset)}`);
}
function section(title, note, {half = false} = {}) {
  const element = node("section", {className: half ? "half" : ""}, node("h2", {textContent: title}), node("p", {className: "note", textContent: note}));
  document.querySelector("main").append(element);
  return element;
}

function head() {
  const level = report.input_bound_percent >= 20 ? "highly" : report.input_bound_percent >= 5 ? "moderately" : report.steps.count > 0 ? "not" : "nothing";
  document.getElementById("verdict").classList.add(level);
  const tile = (value, text, kind = "") => node("div", {className: `tile ${kind}`}, node("b", {textContent: value}), node("span", {textContent: text}));
  const steps = report.steps;
  document.getElementById("tiles").append(
    tile(waiting, "of the time waits for input", level === "highly" ? "bad" : level),
    tile(rate(steps.steps_per_s), "steps a second"),
    tile(duration(steps.typical_ns), "a typical step"),
    tile(duration(steps.slowest_ns), "the slowest step"),
    tile(count(report.late_steps_total), report.run.detail_from_ns > 0 ? "late steps, older ones among them" : `late of ${count(steps.count)} steps`, report.late_steps.length > 0 ? "moderately" : ""),
  );
  const bar = document.getElementById("parts"), legend = document.getElementById("parts-legend");
  for (const [part, text] of PARTS) {
    const ns = steps[`${part}_ns`];
    if (ns === 0) continue;
    const share = ns / steps.total_ns;
    bar.append(node("i", {title: `${text}: ${percent(share)}`, style: {background: `var(--${part})`, width: `${100 * share}%`}}));
    legend.append(node("span", {}, node("i", {style: {background: `var(--${part})`}}), `${text} ${percent(share)}`));
  }
}

let pickLate = () => {};

function steps() {
  if (timeline.steps.length === 0) return;
  const many = timeline.steps_per_bar > 1;
  const place = section("Step by step", `${many ? `Each bar is the mean of ${count(timeline.steps_per_bar)} steps` : "Each bar is a step"}` +
    `${report.late_steps.length > 0 ? "; a red mark is a late one: click it to see why" : ""}` +
    `${timeline.cut_above_ns > 0 ? `. Those of more than ${duration(timeline.cut_above_ns)} are cut` : ""}.`);
  const holder = node("div", {className: "chart"});
  const detail = node("div", {className: "detail dim", id: "detail", textContent: "No step was late."});
  place.append(holder, detail);
  const marks = timeline.late.map(([bar, index]) => {
    const late = report.late_steps[index];
    return {x: bar, y: late.length_ns / 1e6, picked: false,
      text: [`step ${count(late.step)}: ${duration(late.length_ns)}, ${duration(late.late_ns)} late: ${words(late.cause)}`, ...(placeText(late) === "" ? [] : [placeText(late)])]};
  });
  const chart = Charts.add(holder, {
    kind: "bars", unit: "ms",
    labels: timeline.steps.map((step) => count(step)),
    title: (i) => `${many ? "from step" : "step"} ${count(timeline.steps[i])}, at ${duration(timeline.begin_ns[i])}`,
    series: PARTS.map(([part, text], i) => ({name: text, color: part, values: timeline.parts_ns[i].map((ns) => ns / 1e6)})),
    marks, limit: null, top: timeline.cut_above_ns > 0 ? timeline.cut_above_ns / 1e6 : null,
    pick: (mark) => pickLate(timeline.late[mark][1]),
  });
  pickLate = (index) => {
    const late = report.late_steps[index];
    timeline.late.forEach(([, of], i) => { marks[i].picked = of === index; });
    chart.update();
    detail.className = "detail";
    const origin = placeText(late);
    detail.replaceChildren(
      node("b", {textContent: `Step ${count(late.step)}: ${words(late.cause)}${late.stage === null ? "" : ` in ${labelOf(late.stage)}`}`}),
      `, ${duration(late.late_ns)} late (${duration(late.length_ns)}). ${late.sentence}`,
      ...(origin === "" ? [] : [node("div", {}, node("code", {textContent: origin}))]));
    for (const row of document.querySelectorAll("tr.pick")) row.classList.toggle("picked", row.dataset.late === String(index));
  };
}

function dataflow() {
  if (report.stages.length === 0) return;
  const place = section("Dataflow", "From the sources to the training step: what each stage hands over and what it could; the bar is the time of its " +
    "threads on a core (blue) and blocked (orange), of those that it may use; a queue's bar is how full it is.");
  const inputsOf = (id) => report.stages.filter((stage) => stage.consumer === id || (stage.consumer === null && stage.inside === id));
  const box = (stage) => {
    const element = node("div", {className: `box${stage.is_bottleneck ? " bottleneck" : ""}`, title: stage.path || stage.label},
      node("b", {textContent: stage.label}),
      node("small", {textContent: `${rate(stage.elements_per_s)} elements/s`}),
      node("small", {className: stage.is_bottleneck ? "tag" : "", textContent: stage.is_bottleneck ? "bottleneck"
        : stage.elements_per_s_max === null ? "" : `could give ${rate(stage.elements_per_s_max)}`}));
    const all = Math.max(report.run.windows_ns, 1) * Math.max(stage.parallelism, 1);
    const part = (ns, color) => node("i", {style: {width: `${Math.min(100, 100 * ns / all)}%`, background: `var(--${color})`}});
    if (stage.queue_fill === null) {
      element.append(node("small", {textContent: stage.parallelism > 1 ? `${stage.parallelism} threads` : "1 thread"}),
        node("div", {className: "gauge"}, part(stage.cpu_ns, "compute"), part(stage.blocked_ns, "transfer")));
    } else {
      element.append(node("small", {textContent: `queue ${percent(stage.queue_fill)} of ${count(stage.queue_elements_max)}`}),
        node("div", {className: "gauge"}, node("i", {style: {width: `${100 * stage.queue_fill}%`, background: "var(--s2)"}})));
    }
    return element;
  };
  const shown = new Set();
  function chain(stage) {
    const row = node("div", {className: "flow"});
    for (let at = stage; at && !shown.has(at.id);) {
      shown.add(at.id);
      row.prepend(box(at));
      const inputs = inputsOf(at.id).filter((input) => !shown.has(input.id));
      if (inputs.length > 0) row.prepend(node("span", {className: "arrow"}));
      if (inputs.length > 1) row.prepend(node("div", {className: "inputs"}, ...inputs.map(chain)));
      at = inputs.length === 1 ? inputs[0] : null;
    }
    return row;
  }
  const step = report.steps;
  for (const end of report.stages.filter((stage) => stage.consumer === null && stage.inside === null)) {
    const row = chain(end);
    row.append(node("span", {className: "arrow"}), node("div", {className: "box step"},
      node("b", {textContent: "training step"}),
      node("small", {textContent: `${rate(step.steps_per_s)} steps/s`}),
      node("small", {textContent: report.headroom.device_steps_per_s_max === null ? "" : `could take ${rate(report.headroom.device_steps_per_s_max)}`}),
      node("small", {textContent: `waits ${waiting} of its time`}),
      node("div", {className: "gauge"}, node("i", {style: {width: `${report.input_bound_percent ?? 0}%`, background: "var(--infeed_wait)"}}))));
    place.append(row);
  }
  place.append(node("details", {}, node("summary", {textContent: "all figures by stage"}), stageTable()));
}

function table(className, heads, rows) {
  const cell = (name, text, kind) => node(name, {className: kind ?? ""}, text);
  return node("div", {className: "scroll"}, node("table", {className},
    node("thead", {}, node("tr", {}, ...heads.map(([text, kind]) => cell("th", text, kind)))),
    node("tbody", {}, ...rows)));
}

function stageTable() {
  const number = (text) => node("td", {className: "number", textContent: text});
  const share = (ns) => ns === 0 ? "–" : percent(ns / Math.max(report.run.windows_ns, 1));
  return table("", [["stage"], ["elements/s", "number"], ["could give", "number"], ["cpu", "number"], ["blocked", "number"],
    ["consumer waited", "number"], ["waited for room", "number"], ["threads", "number"], ["memory, peak", "number"]],
  report.stages.map((stage) => node("tr", {className: stage.is_bottleneck ? "bottleneck" : ""},
    node("td", {textContent: stage.label}), number(rate(stage.elements_per_s)), number(rate(stage.elements_per_s_max)),
    number(share(stage.cpu_ns)), number(share(stage.blocked_ns)), number(share(stage.wait_ns)), number(share(stage.full_ns)),
    number(count(stage.parallelism)), number(megabytes(stage.memory_bytes_peak)))));
}

// Bars are cut at ten times `shortest`, which would be a hair beside them.
function bars(rows, {shortest = 0} = {}) {
  const longest = Math.max(...rows.map((row) => row.value), 1e-9);
  const most = shortest > 0 ? Math.min(longest, 10 * shortest) : longest;
  return node("div", {className: "bars"}, ...rows.map(({text, value, color, number}) => node("div", {},
    node("span", {textContent: text}),
    node("div", {className: "track"}, node("i", {style: {width: `${Math.min(100, 100 * value / most)}%`, background: `var(--${color})`}})),
    node("span", {className: "number", textContent: value > most ? `${number} (cut)` : number}))));
}

function stalls() {
  if (report.stalls.length === 0) return;
  const all = report.stalls.reduce((sum, stall) => sum + stall.late_ns, 0);
  const place = section("What made steps late", `${duration(all)} in ${count(report.late_steps_total)} late steps, by cause and stage.`, {half: true});
  place.append(bars(report.stalls.slice(0, 10).map((stall) => ({
    text: `${words(stall.cause)}${stall.stage === null ? "" : `: ${labelOf(stall.stage)}`}`,
    value: stall.late_ns, color: OWN_CAUSES.includes(stall.cause) ? "transfer" : "infeed_wait",
    number: `${duration(stall.late_ns)}, ${count(stall.steps)} ${stall.steps === 1 ? "step" : "steps"}`,
  }))));
}

function advice() {
  const {pipeline_steps_per_s_max: pipeline, device_steps_per_s_max: device} = report.headroom;
  if (report.what_ifs.length === 0 && pipeline === null && device === null) return;
  const place = section("What would help", "Headroom in steps a second, and changes with the gain that the model predicts.",
    {half: report.stalls.length > 0});
  place.append(bars([["this run", report.steps.steps_per_s, "idle"], ["pipeline, if the device were infinitely fast", pipeline, "s2"],
    ["device, if the pipeline were infinitely fast", device, "compute"]].filter(([, value]) => value > 0)
    .map(([text, value, color]) => ({text, value, color, number: rate(value)})), {shortest: report.steps.steps_per_s}));
  for (const whatIf of report.what_ifs) {
    const gain = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(100 * value).toFixed(0)} %`;
    place.append(node("div", {className: "advice"},
      node("div", {}, node("span", {className: `gain${whatIf.predicted_gain < 0.05 ? " none" : ""}`, textContent: gain(whatIf.predicted_gain)}),
        whatIf.tried_gain === null ? "" : node("div", {className: "dim", textContent: `tried: ${gain(whatIf.tried_gain)}`})),
      node("div", {}, node("div", {textContent: whatIf.change}),
        whatIf.how === "" ? "" : node("code", {textContent: whatIf.how}),
        whatIf.note === null ? "" : node("div", {className: "dim", textContent: whatIf.note}))));
  }
}

function overTime() {
  if (windows.begin_ns.length === 0) return;
  const labels = windows.begin_ns.map((ns) => `${(ns / 1e9).toFixed(report.run.duration_ns < 20e9 ? 1 : 0)} s`);
  const common = {top: null, labels, title: (i) => `at ${duration(windows.begin_ns[i])}`, marks: [], pick: null};
  const series = (values, scale, keep) => windows.stages.map((stage, i) => ({
    name: shortened(labelOf(stage)), color: stageColor(stage), values: values[i].map((value) => value / scale),
  })).filter((one) => one.values.some(keep));
  const memory = section("Memory by stage", "What each stage holds, over time.", {half: true});
  const memoryHolder = node("div", {className: "chart low"});
  memory.append(memoryHolder);
  const held = series(windows.memory_bytes, 1e6, (value) => value > 0);
  const most = Math.max(...labels.map((_, i) => held.reduce((sum, one) => sum + one.values[i], 0)), 0);
  const limit = windows.memory_limit_bytes / 1e6;
  if (limit > 0) memory.querySelector(".note").textContent += ` The limit is ${megabytes(1e6 * limit)}.`;
  Charts.add(memoryHolder, {...common, kind: "areas", unit: "MB", series: held,
    // A limit that is far away would press the curves against the floor.
    limit: limit > 0 && limit < 4 * most ? {name: "limit", y: limit} : null});
  const tuner = section("Tuner", report.tuning.length === 0 ? "Threads by stage, over time; nothing was changed."
    : `Threads by stage, over time; ${count(report.tuning.length)} ${report.tuning.length === 1 ? "line" : "lines"} in its log.`, {half: true});
  const threadsHolder = node("div", {className: "chart low"});
  tuner.append(threadsHolder);
  const threads = series(windows.parallelism, 1, (value) => value > 1);
  Charts.add(threadsHolder, {...common, kind: "steps", unit: "threads", limit: null,
    series: threads.length > 0 ? threads : series(windows.parallelism, 1, () => true).slice(0, 1)});
  tuner.append(node("div", {className: "log"}, ...report.tuning.map((line) =>
    node("div", {}, node("span", {className: "dim", textContent: duration(line.at_ns)}), node("span", {textContent: line.text})))));
}

function lateSteps() {
  if (report.late_steps.length === 0) return;
  const latest = report.late_steps.map((late, index) => ({late, index})).sort((a, b) => b.late.late_ns - a.late.late_ns).slice(0, LATE_ROWS);
  const more = report.late_steps_total - latest.length;
  const place = section("Late steps", `Those that cost most come first${more > 0 ? `; ${count(more)} more are in the JSON` : ""}. Click one to find it in the timeline.`);
  place.append(table("late", [["step", "number"], ["length", "number"], ["late", "number"], ["cause"], ["why"], ["record"]],
    latest.map(({late, index}) => {
      const row = node("tr", {className: "pick"},
        node("td", {className: "number", textContent: count(late.step)}),
        node("td", {className: "number", textContent: duration(late.length_ns)}),
        node("td", {className: "number", textContent: `+${duration(late.late_ns)}`}),
        node("td", {}, node("span", {className: `cause${OWN_CAUSES.includes(late.cause) ? " own" : ""}`, textContent: words(late.cause)})),
        node("td", {className: "words", textContent: late.sentence}),
        node("td", {className: "words"}, node("code", {textContent: placeText(late)})));
      row.dataset.late = String(index);
      row.addEventListener("click", () => {
        pickLate(index);
        document.getElementById("detail")?.scrollIntoView({block: "center"});
      });
      return row;
    })));
  pickLate(latest[0].index);
}

head();
steps();
dataflow();
stalls();
advice();
overTime();
lateSteps();
// For whoever opens the page by a program and waits for it.
document.documentElement.dataset.charts = String(Charts.count());
document.documentElement.dataset.drawnWith = Charts.library;
