"use strict";
// Buttons that copy an identifier. Without this script, people select it themselves.
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = button.dataset.done;
      document.getElementById("copied").textContent = button.dataset.done;
    } catch {
      getSelection().selectAllChildren(source);
    }
  });
}
