// From the cause to its symptoms: what was raised from what, in which process.

import { h, section } from "./dom.js";
import { plural } from "./format.js";
import { parse } from "./logline.js";

const SHOWN = 4;

/** The chain; `jump(line)` where the log is at hand. */
export function chainSection(report, palette, jump, kind) {
  const [cause, ...proof] = report.evidence ?? [];
  const symptoms = report.symptoms ?? [];
  const raised = report.chain ?? [];
  if (!cause && !symptoms.length) return null;
  const told = new Set(raised.map((line) => line.line));
  const links = [
    ...(cause ? [[kind === "failed" ? "Cause" : "Seen", "cause", cause]] : []),
    ...proof.filter((line) => !told.has(line.line)).map((line) => [kind === "failed" ? "Evidence" : "Seen", "proof", line]),
    ...raised.map((line) => ["Raised from it", "raised", line]),
    ...symptoms.map((line) => [kind === "failed" ? "Only a symptom" : "Also printed", "symptom", line]),
  ];
  const list = h("ol", { class: "chain" }, links.map((link, index) => item(...link, palette, jump, index >= SHOWN && links.length > SHOWN + 1)));
  const rest = links.length > SHOWN + 1 ? links.length - SHOWN : 0;
  const more = rest ? h("button", { type: "button", class: "link", on: { click: open } }, `${plural(rest, "more line")}`) : null;
  const title = { failed: "From cause to symptom", unknown: "The most telling lines", fine: "What was seen" }[kind];
  return section(title, "links", list, more);

  function open() {
    const hidden = [...list.querySelectorAll("[hidden]")];
    for (const entry of hidden) entry.hidden = false;
    more.remove();
    hidden[0]?.focus();
  }
}

function item(role, cls, line, palette, jump, hidden) {
  const told = parse(line.text);
  const process = line.process || told.process;
  const where = jump
    ? h("button", { type: "button", class: "link", on: { click: () => jump(line.line) } }, `line ${line.line}`)
    : h("span", {}, `line ${line.line}`);
  return h("li", { class: cls, hidden, tabindex: "-1", "data-item": true },
    h("p", { class: "of" }, h("span", { class: "role" }, role),
      process ? h("span", { class: `process ${palette.of(process)}` }, process) : null, where,
      line.count > 1 ? h("span", { class: "hint" }, `× ${line.count}`) : null),
    h("p", { class: "said" }, told.message.trim() || line.text));
}
