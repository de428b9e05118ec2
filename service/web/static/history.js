// The history: what failed where, how often, and how that changed.

import { ROOT, get } from "./api.js";
import { chart } from "./chart.js";
import { download, h, put, say, set } from "./dom.js";
import { ago, moment, number, plural, sureOf } from "./format.js";
import { stateOf } from "./handling.js";
import { problemBox } from "./problem.js";
import { settle } from "./router.js";
import { buckets } from "./share.js";

const SPANS = { day: ["24 hours", 1], week: ["7 days", 7], month: ["30 days", 30], quarter: ["90 days", 90] };
const JUDGED = {
  "": ["any", {}],
  unknown: ["not recognised", { bucket: "unknown" }],
  wrong: ["said wrong", { feedback: "wrong" }],
  right: ["said right", { feedback: "right" }],
  none: ["not judged yet", { feedback: "none" }],
  open: ["unassigned", { state: "open" }],
  acknowledged: ["acknowledged", { state: "acknowledged" }],
  muted: ["muted", { state: "muted" }],
};
const PAGE = 50;
const EXPORTED = 10_000;

/** The view at `/history`. */
export function showHistory(main) {
  document.title = "History – vllm-triage";
  const query = new URLSearchParams(location.search);
  const text = h("input", { type: "search", id: "q", value: query.get("q") ?? "", placeholder: "Title, model, service …", "data-search": true, autocomplete: "off", spellcheck: "false" });
  const service = h("input", { type: "text", id: "of-service", value: query.get("service") ?? "", placeholder: "any", autocomplete: "off", spellcheck: "false" });
  const bucket = h("select", { id: "of-bucket" }, h("option", { value: "" }, "any"));
  const judged = h("select", { id: "judged" }, Object.entries(JUDGED).map(([key, [label]]) => h("option", { value: key }, label)));
  const asked_for = query.get("judged") ?? "";
  judged.value = Object.hasOwn(JUDGED, asked_for) ? asked_for : "";
  const span = h("select", { id: "span" }, Object.entries(SPANS).map(([key, [label]]) => h("option", { value: key }, label)));
  span.value = Object.hasOwn(SPANS, query.get("span") ?? "") ? query.get("span") : "month";
  const wanted = query.get("bucket") ?? "";
  if (wanted) put(bucket, h("option", { value: wanted, selected: true }, wanted));
  buckets().then((known) => {
    for (const { id } of known) if (id !== wanted) bucket.append(h("option", { value: id }, id));
  });

  const picture = h("section", { class: "overtime" });
  const mail = h("p", { class: "note mail", role: "status", hidden: true });
  const list = h("ul", { class: "incidents" });
  const state = h("p", { class: "waiting", role: "status" });
  const more = h("button", { type: "button", hidden: true }, "Show more");
  const save = h("button", { type: "button", class: "save", on: { click: exported } }, "Export");
  const filters = h("form", { class: "filters", role: "search", on: { submit: (event) => (event.preventDefault(), load()) } },
    labelled("Search", text), labelled("Service", service), labelled("Bucket", bucket), labelled("State", judged), labelled("Within", span), save);
  put(main, h("div", { class: "history" }, h("h1", { tabindex: "-1" }, "History"), mail, filters, picture,
    h("section", { "aria-label": "Incidents" }, list, state, more)));

  let asked = new AbortController();
  let waiting = 0;
  let cursor = null;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(load, 250);
  };
  for (const field of [text, service]) field.addEventListener("input", later);
  for (const field of [bucket, judged, span]) field.addEventListener("change", load);
  more.addEventListener("click", () => page(true));
  load();
  return () => {
    clearTimeout(waiting);
    asked.abort();
  };

  function params() {
    const since = new Date(Date.now() - SPANS[span.value][1] * 86_400_000).toISOString();
    return { q: text.value.trim(), service: service.value.trim(), bucket: bucket.value, since, ...JUDGED[judged.value][1] };
  }

  function load() {
    clearTimeout(waiting);
    asked.abort();
    asked = new AbortController();
    cursor = null;
    const shown = new URLSearchParams(Object.entries({ q: text.value.trim(), service: service.value.trim(), bucket: bucket.value, judged: judged.value, span: span.value === "month" ? "" : span.value }).filter(([, value]) => value));
    settle(`history${shown.size ? `?${shown}` : ""}`, { replace: true });
    page(false);
    draw(asked.signal);
    tellMail(mail, asked.signal);
  }

  async function page(next) {
    const { signal } = asked;
    more.disabled = true;
    try {
      const found = await get("v1/incidents", { ...params(), limit: PAGE, cursor: next ? cursor : "" }, { signal });
      const rows = found.items.map((item) => incidentRow(item));
      if (!next) list.replaceChildren();
      put(list, rows);
      cursor = found.next;
      more.hidden = !cursor;
      more.disabled = false;
      if (next) rows[0]?.querySelector("a").focus();
      const count = list.childElementCount;
      const filtered = text.value || service.value || bucket.value || judged.value;
      set(state, count ? "" : filtered ? "Nothing matches. Take a filter away, or look further back." : "Nothing has been triaged here in this time.");
      say(count ? plural(count, "incident") : "No incidents");
    } catch (error) {
      if (signal.aborted) return;
      list.replaceChildren();
      more.hidden = true;
      set(state, problemBox(error, [["Try again", load]]));
    }
  }

  // All that the filters let through, a line of JSON each.
  async function exported() {
    save.disabled = true;
    const rows = [];
    try {
      let next = "";
      do {
        const found = await get("v1/incidents", { ...params(), limit: 500, cursor: next }, { signal: asked.signal });
        rows.push(...found.items);
        next = found.next;
      } while (next && rows.length < EXPORTED);
      download("vllm-triage-incidents.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""), "application/x-ndjson");
      say(`${plural(rows.length, "incident")} exported${next ? `, the latest ${number(EXPORTED)}` : ""}`);
    } catch (error) {
      if (!asked.signal.aborted) set(state, problemBox(error, [["Try again", exported]]));
    } finally {
      save.disabled = false;
    }
  }

  async function draw(signal) {
    const { since, service: of } = params();
    const days = SPANS[span.value][1];
    try {
      const stats = await get("v1/incidents/stats", { since, step: days === 1 ? "hour" : "day", service: of }, { signal, quiet: true });
      set(picture, stats.total ? chart(stats, { since, days, only: bucket.value, choose: (id) => ((bucket.value = id), load()) }) : null);
    } catch {
      // The list says what is wrong.
      if (!signal.aborted) picture.replaceChildren();
    }
  }
}

// Messages that wait or were given up are told where people look for what happened.
async function tellMail(place, signal) {
  try {
    const { lanes } = await get("v1/messages", {}, { signal, quiet: true });
    const words = lanes.flatMap(({ target, waiting, since, failed, reason }) => [
      waiting && (target === "alerts" ? `${plural(waiting, "notification")} of alerts wait to be read since ${moment(since)}` : `${plural(waiting, "message")} wait for ${target} since ${moment(since)}`),
      failed && `${plural(failed, "message")} could not be delivered to ${target} (${reason})`,
    ]).filter(Boolean);
    place.hidden = !words.length;
    place.textContent = words.length ? `${words.join("; ")}.` : "";
  } catch {
    if (!signal.aborted) place.hidden = true;
  }
}

function labelled(label, field) {
  return h("div", {}, h("label", { for: field.id }, label), field);
}

/** An incident in a list. */
export function incidentRow(item) {
  const kind = item.bucket === "unknown" ? "unknown" : item.bucket === "no_failure" ? "fine" : "failed";
  const model = item.model ? String(item.model).split("/").pop() : "";
  const about = [item.service, model, item.vllm_version ? `vLLM ${item.vllm_version}` : "", item.name, ...stateOf(item)].filter(Boolean);
  const href = new URL(`incidents/${encodeURIComponent(item.id)}`, ROOT).pathname;
  return h("li", { class: kind },
    h("span", { class: "dot", "aria-hidden": "true" }),
    h("div", { class: "main" },
      h("a", { href, "data-nav": true, "data-item": true }, item.title || item.cause),
      h("p", {}, h("code", {}, item.cause), about.map((part) => h("span", {}, part)))),
    h("span", { class: "times", title: "How often" }, item.occurrences > 1 ? `× ${number(item.occurrences)}` : ""),
    h("span", { class: "sure" }, sureOf(item)),
    h("span", { class: `mark ${item.feedback ?? ""}` }, item.feedback === "right" ? "right" : item.feedback === "wrong" ? "wrong" : ""),
    h("time", { datetime: item.last_seen, title: moment(item.last_seen) }, ago(item.last_seen)));
}
