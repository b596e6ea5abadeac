/* Buttons that copy what stands in their data-copy; they are shown where a script can do it. */
"use strict";
(() => {
  if (!navigator.clipboard) return;
  const uncover = () => document.querySelectorAll("button[data-copy][hidden]").forEach((one) => { one.hidden = false; });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.dataset.done = "copied";
    } catch {
      button.dataset.done = "not copied";
    }
    const word = button.querySelector(".unseen");
    if (word) word.textContent = button.dataset.done;
    setTimeout(() => { delete button.dataset.done; if (word) word.textContent = "Copy"; }, 2000);
  });
  document.addEventListener("restante:part", uncover);
  uncover();
})();
