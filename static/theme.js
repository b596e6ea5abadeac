/* The colours are changed where one is, so that nothing that is typed is lost; without a script, or
   where the server does not say that they are kept, the form is sent as it stands. */
"use strict";
(() => {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form.themes");
    const button = event.submitter;
    if (!form || !button || button.name !== "theme") return;
    event.preventDefault();
    const sent = new URLSearchParams(new FormData(form));
    sent.set("theme", button.value);
    const headers = { "Restante-Live": "1", "HX-Request": "true" };
    const answer = await fetch(form.action, { method: "POST", body: sent, headers }).catch(() => null);
    if (!answer || answer.status !== 204) {
      const chosen = document.createElement("input");
      Object.assign(chosen, { type: "hidden", name: "theme", value: button.value });
      form.append(chosen);
      form.submit();
      return;
    }
    if (button.value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = button.value;
    for (const one of form.querySelectorAll("button[name=theme]")) {
      one.setAttribute("aria-pressed", String(one === button));
    }
  });
})();
