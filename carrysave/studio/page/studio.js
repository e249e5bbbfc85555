"use strict";
(() => {
  const form = document.getElementById("parameters");
  if (form === null) return;
  const part = (id) => document.getElementById(id);
  const tasks = [...form.querySelectorAll(".task:not(#stop)")];
  const stop = part("stop");

  // ---- What was entered is looked at as soon as nobody types.

  function values() {
    const given = new URLSearchParams();
    for (const [name, text] of new FormData(form)) if (text.trim() !== "") given.set(name, text.trim());
    return given;
  }

  function address() {
    const query = values().toString();
    return form.action + (query && `?${query}`);
  }

  let asked = null;
  async function look() {
    asked?.abort();
    const mine = asked = new AbortController();
    const target = address();
    try {
      const answer = await fetch(target, { signal: mine.signal });
      if (!answer.ok) throw new Error(await answer.text());
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (asked !== mine) return;
      history.replaceState(null, "", target);
      show(page);
    } catch (error) {
      if (error.name !== "AbortError") part("problem").textContent = `No answer: ${error.message}`;
    }
  }

  function show(page) {
    for (const line of form.querySelectorAll(".field .error")) {
      const text = page.getElementById(line.id)?.textContent ?? "";
      if (line.textContent !== text) line.textContent = text;
      const input = part(line.id.replace(/-error$/, ""));
      input.toggleAttribute("aria-invalid", text !== "");
      if (text !== "") input.setAttribute("aria-invalid", "true");
      const theirs = page.getElementById(input.id);
      if (theirs?.placeholder) input.placeholder = theirs.placeholder;
    }
    part("results").replaceChildren(...page.getElementById("results").childNodes);
    form.dataset.shown = address();
    tell();
  }

  // An engine has parameters of its own: another one is another form.
  form.addEventListener("change", (event) => {
    if (event.target.name === "engine") location.assign(address());
  });
  let timer = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 200);
  });

  // ---- Jobs, one at a time.

  let state = part("job").dataset.state;
  function tell() {
    const refused = part("lines") === null;
    for (const button of tasks) button.setAttribute("aria-disabled", String(refused || state === "running"));
    stop.setAttribute("aria-disabled", String(state !== "running"));
    part("job-bar").hidden = state !== "running";
  }

  async function poll() {
    const status = await (await fetch("/status")).json();
    const what = `${status.kind} of ${status.design}`;
    const before = state;
    state = status.state;
    part("job-bar").value = status.seconds ?? 0;
    part("job-said").textContent = {
      idle: "",
      running: `${what}: ${status.text}, ${Math.round(status.seconds)} s of ${status.limit} at most`,
      done: `${what}: done in ${status.seconds} s`,
      failed: `${what} failed: ${status.text}`,
    }[state];
    tell();
    if (state === "running") setTimeout(follow, 400);
    else if (before === "running") await look();
    part("job").dataset.state = state;
  }

  function follow() {
    poll().catch(() => { part("job-said").textContent = "No answer: the studio has ended."; });
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter;
    if (button === null || button.formMethod !== "post") { await look(); return; }
    if (button.getAttribute("aria-disabled") === "true") return;
    try {
      const answer = await fetch(button.formAction, { method: "POST", body: values(), redirect: "manual" });
      if (answer.type !== "opaqueredirect") {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        part("problem").textContent = page.getElementById("problem")?.textContent ?? "It was refused.";
      } else if (button !== stop) {
        state = "running";
        part("job").dataset.state = state;
      }
    } catch { /* `follow` says so */ }
    follow();
  });

  tell();
  if (state === "running") follow();
})();
