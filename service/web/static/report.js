// The answer, section by section.

import { chainSection } from "./chain.js";
import { commandSection } from "./command.js";
import { contextSection } from "./context.js";
import { h, section } from "./dom.js";
import { fixesSection } from "./fixes.js";
import { plural } from "./format.js";
import { Palette } from "./logline.js";
import { actions } from "./share.js";
import { timelineSection } from "./timeline.js";
import { verdict } from "./verdict.js";

/** Lay a report out. `log` is the LogFile, where the browser has it. */
export function showReport(main, answer) {
  const { report } = answer;
  document.title = `${report.title} – vllm-triage`;
  const palette = new Palette();
  const kind = report.bucket === "unknown" || report.cause === "no_failure/requests_refused" ? "unknown" : report.bucket === "no_failure" ? "fine" : "failed";
  const context = contextSection(report, answer.log, palette, kind);
  const seen = answer.log ? context.jump : null;
  const [fixes, command, start] = [fixesSection(report, kind), commandSection(report), timelineSection(report, kind)];
  // Without a command there is room below the fixes; where nothing failed, they come last.
  const todo = (command ? [command, fixes] : kind === "fine" ? [start, fixes] : [fixes, start]).filter(Boolean);
  const told = [chainSection(report, palette, seen, kind), command && start, proofSection(report), factsSection(report)].filter(Boolean);
  // A phone shows what to do; how it came about is a tap away.
  const phone = matchMedia("(max-width: 40rem)").matches && kind === "failed";
  const column = phone ? h("details", { class: "column fold" }, h("summary", {}, h("h2", {}, "How it came about")), told) : h("div", { class: "column" }, told);
  main.append(h("article", { class: `report ${kind}` },
    verdict(report, kind),
    actions(answer),
    context.element,
    h("div", { class: "columns" }, h("div", { class: "column" }, todo), column),
    foot(report, answer)));
}

function proofSection(report) {
  if (!report.confirm && !report.refute) return null;
  return section("How to be sure", "proof", h("dl", {},
    report.confirm && h("div", {}, h("dt", { class: "for" }, "Would prove it"), h("dd", {}, report.confirm)),
    report.refute && h("div", {}, h("dt", { class: "against" }, "Would speak against it"), h("dd", {}, report.refute))));
}

function factsSection(report) {
  const entries = Object.entries(report.facts ?? {}).flatMap(([name, value]) =>
    name === "arguments" && value && typeof value === "object" ? [] : [[name, value]]);
  const given = Object.entries(report.facts?.arguments ?? {});
  if (!entries.length && !given.length) return null;
  const table = (rows, label) => h("dl", { class: "facts", "aria-label": label }, rows.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, plain(value)))));
  return h("details", { class: "allfacts" },
    h("summary", {}, h("h2", {}, "What the log says"), h("span", { class: "hint" }, `${entries.length + given.length} facts`)),
    entries.length ? table(entries, "Facts") : null,
    given.length ? [h("h3", {}, "Arguments given"), table(given, "Arguments given")] : null);
}

function plain(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function foot(report, { incident, occurrences = [] }) {
  const parts = [`${plural(report.input.lines, "line")} read`];
  if (report.incidents > 1) parts.push(`${report.incidents} server starts in it; this is about the last one with something to say`);
  if (incident?.fingerprint) parts.push(`fingerprint ${incident.fingerprint}`);
  const named = [...new Set(occurrences.map((item) => item.name).filter(Boolean))].slice(0, 5);
  if (named.length) parts.push(`seen in ${named.join(", ")}`);
  return h("footer", { class: "foot" }, parts.join(" · "));
}
