// Keyboard shortcuts, shown on the buttons. They can be switched off, and do nothing while a person types.
"use strict";
const choice = document.getElementById("keys");
if (choice) {
  const told = () => document.documentElement.classList.toggle("keys-on", choice.checked);
  choice.checked = localStorage.getItem("keys") !== "off";
  choice.closest("[hidden]").hidden = false;
  choice.addEventListener("change", () => {
    localStorage.setItem("keys", choice.checked ? "on" : "off");
    told();
  });
  told();
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    const writes = at.matches("textarea, select, [contenteditable], input:not([type=checkbox])");
    if (!choice.checked || writes || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const wanted = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!wanted) return;
    event.preventDefault();
    if (wanted.matches("input")) wanted.focus();
    else wanted.click();
  });
}
