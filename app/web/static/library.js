// Refreshes background work and changes while the page is visible.
"use strict";
const now = document.getElementById("now");
const seen = { text: null };

setInterval(async () => {
  if (document.visibilityState !== "visible" || now.contains(document.activeElement)) return;
  try {
    const answer = await fetch(now.dataset.from);
    if (!answer.ok || answer.redirected) return;
    const text = await answer.text();
    if (text === seen.text || now.contains(document.activeElement)) return;
    seen.text = text;
    now.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
  } catch {
    // The service cannot be reached now; try again at the next interval.
  }
}, 3000);
