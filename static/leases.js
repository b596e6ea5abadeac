/* What is left of leases steps down once a second, from the time that the server said was left. */
"use strict";
(() => {
  const ends = new WeakMap();
  const word = (seconds) => {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const first = units.findIndex(([size]) => seconds >= size);
    if (first < 0) return "over";
    const [size, unit] = units[first];
    const next = units[first + 1];
    const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
    return `${Math.floor(seconds / size)}\u00a0${unit}${rest ? `\u00a0${rest}\u00a0${next[1]}` : ""}`;
  };
  const step = () => {
    for (const lease of document.querySelectorAll("[data-left]")) {
      if (!ends.has(lease)) ends.set(lease, Date.now() + lease.dataset.left * 1000);
      const left = Math.max(0, Math.round((ends.get(lease) - Date.now()) / 1000));
      const words = word(left);
      if (lease.textContent !== words) lease.textContent = words;
      lease.classList.toggle("late", left < lease.dataset.whole * 0.2);
    }
  };
  step();
  setInterval(step, 1000);
  document.addEventListener("restante:part", step);
})();
