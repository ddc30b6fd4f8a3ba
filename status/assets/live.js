"use strict";
// Fetches the page every second and puts the new pools in place of the old ones. What
// has the focus keeps it; a page in the background rests.
const live = document.getElementById("live");
function say(text) { if (live.textContent !== text) live.textContent = text; }
async function update() {
  if (!document.hidden) {
    try {
      const answer = await fetch("./", { signal: AbortSignal.timeout(5000) });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("pools");
      const focused = document.activeElement.id;
      document.getElementById("pools").replaceWith(fresh);
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      say("live");
    } catch {
      say("no answer: these numbers are old");
    }
  }
  setTimeout(update, 1000);
}
update();
