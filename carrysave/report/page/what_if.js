"use strict";
(() => {
  // ---- What a model says of a design: carrysave.exploration.estimate, in the same words and numbers.

  const ROOT = Math.sqrt(5);
  const JITTER = 1e-10;
  const number = (value) => typeof value !== "string";
  const plain = (value) => String(value);

  // Of a design as the process takes it: numbers as logarithms, each text as an axis of its own.
  const logarithm = (value) => Math.log1p(Number(value)) / Math.LN2;
  function features(traits) {
    return new Map(Object.entries(traits).filter(([, value]) => value !== null).map(([name, value]) =>
      (number(value) ? [name, logarithm(value)] : [`${name}=${value}`, 1])));
  }

  function scaled(rows) {
    const axes = [...new Set(rows.flatMap((row) => [...row.keys()]))].sort((a, b) => (a < b ? -1 : 1));
    const scales = axes.map((axis) => {
      const values = rows.map((row) => row.get(axis) ?? 0);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
      return { mean, deviation: values.every((value) => value === values[0]) ? 1 : Math.sqrt(square) };
    });
    return (row) => Float64Array.from(axes, (axis, place) =>
      ((row.get(axis) ?? 0) - scales[place].mean) / scales[place].deviation);
  }

  // A lower triangle in place of a matrix that is positive.
  function cholesky(matrix, size) {
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column <= row; column += 1) {
        let sum = matrix[row * size + column];
        for (let k = 0; k < column; k += 1) sum -= matrix[row * size + k] * matrix[column * size + k];
        matrix[row * size + column] = row === column ? Math.sqrt(sum) : sum / matrix[column * size + column];
      }
    }
    return matrix;
  }

  function forward(root, size, values) {
    const solved = Float64Array.from(values);
    for (let row = 0; row < size; row += 1) {
      for (let k = 0; k < row; k += 1) solved[row] -= root[row * size + k] * solved[k];
      solved[row] /= root[row * size + row];
    }
    return solved;
  }

  function process(places, figure) {
    const size = places.length;
    const axes = places[0].length;
    const raised = figure.theta.map(Math.exp);
    const [variance, lengths, noise] = [raised[0], raised.slice(1, axes + 1), raised[axes + 1]];
    const [slope, offset] = [raised[axes + 2], raised[axes + 3] ** 2];
    const kernel = (a, b) => {
      let [square, dot] = [0, 0];
      for (let axis = 0; axis < axes; axis += 1) {
        square += ((a[axis] - b[axis]) / lengths[axis]) ** 2;
        dot += a[axis] * b[axis];
      }
      const apart = ROOT * Math.sqrt(square);
      return variance * (1 + apart + apart * apart / 3) * Math.exp(-apart) + slope * (offset + dot);
    };
    const matrix = new Float64Array(size * size);
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column <= row; column += 1) {
        matrix[row * size + column] = kernel(places[row], places[column]) + (row === column ? noise + JITTER : 0);
      }
    }
    const root = cholesky(matrix, size);
    const values = figure.values.map(Math.log1p);
    const mean = values.reduce((sum, value) => sum + value, 0) / size;
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / size) || 1;
    const weights = forward(root, size, values.map((value) => (value - mean) / spread));
    return (place) => {
      const solved = forward(root, size, places.map((other) => kernel(place, other)));
      let [middle, left] = [0, kernel(place, place) + noise];
      for (let row = 0; row < size; row += 1) {
        middle += solved[row] * weights[row];
        left -= solved[row] ** 2;
      }
      return [mean + spread * middle, spread * Math.sqrt(Math.max(left, 0))];
    };
  }

  function model(facts) {
    const table = facts.rows.map((row) => Object.fromEntries(facts.names.map((name, place) => [name, row[place]])));
    const rows = table.map(features);
    const scale = scaled(rows);
    const places = rows.map(scale);
    const processes = new Map();
    const shape = (traits) => JSON.stringify(["design", "m", "n", "k"].map((name) => traits[name] ?? null));
    const shapes = new Set(table.map(shape));
    const traits = (design, parameters) => ({
      design, ...parameters, lanes: ["m", "n", "k"].reduce((lanes, name) => lanes * (parameters[name] ?? 1), 1),
    });

    // What no design like it was measured with, in the order in which it is looked at.
    function unknown(design, parameters) {
      const known = table.filter((row) => row.design === design);
      const every = traits(design, parameters);
      return [...Object.keys(every).filter((name) => name !== "lanes").sort(), "lanes"].flatMap((name) => {
        const value = every[name];
        const values = [...new Set(known.map((row) => row[name]).filter((one) => one !== null))];
        const seen = number(value) ? values.sort((a, b) => a - b) : values.sort();
        const few = typeof value !== "number" || seen.length < 2;
        const inside = few ? seen.includes(value) : seen[0] <= value && value <= seen.at(-1);
        const legal = few ? seen.map(plain).join(" or ") || "the default" : `${seen[0]}..${seen.at(-1)}`;
        const what = name === "lanes" ? "lanes (m x n x k)" : name;
        return inside ? [] : [`${what} of ${design} must be ${legal}, as it was measured for ${facts.target}, not ${plain(value)}`];
      });
    }

    function estimate(design, parameters) {
      const every = traits(design, parameters);
      const known = shapes.has(shape(every));
      const place = scale(features(every));
      return Object.fromEntries(Object.entries(facts.figures).map(([name, figure]) => {
        if (!processes.has(name)) processes.set(name, process(places, figure));
        const [mean, deviation] = processes.get(name)(place);
        const reach = deviation * (known ? figure.factor : figure.factor_of_shapes || figure.factor);
        const [estimate, low, high] = [mean, mean - reach, mean + reach].map((one) => Math.max(Math.expm1(one), 0));
        return [name, { estimate, low, high }];
      }));
    }
    return { unknown, estimate, known: (design, parameters) => shapes.has(shape(traits(design, parameters))) };
  }

  // ---- The controls.

  const text = (value) => (value < 1e5 ? Number(value.toPrecision(5)) : Math.round(value)).toLocaleString("en-US", { maximumFractionDigits: 12 });

  function start(form) {
    const facts = JSON.parse(form.querySelector("script").textContent);
    const made = model(facts);
    const design = form.elements.namedItem("design");
    const said = form.querySelector("[role=status]");
    const line = form.querySelector("code");
    const cells = [...form.querySelectorAll("tbody tr")];
    const fields = () => [...form.querySelectorAll(`fieldset[data-design="${design.value}"] [data-name]`)];

    function value(field) {
      if (field.tagName === "SELECT") return JSON.parse(field.value);
      return field.value.trim() === "" ? NaN : Number(field.value);
    }

    function show() {
      for (const one of form.querySelectorAll("fieldset[data-design]")) one.hidden = one.dataset.design !== design.value;
      const parameters = Object.fromEntries(fields().map((field) => [field.dataset.name, value(field)]));
      const illegal = fields().filter((field) => field.type === "number" && !(Number.isInteger(value(field))
        && value(field) >= Number(field.min) && value(field) <= Number(field.max)));
      for (const field of fields()) field.setAttribute("aria-invalid", illegal.includes(field));
      const wrong = illegal.map((field) => `${field.dataset.name} must be ${field.dataset.legal}, not ${field.value || "empty"}`);
      const beyond = wrong.length ? [] : made.unknown(design.value, parameters);
      const inside = wrong.length + beyond.length === 0;
      const figures = inside ? made.estimate(design.value, parameters) : {};
      for (const row of cells) {
        ["estimate", "low", "high"].forEach((part, place) => {
          const cell = row.cells[place + 1];
          cell.textContent = inside ? text(figures[row.dataset.figure][part]) : "-";
          if (inside) cell.dataset.v = figures[row.dataset.figure][part];
          else delete cell.dataset.v;
        });
      }
      form.dataset.state = wrong.length ? "illegal" : beyond.length ? "outside" : "inside";
      const shape = inside && !made.known(design.value, parameters)
        ? "No design of this shape (m, n, k) was measured: intervals are wider, as of such shapes." : "";
      said.textContent = wrong.length ? `${wrong.join("; ")}.` : beyond.length ? `Outside what the model knows: ${beyond.join("; ")}.` : shape;
      const words = fields().map((field) => `-p ${field.dataset.name}=${plain(value(field))}`);
      line.textContent = wrong.length ? "" : ["carrysave estimate", design.value, ...words, "--target", facts.target].join(" ");
    }

    form.addEventListener("input", (event) => {
      const twin = event.target.dataset.twin && document.getElementById(event.target.dataset.twin);
      if (twin) twin.value = event.target.value;
      show();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.model = made;
    form.hidden = false;
    show();
  }

  for (const form of document.querySelectorAll("form.what-if")) start(form);
})();
