/* Keeps a page up to date: one stream a browser says which topics have changed, and the parts of the
   page that say they show them (data-live) are asked for anew, all by one request. Without the
   stream every page asks by itself. Nothing moves under the pointer or around what is being typed. */
"use strict";
(() => {
  const PAUSE = 5000;
  const ASK_AGAIN = 10000;
  const page = document.querySelector("main[data-address]");
  if (!page) return;
  const state = document.getElementById("live");
  const lost = document.getElementById("lost");
  const channel = new BroadcastChannel("restante-live");
  const due = new Set();
  let asking = false;
  let timer = 0;
  let lastAt = Date.now();
  let streams; // nobody knows before the first word
  let failing = false;

  /* what the page shows */
  const parts = () => [...document.querySelectorAll("[data-live][id]")];
  const show = () => {
    state.hidden = !streams || failing;
    lost.hidden = streams !== false && !failing;
    for (const time of document.querySelectorAll("#live time, #lost time")) {
      time.dateTime = new Date(lastAt).toISOString();
      time.dataset.at = "seconds";
    }
    document.dispatchEvent(new Event("restante:times"));
  };
  const busy = (part) => {
    const focus = document.activeElement;
    const selected = document.getSelection();
    const typed = [...part.querySelectorAll("input, textarea")].some(
      (one) => (one.checked ?? false) !== (one.defaultChecked ?? false) || one.value !== one.defaultValue);
    return (
      typed ||
      part.matches(":hover:not([data-still], [data-rows])") ||
      part.querySelector("details[open], dialog[open]") !== null ||
      (part.contains(focus) && (focus.matches("input, textarea, select") || !focusName(focus))) ||
      (!selected.isCollapsed && part.contains(selected.anchorNode))
    );
  };
  const lines = (part) => [...part.querySelectorAll("tbody tr, li[data-row]")];
  const named = (row) => row.dataset.row || (row.querySelector("a[href]") || row).getAttribute("href");
  const rows = (part) => lines(part).map(named);

  /* asking */
  const ask = () => {
    timer = 0;
    if (document.hidden || asking || !due.size) return;
    const wanted = parts().filter((part) => part.dataset.live.split(" ").some((topic) => due.has(topic)));
    due.clear();
    if (!wanted.length) return;
    asking = true;
    // a request that fails is told of by htmx:afterRequest
    const known = `#${wanted.map((part) => part.id).join(",#")}`;
    htmx.ajax("GET", page.dataset.address, {
      source: page, target: page, swap: "none", selectOOB: known, headers: { "Restante-Live": "1" },
    }).catch(() => {}).finally(() => { asking = false; lastAsked = Date.now(); if (due.size) soon(); });
  };
  let lastAsked = Date.now();
  const soon = () => {
    if (timer || asking || document.hidden) return;
    timer = setTimeout(ask, Math.max(0, lastAsked + PAUSE - Date.now()) + Math.random() * 500);
  };
  const changed = (topics) => { topics.forEach((topic) => due.add(topic)); soon(); };
  const everything = () => changed(parts().flatMap((part) => part.dataset.live.split(" ")));

  /* a part has come: whether it may take the place of the old one */
  const hint = (part, fresh, news) => {
    part.querySelector(".newer")?.remove();
    const button = document.createElement("button");
    button.type = "button";
    button.className = "newer";
    const what = part.dataset.rows || "rows";
    button.textContent = news === 1 ? "Something newer arrived while you were reading" : news ? `${news} newer ${what} arrived while you were reading` : "This list has changed since";
    button.addEventListener("click", () => { take(part, fresh); });
    (part.querySelector("div.panel") ?? part).prepend(button);
  };
  const take = (part, fresh) => {
    const next = document.importNode(fresh, true);
    next.removeAttribute("hx-swap-oob");
    part.replaceWith(next);
    htmx.process(next);
    settle(next);
  };
  /* rows that are shown still say what is so now; none of them moves */
  const renew = (part, fresh) => {
    const next = new Map(lines(fresh).map((row) => [named(row), row]));
    for (const row of lines(part)) {
      const now = next.get(named(row));
      if (now && !row.contains(document.activeElement)) row.replaceWith(document.importNode(now, true));
    }
    settle(part);
  };
  const settle = (part) => {
    for (const figure of part.querySelectorAll("[data-figure]")) {
      const before = figures.get(figure.dataset.figure);
      if (before !== undefined && before !== figure.textContent) figure.classList.add("changed");
    }
    remember(part);
    document.dispatchEvent(new Event("restante:part"));
    document.dispatchEvent(new Event("restante:times"));
  };
  const figures = new Map();
  const remember = (part) => part.querySelectorAll("[data-figure]")
    .forEach((figure) => figures.set(figure.dataset.figure, figure.textContent));
  const focusName = (element) => element.id || element.getAttribute("href") || element.getAttribute("name");
  let focused = null;

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target: part, fragment } = event.detail;
    const fresh = fragment.nodeType === Node.ELEMENT_NODE ? fragment : fragment.firstElementChild;
    if (!fresh || !part.dataset.live) return;
    if (part.hasAttribute("data-rows")) {
      const had = rows(part);
      const has = rows(fresh);
      if (had.length && had.join("\n") !== has.join("\n")) { // nothing moves where nothing was
        if (!busy(part)) renew(part, fresh);
        hint(part, fresh.cloneNode(true), has.filter((row) => !had.includes(row)).length);
        event.detail.shouldSwap = false;
        return;
      }
    }
    if (busy(part)) {
      event.detail.shouldSwap = false;
      part.dataset.live.split(" ").forEach((topic) => due.add(topic));
      return;
    }
    focused = part.contains(document.activeElement) ? { part: part.id, name: focusName(document.activeElement) } : null;
  });
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const id = event.detail.target.id;
    const part = id && document.getElementById(id);
    if (!part) return;
    settle(part);
    if (focused?.part === id && focused.name) {
      [...part.querySelectorAll("a[href], button, summary, [id]")]
        .find((one) => focusName(one) === focused.name)?.focus({ preventScroll: true });
    }
    focused = null;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    failing = !event.detail.successful;
    if (!failing) lastAt = Date.now();
    show();
  });

  /* the stream: whoever holds the lock has it, and tells the others */
  const tell = (message) => { channel.postMessage(message); heard({ data: message }); };
  const heard = ({ data }) => {
    if (data.topics) { lastAt = Date.now(); changed(data.topics); }
    if (data.streams !== undefined && data.streams !== streams) {
      const back = streams === false;
      streams = data.streams;
      show();
      if (back || !streams) everything(); // what it missed, or why the stream is gone
    } else if (data.beat) { lastAt = Date.now(); show(); }
    if (data.asks && leads) channel.postMessage({ streams: open });
  };
  let leads = false;
  let open;
  const lead = () => new Promise(() => {
    leads = true;
    let silence = 0;
    let beats = 30;
    const is = (now) => { open = now; tell({ streams: now, beat: now }); };
    const connect = () => {
      const source = new EventSource("/live");
      const again = (pause) => { source.close(); clearTimeout(silence); setTimeout(connect, pause); };
      const alive = () => {
        clearTimeout(silence);
        silence = setTimeout(() => { is(false); again(0); }, beats * 2500);
      };
      source.addEventListener("ready", (event) => { beats = JSON.parse(event.data).heartbeat_seconds; alive(); is(true); });
      source.addEventListener("heartbeat", () => { alive(); tell({ beat: true }); });
      source.addEventListener("changed", (event) => { alive(); tell(JSON.parse(event.data)); });
      source.addEventListener("reconnect", (event) => again(JSON.parse(event.data).retry_after_ms));
      source.addEventListener("revoked", () => { is(false); again(ASK_AGAIN); });
      source.onerror = () => { is(false); if (source.readyState === EventSource.CLOSED) again(ASK_AGAIN); };
      alive();
    };
    connect();
  });
  channel.onmessage = heard;
  if (navigator.locks) navigator.locks.request("restante-live", lead);
  else lead();
  channel.postMessage({ asks: true });
  setInterval(() => {
    if (streams === undefined) heard({ data: { streams: false } });
    if (!streams || failing) everything();
    else if (due.size) soon();
  }, ASK_AGAIN);
  document.addEventListener("visibilitychange", soon);
  document.addEventListener("pointerout", () => { if (due.size) soon(); });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  parts().forEach(remember);
  show();
})();
