/* Instants in UTC, as the server writes them, or as the reader's clock has them. */
"use strict";
(() => {
  const KEY = "restante-times";
  const switches = document.querySelectorAll(".times");
  const local = () => localStorage.getItem(KEY) === "local";
  const two = (number) => String(number).padStart(2, "0");
  const zone = (at) => {
    const minutes = -at.getTimezoneOffset();
    const size = Math.abs(minutes);
    return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${size % 60 ? `:${two(size % 60)}` : ""}`;
  };
  const month = (at, timeZone) => new Intl.DateTimeFormat("en", { month: "short", timeZone }).format(at);
  const clock = (at, utc) => utc
    ? [at.getUTCFullYear(), at.getUTCDate(), month(at, "UTC"), at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()]
    : [at.getFullYear(), at.getDate(), month(at), at.getHours(), at.getMinutes(), at.getSeconds()];
  const words = (at, form, utc) => {
    const [year, day, name, hours, minutes, whole] = clock(at, utc);
    const short = `${two(hours)}:${two(minutes)}`;
    const seconds = `${short}:${two(whole)}`;
    const precise = `${seconds}.${String(at.getMilliseconds()).padStart(3, "0")}`;
    const date = `${day} ${name} ${year}`;
    const forms = { clock: short, seconds, precise, date, day: `${day} ${name}`, full: `${date} ${seconds}`, exact: `${date} ${precise}` };
    return forms[form] ?? `${day}\u00a0${name}, ${short}\u00a0${utc ? "UTC" : zone(at)}`;
  };
  const write = () => {
    const utc = !local();
    for (const time of document.querySelectorAll("[data-at]")) {
      const at = new Date(time.getAttribute("datetime"));
      if (!Number.isNaN(at.getTime())) time.textContent = words(at, time.dataset.at, utc);
    }
    for (const one of document.querySelectorAll("[data-zone]")) one.textContent = utc ? "UTC" : "local";
    for (const button of document.querySelectorAll(".times button")) {
      button.setAttribute("aria-pressed", String((button.value === "local") === !utc));
    }
  };
  const choose = (value) => { localStorage.setItem(KEY, value); write(); };
  for (const one of switches) {
    one.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) choose(button.value);
    });
    one.hidden = false;
  }
  document.addEventListener("restante:times", write);
  document.addEventListener("restante:turn-clock", () => choose(local() ? "utc" : "local"));
  if (local()) write();
})();
