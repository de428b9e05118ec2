// A log on its way: how much was sent, how far the reading got, and the first answer while it goes on.

import { IN_TAB, get, sendLog } from "./api.js";
import { h, say, set } from "./dom.js";
import { STAGE_NAMES, bytes, number, sureOf } from "./format.js";
import { remember } from "./incident.js";
import { LogFile, packing } from "./logfile.js";
import { problemBox } from "./problem.js";
import { showReport } from "./report.js";
import { settle } from "./router.js";

// Of a big log the beginning and the end are sent ahead: browsers read no answer before all is sent.
const BIG = 8e6;
const GLANCE = 512 << 10;

/** Send a log, show the way, then the report. `back` returns to the form. */
export async function triageLog(main, log, params, back) {
  const stop = new AbortController();
  const leave = () => stop.abort();
  addEventListener("popstate", leave, { once: true });
  const seen = progress(log, () => stop.abort());
  set(main, seen.element);
  seen.element.querySelector("h1").focus();
  say("Reading the log");
  try {
    const encoding = await packing(log);
    if (!encoding && log.size > BIG) glance(log, params, stop.signal).then(seen.glance, () => {});
    const report = await sendLog(log, params, {
      encoding, signal: stop.signal, onSent: seen.sent, onEvent: seen.event,
    });
    // Somebody has gone elsewhere on the page in the meantime.
    if (!seen.element.isConnected) return;
    const file = new LogFile(log, log.name ?? params.name ?? "");
    const id = report.incident?.id;
    if (id) remember(id, { report, log: file });
    settle(id ? `incidents/${encodeURIComponent(id)}` : "");
    main.dataset.view = "incident";
    main.replaceChildren();
    showReport(main, { report, incident: report.incident ?? null, log: file });
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
    say(`${report.title}. ${sureOf(report)}`);
    if (id && report.asking) opinion(main, id, file);
  } catch (error) {
    if (!seen.element.isConnected) return;
    if (error.name === "AbortError") {
      back();
      say("Cancelled");
      return;
    }
    set(main, problemBox(error, [["Try again", () => triageLog(main, log, params, back)], ["Another log", back]]));
    main.querySelector("[role=alert]")?.focus();
  } finally {
    removeEventListener("popstate", leave);
  }
}

// A model that is asked besides takes seconds, or minutes: the answer stands meanwhile, and is shown anew with its word.
async function opinion(main, id, log) {
  const here = location.pathname;
  for (let wait = 1000; wait < 40e3; wait *= 1.3) {
    await new Promise((done) => setTimeout(done, wait));
    if (location.pathname !== here) return;
    const stored = await get(`v1/incidents/${encodeURIComponent(id)}`).catch(() => null);
    if (location.pathname !== here) return;
    if (!stored?.report.proposals) continue;
    const { report, incident, occurrences = [], feedback = [] } = stored;
    const place = scrollY;
    main.replaceChildren();
    showReport(main, { report, incident, occurrences, feedback, log });
    scrollTo(0, place);
    say("A second opinion has come");
    return;
  }
}

function glance(log, params, signal) {
  const parts = new Blob([log.slice(0, GLANCE), "\n", log.slice(-GLANCE)], { type: "text/plain" });
  return sendLog(parts, { ...params, store: "false" }, { onSent() {}, onEvent() {}, signal });
}

function progress(log, cancel) {
  const bar = h("progress", { max: 1, "aria-label": "Sent" });
  const words = h("p", { class: "figures" }, bytes(log.size));
  const early = h("div", { class: "early" });
  const element = h("section", { class: "running" },
    h("h1", { tabindex: "-1" }, "Reading ", h("span", {}, log.name ?? "the log")), bar, words, early,
    h("p", {}, h("button", { type: "button", "data-cancel": true, on: { click: cancel } }, "Cancel"), h("kbd", {}, "Esc")));
  const began = performance.now();
  let read = "";
  let sent = 0;
  const tell = () => {
    const took = (performance.now() - began) / 1000;
    const rate = took > 1 && sent < log.size ? ` · ${bytes(sent / took)}/s` : "";
    const how = sent < log.size ? `${bytes(sent)} of ${bytes(log.size)} sent${rate}` : `${bytes(log.size)} sent`;
    words.textContent = (IN_TAB ? bytes(log.size) : how) + (read || (sent >= log.size ? " · the answer is being worked out" : ""));
  };
  const show = (label, report) => {
    set(early, h("p", { class: "hint" }, label), h("p", {}, h("strong", {}, report.title)),
      h("p", {}, h("code", {}, report.cause), " ", sureOf(report)));
    say(`${label}: ${report.title}`);
  };
  return {
    element,
    glance(report) {
      if (!early.childElementCount) show("At first glance, from its beginning and end", report);
    },
    sent(done, total) {
      sent = done;
      if (total) bar.value = done / total;
      tell();
    },
    event(event) {
      if (event.event === "progress") {
        const stage = event.reached ? ` · got as far as: ${STAGE_NAMES[event.reached] ?? event.reached}` : "";
        read = ` · ${number(event.lines)} lines read${stage}`;
        tell();
      } else if (event.event === "verdict") {
        show("So far", event.report);
      }
    },
  };
}
