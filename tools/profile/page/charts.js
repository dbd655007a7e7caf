"use strict";
// Draws the charts: with Chart.js where the program was built with it, else as SVG of our own. Both
// take the same description:
//   {kind: "bars" | "areas" | "steps", labels: [text], title: (index) => text, unit: text,
//    series: [{name, color, values: [number]}], marks: [{x: index, y: number, text: [text], picked: boolean}],
//    limit: {name, y} | null, top: number | null (what is higher is cut there), pick: (index of the mark) => {}}
const Charts = (() => {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const number = (value) => Number(value.toPrecision(3)).toLocaleString("en-US");
  const cut = (chart, y) => chart.top ? Math.min(chart.top, y) : y;
  const live = [];

  function withLibrary(holder, chart) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    holder.replaceChildren(canvas);
    const stacked = chart.kind !== "steps";
    const datasets = chart.series.map((series) => ({
      type: chart.kind === "bars" ? "bar" : "line",
      label: series.name, data: series.values, backgroundColor: color(series.color),
      borderColor: color(series.color), borderWidth: chart.kind === "bars" ? 0 : stacked ? 1 : 2,
      barPercentage: 1, categoryPercentage: chart.labels.length > 150 ? 1 : 0.9,
      fill: chart.kind === "areas" ? "stack" : false,
      stepped: chart.kind === "steps", pointRadius: chart.labels.length === 1 ? 3 : 0, pointHitRadius: 8,
      stack: "parts", order: 2,
    }));
    if (chart.limit) {
      datasets.push({
        type: "line", label: chart.limit.name, data: chart.labels.map(() => chart.limit.y), stack: "limit",
        borderColor: color("bad"), backgroundColor: color("bad"), borderDash: [6, 4], borderWidth: 1.5,
        pointRadius: 0, fill: false, order: 1,
      });
    }
    if (chart.marks.length > 0) {
      datasets.push({
        type: "scatter", label: "late step", parsing: false, clip: 12, data: chart.marks.map((mark) => ({x: mark.x, y: cut(chart, mark.y)})),
        backgroundColor: color("bad"), borderColor: color("card"), borderWidth: 1,
        pointStyle: "triangle", rotation: 180, hoverRadius: 9, hitRadius: 6, order: 0, stack: "marks",
        radius: (context) => chart.marks[context.dataIndex]?.picked ? 9 : 6,
      });
    }
    const axis = {grid: {color: color("line"), drawBorder: false}, ticks: {color: color("dim"), maxRotation: 0, autoSkipPadding: 24}};
    const drawn = new Chart(canvas, {
      data: {labels: chart.labels, datasets},
      options: {
        animation: false, responsive: true, maintainAspectRatio: false,
        interaction: {mode: chart.marks.length > 0 ? "nearest" : "index", axis: "x", intersect: false},
        layout: {padding: {top: 8}},
        scales: {
          x: {...axis, type: "category", stacked, grid: {display: false}, offset: chart.kind === "bars"},
          y: {...axis, ticks: {...axis.ticks, precision: stacked ? undefined : 0}, stacked, beginAtZero: true,
            max: chart.top ?? undefined,
            title: {display: true, text: chart.unit, color: color("dim")}},
        },
        plugins: {
          legend: {position: "bottom", labels: {color: color("text"), boxWidth: 10, boxHeight: 10, usePointStyle: false}},
          tooltip: {
            filter: (item) => item.parsed.y > 0,
            callbacks: {
              title: (items) => items.length ? chart.title(items[0].parsed.x) : "",
              label: (item) => item.dataset.type === "scatter" ? chart.marks[item.dataIndex].text
                : `${item.dataset.label}: ${number(item.parsed.y)} ${chart.unit}`,
            },
          },
        },
        onClick: (event, items, self) => {
          const marks = self.getElementsAtEventForMode(event, "nearest", {axis: "x", intersect: false}, false)
            .filter((item) => self.data.datasets[item.datasetIndex].type === "scatter");
          if (marks.length > 0 && chart.pick) chart.pick(marks[0].index);
        },
      },
    });
    return {update: () => drawn.update("none"), remove: () => drawn.destroy()};
  }

  function svg(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function withoutLibrary(holder, chart) {
    const draw = () => {
      const width = Math.max(holder.clientWidth, 200), height = Math.max(holder.clientHeight, 120);
      const left = 52, bottom = 44, top = 10, n = Math.max(chart.labels.length, 1);
      const stacked = chart.kind !== "steps";
      let most = chart.limit ? chart.limit.y : 0;
      for (let i = 0; i < n; ++i) {
        const values = chart.series.map((series) => series.values[i] || 0);
        most = Math.max(most, stacked ? values.reduce((a, b) => a + b, 0) : Math.max(0, ...values));
      }
      for (const mark of chart.marks) most = Math.max(most, mark.y);
      most = cut(chart, most) * 1.06 || 1;
      const cell = (width - left) / n;
      const x = (i) => left + i * cell;
      const y = (value) => height - bottom - cut(chart, value) / most * (height - bottom - top);
      const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img"});
      const put = (name, attributes, text) => picture.appendChild(svg(name, attributes, text));
      for (let i = 0; i <= 4; ++i) {
        const value = most / 1.06 * i / 4;
        put("line", {x1: left, x2: width, y1: y(value), y2: y(value), stroke: color("line")});
        put("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end", "font-size": 11, fill: color("dim")}, number(value));
      }
      for (let i = 0; i < 5 && n > 1; ++i) {
        const at = Math.round(i * (n - 1) / 4);
        put("text", {x: x(at) + cell / 2, y: height - bottom + 15, "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle",
          "font-size": 11, fill: color("dim")}, chart.labels[at]);
      }
      const below = new Array(n).fill(0);
      for (const series of chart.series) {
        let path = "";
        for (let i = 0; i < n; ++i) {
          const from = stacked ? below[i] : 0, to = from + (series.values[i] || 0);
          if (stacked) {
            path += `M${x(i)} ${y(from)}V${y(to)}h${cell * (n > 150 || chart.kind === "areas" ? 1.02 : 0.9)}V${y(from)}Z`;
            below[i] = to;
          } else {
            path += `${i === 0 ? "M" : "L"}${x(i)} ${y(to)}h${cell}`;
          }
        }
        put("path", stacked ? {d: path, fill: color(series.color)} : {d: path, fill: "none", stroke: color(series.color), "stroke-width": 2});
      }
      if (chart.limit) {
        put("line", {x1: left, x2: width, y1: y(chart.limit.y), y2: y(chart.limit.y), stroke: color("bad"), "stroke-dasharray": "6 4"});
      }
      chart.marks.forEach((mark, i) => {
        const at = x(mark.x) + cell / 2, size = mark.picked ? 8 : 5;
        const triangle = put("path", {d: `M${at} ${y(mark.y)}l${-size} ${-1.6 * size}h${2 * size}Z`, fill: color("bad"), style: "cursor:pointer"});
        triangle.appendChild(svg("title", {}, [chart.title(mark.x), ...mark.text].join("\n")));
        triangle.addEventListener("click", () => chart.pick && chart.pick(i));
      });
      let at = left;
      for (const series of [...chart.series, ...(chart.limit ? [{name: chart.limit.name, color: "bad"}] : [])]) {
        const name = series.name.length > 18 ? series.name.slice(0, 17) + "…" : series.name;
        if (at + 24 + 7 * name.length > width) break;
        put("rect", {x: at, y: height - 14, width: 10, height: 10, fill: color(series.color)});
        put("text", {x: at + 15, y: height - 5, "font-size": 12, fill: color("text")}, name);
        at += 30 + 7 * name.length;
      }
      holder.replaceChildren(picture);
    };
    draw();
    window.addEventListener("resize", draw);
    return {update: draw, remove: () => window.removeEventListener("resize", draw)};
  }

  const draw = (holder, chart) => (typeof Chart === "function" ? withLibrary : withoutLibrary)(holder, chart);

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const entry of live) {
      entry.drawn.remove();
      entry.drawn = draw(entry.holder, entry.chart);
    }
  });

  return {
    library: typeof Chart === "function" ? "Chart.js" : "svg",
    count: () => live.length,
    add(holder, chart) {
      const entry = {holder, chart, drawn: draw(holder, chart)};
      live.push(entry);
      return {update: () => entry.drawn.update()};
    },
  };
})();
