/* The matrix of scopes: a cell opens an editor, changes gather in the panel, nothing is saved by that. */
"use strict";
(() => {
  const form = document.getElementById("changes");
  const editor = document.getElementById("editor");
  if (!form || !editor || !editor.showPopover) return; // the cells are links to a form that does the same
  const SHORT = { read: "rd", claim: "cl", publish: "pu", memory: "me", callback: "cb" };
  const VERBS = Object.keys(SHORT);
  const boxes = [...editor.querySelectorAll("input")];
  const set = document.getElementById("set");
  const changes = new Map(); // "agt_….agent:p:verb" → {sign, cell, verb}
  let open = null;

  const has = (cell, verb, how) => cell.dataset[how].split(" ").includes(verb);
  const key = (cell, verb) => `${cell.dataset.agent}.agent:${cell.dataset.project}:${verb}`;
  const after = (cell, verb) => has(cell, verb, "granted") !== changes.has(key(cell, verb));

  const draw = (cell) => {
    const words = [];
    [...cell.lastElementChild.children].forEach((sign, index) => {
      const verb = VERBS[index];
      const change = changes.get(key(cell, verb));
      const kind = change ? (change.sign === "+" ? "add" : "gone")
        : has(cell, verb, "granted") ? "on" : has(cell, verb, "through") ? "through" : "";
      sign.textContent = kind ? SHORT[verb] : "";
      if (kind) sign.className = kind; else sign.removeAttribute("class");
      if (kind) words.push({ add: `${verb} will be added`, gone: `${verb} will be removed`, through: `${verb} through *` }[kind] || verb);
    });
    const where = cell.dataset.project === "*" ? "all projects" : cell.dataset.project;
    cell.firstElementChild.textContent = `${cell.dataset.name} in ${where}: ${words.join(", ") || "none"}`;
  };

  const tell = () => {
    const number = changes.size;
    const kept = document.getElementById("kept");
    kept.replaceChildren(...[...changes].map(([name, { sign }]) => {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "change", value: sign + name });
      return field;
    }));
    for (const one of form.querySelectorAll("#drop, #say, footer")) one.hidden = !number;
    document.getElementById("none").hidden = number > 0;
    const words = `${number} change${number === 1 ? "" : "s"}`;
    document.getElementById("count").textContent = number ? `${words}, not applied yet` : "No changes yet";
    document.getElementById("apply").textContent = `Apply ${words}`;
    if (number) htmx.trigger(form, "gathered"); else document.getElementById("effects").replaceChildren();
  };

  const put = (cell, verb, wanted) => {
    if (after(cell, verb) === wanted) return;
    const name = key(cell, verb);
    if (changes.has(name)) changes.delete(name);
    else changes.set(name, { sign: wanted ? "+" : "-", cell, verb });
  };

  const fill = () => {
    for (const box of boxes) {
      const change = changes.get(key(open, box.value));
      box.checked = after(open, box.value);
      const told = box.parentElement.querySelector("b");
      told.className = change ? (change.sign === "+" ? "completed" : "quarantined") : "";
      told.textContent = change ? (change.sign === "+" ? "added" : "removed")
        : has(open, box.value, "through") ? "through *" : "";
    }
    const verbs = VERBS.filter((verb) => after(open, verb)).join(" ");
    set.value = [...set.options].some((one) => one.value === verbs) ? verbs : "-";
  };
  const changed = () => { draw(open); fill(); tell(); };

  form.hidden = false;
  form.parentElement.classList.add("on");
  document.querySelector(".matrix").addEventListener("click", (event) => {
    const cell = event.target.closest("a.cell");
    if (!cell || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open = cell;
    document.getElementById("whose").textContent = `${cell.dataset.name} in ${cell.dataset.project === "*" ? "all projects" : cell.dataset.project}`;
    fill();
    editor.showPopover();
    const at = cell.getBoundingClientRect();
    const below = at.bottom + editor.offsetHeight + 8 < innerHeight;
    editor.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - editor.offsetHeight - 4)}px`;
    editor.style.left = `${Math.max(8, Math.min(at.left, innerWidth - editor.offsetWidth - 8))}px`;
    boxes[0].focus();
  });
  editor.addEventListener("change", (event) => {
    if (event.target === set) {
      if (set.value === "-") return;
      for (const verb of VERBS) put(open, verb, set.value.split(" ").includes(verb));
    } else put(open, event.target.value, event.target.checked);
    changed();
  });
  editor.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = event.target !== set && boxes.find((one) => one.dataset.key === event.key);
    if (box) { event.preventDefault(); box.click(); box.focus(); }
    if (event.key === "Enter" && event.target !== set) { event.preventDefault(); editor.hidePopover(); }
    if (event.key !== "Escape") event.stopPropagation();
  });
  editor.addEventListener("toggle", (event) => {
    if (event.newState === "closed") open?.focus({ preventScroll: true });
  });

  const forget = (names) => {
    for (const name of names) {
      const { cell } = changes.get(name);
      changes.delete(name);
      draw(cell);
    }
    tell();
  };
  form.addEventListener("click", (event) => {
    const undo = event.target.closest("[data-undo]");
    if (undo) {
      forget([undo.dataset.undo.slice(1)].filter((name) => changes.has(name)));
      document.getElementById("count").focus();
    }
  });
  document.getElementById("drop").addEventListener("click", () => forget([...changes.keys()]));
  let sending = false;
  form.addEventListener("submit", () => { sending = true; });
  addEventListener("beforeunload", (event) => { if (changes.size && !sending) event.preventDefault(); });
})();
