"use strict";
(() => {
  // ---- Lines of a table's rows across parallel axes; ranges of these select rows.

  const [TOP, HIGH, SIDE, END] = [76, 210, 46, 70];
  const compare = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;

  function make(name, attributes, ...inside) {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    one.append(...inside);
    return one;
  }

  // An axis has the values of its rows in order; a range is of two of their places.
  function axisOf(facts, place, rows, apart) {
    const cells = rows.map((row) => {
      const cell = row.cells[facts.lines[place]];
      return { text: cell.textContent, value: cell.dataset.v === undefined ? null : Number(cell.dataset.v) };
    }).map((cell) => (cell.value === null && ["", "-"].includes(cell.text) ? null : cell));
    const figures = cells.every((cell) => cell === null || cell.value !== null);
    const values = new Map(cells.filter((cell) => cell !== null).map((cell) => [figures ? cell.value : cell.text, cell]));
    const keys = [...values.keys()].sort(figures ? (a, b) => a - b : compare);
    const [low, high] = [keys[0], keys.at(-1)];
    const ratio = figures && low > 0 && high / low > 30;
    const share = (key, index) => {
      if (keys.length < 2) return 0.5;
      if (!figures) return index / (keys.length - 1);
      return ratio ? Math.log(key / low) / Math.log(high / low) : (key - low) / (high - low);
    };
    const ups = keys.map((key, index) => TOP + HIGH * (1 - share(key, index)));
    const numbers = new Map(keys.map((key, index) => [key, index]));
    return {
      title: facts.titles[facts.lines[place]], x: SIDE + apart * place, ups,
      texts: keys.map((key) => values.get(key).text), range: [0, keys.length - 1], last: keys.length - 1,
      of: cells.map((cell) => (cell === null ? null : numbers.get(figures ? cell.value : cell.text))),
    };
  }

  function start(figure) {
    const facts = JSON.parse(document.querySelector(`figure.chart[data-table="${figure.dataset.table}"] script`).textContent);
    const table = document.getElementById(figure.dataset.table);
    const rows = allRows(table);
    const inside = figure.clientWidth - SIDE - END - 4;
    const apart = Math.min(Math.max(inside / Math.max(facts.lines.length - 1, 1), 92), 180);
    const axes = facts.lines.map((_, place) => axisOf(facts, place, rows, apart));
    const [status, all] = [figure.querySelector("output"), figure.querySelector("button")];
    const width = Math.floor(SIDE + END + apart * (axes.length - 1));
    const picture = make("svg", { viewBox: `0 0 ${width} ${TOP + HIGH + 40}`, width, height: TOP + HIGH + 40, role: "group", "aria-label": "parallel axes" });
    const groups = facts.group === null ? [] : [...new Set(rows.map((row) => row.cells[facts.group].textContent))];
    const lines = rows.map((row, index) => {
      const points = axes.filter((axis) => axis.of[index] !== null).map((axis) => `${axis.x} ${axis.ups[axis.of[index]].toFixed(1)}`);
      const colour = facts.group === null ? 0 : groups.indexOf(row.cells[facts.group].textContent) % 10;
      const kind = [facts.estimated.includes(index) ? "estimated" : "", facts.marked.includes(index) ? "marked" : ""].join(" ").trim();
      return make("path", { d: `M${points.join("L")}`, stroke: `var(--c${colour})`, class: kind }, make("title", {}, row.cells[0].textContent));
    });
    picture.append(make("g", { class: "rows" }, ...lines));

    function select() {
      const some = axes.filter((axis) => axis.range[0] > 0 || axis.range[1] < axis.last);
      filterRows(table, "lines", some.length === 0 ? null : (index) => some.every((axis) =>
        axis.of[index] !== null && axis.range[0] <= axis.of[index] && axis.of[index] <= axis.range[1]));
      all.hidden = some.length === 0;
      for (const axis of axes) axis.show();
    }

    table.addEventListener("filtered", () => {
      const count = rows.filter((row) => !row.hidden).length;
      status.textContent = count < rows.length ? `${count} of ${rows.length} rows selected` : "";
      lines.forEach((line, index) => line.classList.toggle("off", rows[index].hidden));
    });
    rows.forEach((row, index) => {
      row.addEventListener("pointerenter", () => lines[index].classList.add("hot"));
      row.addEventListener("pointerleave", () => lines[index].classList.remove("hot"));
    });

    for (const axis of axes) picture.append(axisPicture(axis, picture, select));
    all.addEventListener("click", () => {
      for (const axis of axes) axis.range = [0, axis.last];
      select();
    });
    figure.querySelector(".plot-lines").append(picture);
    figure.querySelector(".axes").hidden = false;
    select();
    figure.dataset.drawn = String(axes.length);
  }

  // An axis, its two handles for the keyboard, and a strip that is dragged along.
  function axisPicture(axis, picture, select) {
    const group = make("g", { class: "axis", transform: `translate(${axis.x} 0)` });
    group.append(
      make("line", { y1: TOP, y2: TOP + HIGH }),
      make("text", { class: "title", transform: `translate(-8 ${TOP - 32}) rotate(-22)` }, axis.title),
      make("text", { y: TOP + HIGH + 26 }, axis.texts[0]),
      make("text", { y: TOP - 17, class: "high" }, axis.last > 0 ? axis.texts[axis.last] : ""),
    );
    const band = make("rect", { class: "band", x: -7, width: 14 });
    const strip = make("rect", { class: "strip", x: -14, width: 28, y: TOP - 4, height: HIGH + 8 });
    const handles = ["from", "to"].map((name, end) => {
      const handle = make("path", {
        class: "handle", d: end === 0 ? "M-9 0H9L0 9Z" : "M-9 0H9L0 -9Z", tabindex: 0, role: "slider",
        "aria-orientation": "vertical", "aria-label": `${axis.title}, ${name}`, "aria-valuemin": 0, "aria-valuemax": axis.last,
      });
      handle.addEventListener("keydown", (event) => {
        const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -axis.last, End: axis.last };
        if (event.key === "Escape") axis.range = [0, axis.last];
        else if (event.key in steps) {
          const [least, most] = end === 0 ? [0, axis.range[1]] : [axis.range[0], axis.last];
          axis.range[end] = Math.min(Math.max(axis.range[end] + steps[event.key], least), most);
        } else return;
        event.preventDefault();
        select();
      });
      return handle;
    });
    axis.show = () => {
      const [from, to] = axis.range.map((place) => axis.ups[place]);
      band.setAttribute("y", to - 4);
      band.setAttribute("height", from - to + 8);
      band.classList.toggle("some", axis.range[0] > 0 || axis.range[1] < axis.last);
      handles.forEach((handle, end) => {
        handle.setAttribute("transform", `translate(0 ${[from + 4, to - 4][end]})`);
        handle.setAttribute("aria-valuenow", axis.range[end]);
        handle.setAttribute("aria-valuetext", axis.texts[axis.range[end]]);
      });
    };
    dragged(axis, strip, picture, select);
    group.append(band, strip, ...handles);
    return group;
  }

  // Dragging selects the values between two heights, or all if there is none; a click undoes it.
  function dragged(axis, strip, picture, select) {
    let from = null;
    const height = (event) => (event.clientY - picture.getBoundingClientRect().top)
      * picture.viewBox.baseVal.height / picture.getBoundingClientRect().height;
    const choose = (event) => {
      if (from === null) return;
      const [top, bottom] = [from, height(event)].sort((a, b) => a - b);
      const inside = axis.ups.flatMap((up, place) => (top - 1 <= up && up <= bottom + 1 ? [place] : []));
      axis.range = bottom - top > 3 && inside.length > 0 ? [inside[0], inside.at(-1)] : [0, axis.last];
      select();
    };
    strip.addEventListener("pointerdown", (event) => {
      from = height(event);
      strip.setPointerCapture(event.pointerId);
    });
    strip.addEventListener("pointermove", choose);
    strip.addEventListener("pointerup", (event) => {
      choose(event);
      from = null;
    });
    strip.addEventListener("pointercancel", () => { from = null; });
  }

  for (const figure of document.querySelectorAll("figure.parallel")) start(figure);
})();
