/* Keys (`?` shows them). None changes anything: each leads somewhere, or opens something. */
"use strict";
(() => {
  const KEY = "restante-keys";
  const dialog = document.getElementById("keys");
  if (!dialog) return;
  const off = dialog.querySelector("input[type=checkbox]");
  const single = () => localStorage.getItem(KEY) !== "off";
  off.checked = single();
  off.addEventListener("change", () => localStorage.setItem(KEY, off.checked ? "on" : "off"));
  for (const button of document.querySelectorAll("[data-opens=keys]")) {
    button.hidden = false;
    button.addEventListener("click", () => dialog.showModal());
  }
  const press = (selector) => document.querySelector(selector)?.click();
  const firstPage = () => [...document.querySelectorAll("main .pager a, main footer a")]
    .find((link) => ["First", "Newest"].includes(link.textContent))?.click(); // no list goes back by one
  const rows = () => [...document.querySelectorAll("main tbody tr, main [data-row]")].filter((row) => row.querySelector("a[href]"));
  const row = () => document.activeElement.closest("tr, [data-row]");
  const move = (by) => {
    const all = rows();
    const next = all[Math.min(Math.max(all.indexOf(row()) + by, 0), all.length - 1)];
    next?.querySelector("a[href]").focus();
  };
  const KEYS = {
    "?": () => dialog.showModal(),
    "/": () => document.getElementById("find")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => row()?.querySelector("input[type=checkbox]")?.click(),
    ".": () => row()?.querySelector("summary, button, .button")?.focus(),
    n: () => press(".newer"),
    f: () => document.querySelector("main .filters input, main .filters select, main .filters a")?.focus(),
    "[": () => firstPage(),
    "]": () => press("a[rel=next]"),
    t: () => document.dispatchEvent(new Event("restante:turn-clock")),
  };
  let went = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      const open = document.activeElement.closest("details[open]:not(.menu)") || document.querySelector("details.ask[open]");
      if (typing && !open) typing.blur();
      if (open) { open.open = false; open.querySelector("summary").focus(); }
      return;
    }
    if (typing || !single()) return;
    if (Date.now() - went < 1500) {
      went = 0;
      const place = document.querySelector(`#places [data-key="${CSS.escape(event.key)}"]`);
      if (place) { event.preventDefault(); place.click(); }
      return;
    }
    if (event.key === "g") { went = Date.now(); return; }
    const does = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
    if (does) { event.preventDefault(); does(); }
  });
})();
