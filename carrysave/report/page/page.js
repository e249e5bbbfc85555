"use strict";

// Rows of a table in the order of the page, and those that all selections of it have in common.
function allRows(table) {
  table.allRows ??= [...table.tBodies[0].rows];
  return table.allRows;
}

function filterRows(table, name, inside) {
  table.selections ??= new Map();
  if (inside === null) table.selections.delete(name);
  else table.selections.set(name, inside);
  allRows(table).forEach((row, index) => {
    row.hidden = ![...table.selections.values()].every((one) => one(index));
  });
  table.dispatchEvent(new Event("filtered"));
}

(() => {
  const number = (cell) => (cell.dataset.v === undefined ? null : Number(cell.dataset.v));
  const compare = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;

  // ---- Tables: a click on a title sorts, the next turns the order around, the third undoes it.

  function sort(table, place, order) {
    const body = table.tBodies[0];
    const sign = order === "descending" ? -1 : 1;
    const keys = new Map([...body.rows].map((row) => {
      const cell = row.cells[place];
      return [row, { value: number(cell), text: cell.textContent, index: Number(row.dataset.index) }];
    }));
    const missing = (key) => key.value === null && ["", "-"].includes(key.text);
    body.append(...[...body.rows].sort((left, right) => {
      const [a, b] = [keys.get(left), keys.get(right)];
      if (order === "none") return a.index - b.index;
      if (missing(a) || missing(b)) return missing(a) - missing(b) || a.index - b.index;
      const figures = a.value !== null && b.value !== null;
      return sign * (figures ? a.value - b.value : compare(a.text, b.text)) || a.index - b.index;
    }));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tBodies[0].rows].forEach((row, index) => { row.dataset.index = index; });
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" };
        const order = next[head.getAttribute("aria-sort")];
        heads.forEach((other) => other.setAttribute("aria-sort", other === head ? order : "none"));
        sort(table, place, order);
      });
    });
  }

  // ---- Charts: of a table's rows, with Vega-Lite.

  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
  const COLOURS = [...Array(10).keys()].map((place) => `var(--c${place})`);
  const SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down"];
  const soft = "var(--soft)";
  const CONFIG = {
    background: null, font: FONT, view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: "var(--ink)", tickColor: "var(--line)", gridColor: "var(--line)",
      domainColor: "var(--line)", gridOpacity: 0.6, labelFontSize: 12, titleFontSize: 13,
      titleFontWeight: 600, labelOverlap: true, tickCount: 6, titlePadding: 8,
    },
    legend: { labelColor: "var(--ink)", titleColor: soft, labelFontSize: 12, labelLimit: 260, symbolOpacity: 1 },
  };

  // All of the points, with some room, and no more for what is drawn beside them.
  function scale(values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    if (low > 0 && high / low > 30) {
      const room = (high / low) ** 0.06;
      return { type: "log", domain: [low / room, high * room], nice: false };
    }
    const room = 0.08 * (high - low) || 0.1 * Math.abs(high) || 1;
    return { type: "linear", domain: [low - room, high + room], zero: false, nice: false };
  }

  function specification(facts, points, x, y, width) {
    const at = [x, y].map((place) => `c${place}`);
    const shown = points.filter((point) => at.every((name) => point[name] !== null));
    const channel = (place) => ({
      field: `c${place}`, type: "quantitative", title: facts.titles[place],
      axis: facts.shares.includes(place) ? { format: ".0%" } : {},
      scale: scale(shown.flatMap((point) => [place, ...(facts.intervals[place] ?? [])].map((one) => point[`c${one}`]).filter((one) => one !== null))),
    });
    const axes = { x: channel(x), y: channel(y) };
    const estimated = shown.filter((point) => facts.estimated.includes(point.index));
    const guess = `indexof(${JSON.stringify(facts.estimated)}, datum.index) >= 0`;
    const groups = [...new Set(shown.map((point) => point[`t${facts.group}`]))];
    const texts = facts.titles.map((title, place) => ({ field: `t${place}`, type: "nominal", title: title || " " }))
      .filter((_, place) => shown.some((point) => !["", "-"].includes(point[`t${place}`])));
    const selected = [{ param: "brush" }, { param: "kind" }];
    const points_ = {
      data: { values: shown },
      params: [
        { name: "brush", select: { type: "interval", mark: { fill: "var(--strong)", fillOpacity: 0.12, stroke: "var(--strong)" } } },
        { name: "over", select: { type: "point", on: "pointerover", clear: "pointerout" } },
        ...(facts.group === null ? [] : [{ name: "kind", select: { type: "point", fields: [`t${facts.group}`] }, bind: "legend" }]),
      ],
      mark: { type: "point", filled: true, cursor: "pointer", stroke: "var(--paper)", strokeWidth: 0.7 },
      encoding: {
        ...axes,
        size: {
          condition: [{ param: "over", empty: false, value: 220 }, { test: "datum.index === focus", value: 220 }],
          value: width < 500 || shown.length > 200 ? 45 : 75,
        },
        opacity: { condition: { test: { and: ["indexof(away, datum.index) < 0", ...(facts.group === null ? selected.slice(0, 1) : selected)] }, value: 0.95 }, value: 0.15 },
        tooltip: texts,
        ...(facts.group === null ? { color: { value: COLOURS[0] } } : {
          color: {
            field: `t${facts.group}`, type: "nominal", sort: null, scale: { range: COLOURS },
            legend: { title: facts.titles[facts.group], orient: "bottom", columns: Math.max(1, Math.floor(width / 280)), symbolLimit: 40 },
          },
          shape: { field: `t${facts.group}`, type: "nominal", sort: null, scale: { range: SHAPES } },
        }),
      },
    };
    // Of what is estimated the points are hollow, over lines from end to end of their intervals.
    // Not by a field: that would be a legend of its own.
    const stroke = { value: { expr: `${JSON.stringify(COLOURS)}[max(indexof(${JSON.stringify(groups)}, datum.t${facts.group}), 0) % ${COLOURS.length}]` } };
    const hollow = estimated.length === 0 ? {} : {
      fillOpacity: { condition: { test: guess, value: 0 }, value: 1 },
      stroke: { condition: { test: guess, ...stroke }, value: "var(--paper)" },
      strokeWidth: { condition: { test: guess, value: 1.6 }, value: 0.7 },
    };
    Object.assign(points_.encoding, hollow);
    const ranges = estimated.length === 0 ? [] : [["x", x], ["y", y]].filter(([, place]) => facts.intervals[place]).map(([axis, place]) => ({
      data: { values: estimated },
      mark: { type: "rule", strokeWidth: 1.2 },
      encoding: {
        ...axes,
        [axis]: { ...axes[axis], field: `c${facts.intervals[place][0]}` },
        [`${axis}2`]: { field: `c${facts.intervals[place][1]}` },
        opacity: { condition: { test: points_.encoding.opacity.condition.test, value: 0.5 }, value: 0.06 },
        stroke,
      },
    }));
    const line = (name, values, mark) => ({
      data: { values: values.map(([across, up], place) => ({ across, up, place, name })) },
      mark: { type: "line", clip: true, ...mark },
      encoding: {
        x: { field: "across", type: "quantitative" }, y: { field: "up", type: "quantitative" },
        order: { field: "place" }, tooltip: { field: "name", type: "nominal", title: " " },
      },
    });
    const below = [];
    const row = (index) => at.map((name) => points[index][name]);
    const front = facts.fronts[`${Math.min(x, y)},${Math.max(x, y)}`] ?? [];
    if (front.length > 1) below.push(line("front: no point is better in both", front.map(row), { stroke: "var(--good)", strokeWidth: 2 }));
    if (x === facts.x && y === facts.y) {
      for (const guide of facts.guides) below.push(line(guide.name, guide.points, { stroke: soft, strokeDash: [5, 4], strokeWidth: 1.2 }));
    }
    const rings = shown.filter((point) => facts.marked.includes(point.index));
    const above = rings.length === 0 ? [] : [
      { data: { values: rings }, mark: { type: "point", size: 330, stroke: "var(--ink)", strokeWidth: 1.6, filled: false }, encoding: { ...axes, tooltip: texts } },
    ];
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      description: `${facts.titles[y]} over ${facts.titles[x]}`,
      width: "container", height: Math.min(420, Math.max(340, width / 2.4)), autosize: { type: "fit", contains: "padding" }, config: CONFIG,
      params: [{ name: "focus", value: -1 }, { name: "away", value: [] }], layer: [...below, ...ranges, points_, ...above],
    };
  }

  async function chart(figure) {
    const facts = JSON.parse(figure.querySelector("script").textContent);
    const table = document.getElementById(figure.dataset.table);
    const rows = allRows(table);
    const plot = figure.querySelector(".plot");
    const [status, all] = [figure.querySelector("output"), figure.querySelector("button")];
    const selects = [...figure.querySelectorAll("select")];
    const points = rows.map((row, index) => {
      const point = { index };
      [...row.cells].forEach((cell, place) => {
        point[`c${place}`] = number(cell);
        point[`t${place}`] = cell.textContent;
      });
      return point;
    });

    for (const select of selects) {
      for (const place of facts.axes) select.add(new Option(facts.titles[place], place));
      select.value = facts[select.name];
      select.addEventListener("change", draw);
    }
    all.addEventListener("click", draw);
    figure.querySelector(".axes").hidden = false;

    function select(bounds) {
      const inside = (point) => Object.entries(bounds).every(([name, [low, high]]) =>
        point[name] !== null && point[name] >= Math.min(low, high) && point[name] <= Math.max(low, high));
      const some = Object.keys(bounds).length > 0;
      filterRows(table, "chart", some ? (index) => inside(points[index]) : null);
      all.hidden = !some;
    }

    table.addEventListener("filtered", () => {
      const count = rows.filter((row) => !row.hidden).length;
      status.textContent = count < rows.length ? `${count} of ${rows.length} rows selected` : "";
      const lines = table.selections.get("lines");
      view?.signal("away", lines ? points.filter((point) => !lines(point.index)).map((point) => point.index) : []).runAsync();
    });

    let view = null;
    async function draw() {
      const [x, y] = selects.map((select) => Number(select.value));
      select({});
      view?.finalize();
      const result = await vegaEmbed(plot, specification(facts, points, x, y, plot.clientWidth), {
        actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom", disableDefaultStyle: false },
      });
      view = result.view;
      table.dispatchEvent(new Event("filtered"));
      view.addSignalListener("brush", (_, bounds) => select(bounds));
      const light = (item, on) => {
        const index = item?.datum?.index;
        if (index !== undefined) rows[index].classList.toggle("hot", on);
      };
      view.addEventListener("pointerover", (_, item) => light(item, true));
      view.addEventListener("pointerout", (_, item) => light(item, false));
      view.addEventListener("click", (_, item) => {
        const index = item?.datum?.index;
        if (index !== undefined) rows[index].scrollIntoView({ block: "center", behavior: "smooth" });
      });
      figure.dataset.drawn = `${x},${y}`;
    }
    rows.forEach((row, index) => {
      row.addEventListener("pointerenter", () => view?.signal("focus", index).runAsync());
      row.addEventListener("pointerleave", () => view?.signal("focus", -1).runAsync());
    });
    await draw();
  }

  for (const figure of document.querySelectorAll("figure.chart")) chart(figure);
})();
