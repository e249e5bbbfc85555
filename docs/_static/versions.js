// The versions of this site beside its name, and a line where the reader's is not the newest.
(() => {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", document.baseURI);
  const here = decodeURIComponent(root.pathname.split("/").at(-2));
  const page = decodeURIComponent(new URL(document.baseURI).pathname.slice(root.pathname.length)) || "index.html";

  // The same page of another version, or its first one.
  const address = (name, pages) => new URL(`../${encodeURIComponent(name)}/${pages.includes(page) ? page : "index.html"}`, root).href;

  const show = () => {
    const versions = window.CARRYSAVE_VERSIONS;
    if (!versions || !versions.some(([name]) => name === here)) return;
    const place = document.querySelector(".sidebar-brand") || document.body.firstElementChild;
    const label = document.createElement("label");
    label.className = "versions";
    label.append("version ");
    const choice = document.createElement("select");
    for (const [name, pages] of versions) {
      const option = new Option(name, address(name, pages), name === here, name === here);
      choice.add(option);
    }
    choice.addEventListener("change", () => { location.href = choice.value; });
    label.append(choice);
    place.after(label);
    const [newest, pages] = versions[0];
    if (newest === here) return;
    const line = document.createElement("p");
    line.className = "another-version";
    line.setAttribute("role", "note");
    const link = document.createElement("a");
    link.href = address(newest, pages);
    link.textContent = newest;
    line.append(`This page is of version ${here}. The newest is `, link, ".");
    (document.querySelector("article") || document.body).prepend(line);
  };

  const list = document.createElement("script");
  list.src = new URL("../versions.js", root).href;
  list.addEventListener("load", show);
  document.head.append(list);  // a site alone has none: nothing is shown
})();
