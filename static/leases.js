/* Leases empty once a second, from the time that the server said was left. */
"use strict";
(() => {
  const began = new WeakMap();
  const word = (seconds) => {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const first = units.findIndex(([size]) => seconds >= size);
    if (first < 0) return "over";
    const [size, unit] = units[first];
    const next = units[first + 1];
    const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
    return `${Math.floor(seconds / size)}\u00a0${unit}${rest ? `\u00a0${rest}\u00a0${next[1]}` : ""}`;
  };
  setInterval(() => {
    const now = performance.now();
    for (const lease of document.querySelectorAll(".lease[data-left]")) {
      if (!began.has(lease)) began.set(lease, now);
      const left = Math.max(0, Math.round(lease.dataset.left - (now - began.get(lease)) / 1000));
      const part = Math.min(1, left / lease.dataset.whole);
      lease.lastElementChild.textContent = word(left);
      lease.querySelectorAll("circle")[1].setAttribute("stroke-dasharray", `${Math.round(part * 100)} 100`);
      lease.classList.toggle("late", part < 0.2);
    }
  }, 1000);
})();
