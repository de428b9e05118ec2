// What is done with an answer: share it, take it along, say whether it was right.

import { ROOT, get, post, rendered } from "./api.js";
import { copyButton, download, h, say, set } from "./dom.js";
import { ago, moment, plural } from "./format.js";
import { handling } from "./handling.js";
import { may } from "./person.js";

const OWN = "…";
const PROMPT = "text/vnd.vllm-triage.prompt";
// A service that listens here alone: a link to it leads nowhere on another machine.
const LOCAL = /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(ROOT).hostname);

/** The bar below the verdict. */
export function actions({ report, incident, feedback = [] }) {
  const link = incident?.id ? new URL(`incidents/${encodeURIComponent(incident.id)}`, ROOT).href : "";
  const name = `vllm-triage-${incident?.id ?? report.bucket}.json`;
  const json = h("button", { type: "button", on: { click: () => download(name, `${JSON.stringify(report, null, 2)}\n`, "application/json") } }, "Download JSON");
  return h("div", { class: "actions" },
    h("div", { class: "row" },
      link ? copyButton(link, "Copy link", `Copy link to this incident${LOCAL ? ", which only this machine can open" : ""}`) : null,
      link && LOCAL ? h("span", { class: "hint" }, "opens on this machine only") : null,
      copyButton(() => evidence(report, incident), "Copy for an assistant", "Copy the evidence and the question, to paste into an assistant"),
      copyButton(() => markdown(report, link), "Copy Markdown"), json),
    incident ? recurrence(incident) : null,
    incident?.id ? judge(report, incident, feedback) : null,
    incident?.id ? handling(incident) : null);
}

// What the history kept of the log's telling lines; without a history those that the report shows.
async function evidence(report, incident) {
  try {
    return await (incident?.id ? get(`v1/incidents/${encodeURIComponent(incident.id)}/pack`, {}, { type: PROMPT }) : rendered(report, PROMPT));
  } catch {
    return "";
  }
}

// As the service writes it for issues and chats; nothing where it does not answer.
async function markdown(report, link) {
  try {
    return `${(await rendered(report, "text/markdown")).trim()}\n${link ? `\n<${link}>\n` : ""}`;
  } catch {
    return "";
  }
}

function recurrence(incident) {
  const service = incident.service ? ` in ${incident.service}` : "";
  const since = h("time", { datetime: incident.first_seen, title: moment(incident.first_seen) }, ago(incident.first_seen));
  return h("p", { class: "seen" }, incident.occurrences > 1
    ? [h("strong", {}, `Seen ${plural(incident.occurrences, "time")}`), service, ", first ", since]
    : [`Seen for the first time${service}`]);
}

function judge(report, incident, feedback) {
  const place = h("div", { class: "judge", role: "group", "aria-label": "Was this right?" });
  const last = feedback.at(-1)?.verdict ?? incident.feedback;
  if (last) thank(last);
  else ask();
  may("feedback").then((yes) => yes || place.remove());
  return place;

  function ask() {
    set(place, h("span", {}, "Was this right?"),
      h("button", { type: "button", on: { click: () => send({ verdict: "right" }) } }, "Right"),
      h("button", { type: "button", on: { click: correct } }, "Wrong, it was …"));
  }

  async function correct() {
    const own = h("input", { id: "kind", type: "text", maxlength: 64, pattern: "[a-z0-9_]+", placeholder: "such_a_name", title: "small letters, digits and _", autocomplete: "off", spellcheck: "false", "aria-label": "Its name", hidden: true });
    const named = () => ((own.hidden = !(own.required = choice.value === OWN)), own.hidden || own.focus());
    const choice = h("select", { id: "was", on: { change: named } }, h("option", { value: "" }, "I do not know"), h("option", { value: OWN }, "a kind that is not in this list …"));
    const note = h("input", { id: "note", type: "text", maxlength: 500, placeholder: "what it was (optional)", autocomplete: "off" });
    const form = h("form", { class: "row", on: { submit: (event) => (event.preventDefault(), send({ verdict: "wrong", note: note.value.trim(), ...(choice.value === OWN ? { bucket: own.value, new: true } : { bucket: choice.value }) })) } },
      h("label", { for: "was" }, "It was"), choice, own, h("label", { for: "note", class: "sr" }, "Note"), note,
      h("button", { type: "submit", class: "primary" }, "Send"), h("button", { type: "button", "data-cancel": true, on: { click: ask } }, "Cancel"));
    set(place, form);
    choice.focus();
    for (const bucket of await buckets()) {
      if (bucket.id !== report.bucket) choice.append(h("option", { value: bucket.id }, bucket.title ? `${bucket.id} – ${bucket.title}` : bucket.id));
    }
  }

  async function send(words) {
    try {
      await post("v1/feedback", { incident: incident.id, ...words });
      thank(words.verdict);
      say("Thank you, it is kept");
    } catch (error) {
      set(place, h("span", { class: "problem", role: "alert" }, `${error.title}. ${error.detail}`), h("button", { type: "button", on: { click: ask } }, "Back"));
    }
  }

  function thank(verdict) {
    set(place, h("span", { class: `judged ${verdict}` }, verdict === "right" ? "Marked as right" : "Marked as wrong"),
      h("button", { type: "button", class: "link", on: { click: ask } }, "Change"));
  }
}

let known = null;
/** All buckets; an empty list where the server does not tell. */
export async function buckets() {
  known ??= get("v1/buckets", {}, { quiet: true }).then((told) => (Array.isArray(told) ? told : (told.items ?? told.buckets ?? [])));
  try {
    return await known;
  } catch {
    known = null;
    return [];
  }
}
