// A stored incident at its own address.

import { get } from "./api.js";
import { h, set } from "./dom.js";
import { problemBox } from "./problem.js";
import { showReport } from "./report.js";
import { go } from "./router.js";

// Answers of this visit, with the logs that the browser still has.
const fresh = new Map();

/** Keep an answer of this visit with its log. */
export function remember(id, answer) {
  fresh.delete(id);
  fresh.set(id, answer);
  if (fresh.size > 5) fresh.delete(fresh.keys().next().value);
}

/** The view at `/incidents/{id}`. */
export function showIncident(main, [, raw]) {
  const leaving = new AbortController();
  load();
  return () => leaving.abort();

  async function load() {
    let id = raw;
    try {
      id = decodeURIComponent(raw);
    } catch {
      // No such address; the server will say so.
    }
    document.title = "Incident – vllm-triage";
    set(main, h("p", { class: "waiting" }, "Loading the incident …"));
    try {
      const stored = await get(`v1/incidents/${encodeURIComponent(id)}`, {}, { signal: leaving.signal });
      main.replaceChildren();
      const here = fresh.get(id);
      // Another log may have brought a later report of the same incident meanwhile; its lines are not those of this log.
      const same = here && sameInput(here.report.input, stored.report.input);
      const { report, incident, occurrences = [], feedback = [] } = stored;
      showReport(main, { report, incident, occurrences, feedback, log: same ? here.log : null });
    } catch (error) {
      if (leaving.signal.aborted) return;
      if (error.status === 404 && !error.type.endsWith("no-history")) error.detail = "There is no such incident, or it was removed or has grown too old.";
      const ways = [["Try again", load], ["History", () => go("history")]];
      // What is gone does not come back by asking again.
      set(main, problemBox(error, error.status === 404 ? ways.reverse() : ways));
    }
  }
}

function sameInput(one, other) {
  return one?.bytes === other?.bytes && one?.lines === other?.lines;
}
